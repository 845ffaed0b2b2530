"""lecture_kit.trained.learned: the stored maps are weights, belong to their words, and can be made again."""

import ast
import copy
import json
import math
import sys
from importlib import import_module
from importlib.resources import files
from itertools import islice

import pytest
import torch
from torch import nn

from course_utils import masks
from course_utils.transformer import Transformer
from lecture_kit import data
from lecture_kit.trained import learned
from tests.sample_class import ROOT

sys.path.insert(0, str(ROOT / "sources" / "recorded"))
maker = import_module("learned_maps")

SENTENCES = learned.sentences()
LAYERS, HEADS, WIDTH = 2, 4, 16


@pytest.fixture(params=SENTENCES, ids=lambda sentence: sentence.name)
def sentence(request):
    return request.param


def both(sentence):
    return {"trained": sentence, "untrained": sentence.untrained}


def test_rows_are_weights_and_fit_their_words(sentence):
    for name, maps in both(sentence).items():
        for kind in learned.KINDS:
            queries, keys = sentence.words(kind)
            weights = getattr(maps, kind)
            assert weights.shape == (LAYERS, HEADS, len(queries), len(keys)), (name, kind)
            assert weights.min() >= 0
            torch.testing.assert_close(
                weights.sum(dim=-1), torch.ones(weights.shape[:-1]), atol=1e-3, rtol=0
            )


def test_the_decoder_sees_nothing_ahead(sentence):
    hidden = ~masks.causal_mask(len(sentence.target))
    for maps in both(sentence).values():
        assert (maps.decoder[..., hidden] == 0).all()
        assert (maps.decoder[..., ~hidden].amax(dim=(0, 1)) > 0).all()


def test_training_changed_the_maps(sentence):
    for kind in learned.KINDS:
        moved = getattr(sentence, kind) - getattr(sentence.untrained, kind)
        assert (moved.abs().amax(dim=(-2, -1)) > 0.05).all(), kind


def test_words_are_those_of_held_out_pairs(sentence):
    german = " ".join(sentence.source[:-1])
    assert data.part_of(german) == "test"
    assert sentence.source[-1] == sentence.says[-1] == "<eos>"
    assert sentence.target[0] == "<bos>"
    assert sentence.target[1:] == sentence.says[:-1] == sentence.translation.split()
    assert sentence.translation == sentence.reference
    assert sentence.words("cross") == (sentence.says, sentence.source)


def test_heads_give_their_weights_again(sentence):
    assert {(head.kind, head.layer, head.head) for head in sentence.heads} == set(maker.HEADS)
    for head in sentence.heads:
        queries, keys = sentence.words(head.kind)
        assert head.query.shape == (len(queries), WIDTH)
        assert head.key.shape == head.value.shape == (len(keys), WIDTH)
        scores = head.query @ head.key.T / WIDTH**0.5
        if head.kind == "decoder":
            scores[~masks.causal_mask(len(keys))] = -torch.inf
        stored = sentence.weights(head.kind, head.layer, head.head)
        torch.testing.assert_close(scores.softmax(dim=-1), stored, atol=1e-3, rtol=0)


def test_one_map_by_its_numbers():
    example = learned.sentence("help")
    assert " ".join(example.source[:-1]) == data.EXAMPLE.source
    assert torch.equal(example.weights("cross", layer=2, head=3), example.cross[1, 2])
    before = example.weights("encoder", layer=1, head=4, untrained=True)
    assert torch.equal(before, example.untrained.encoder[0, 3])


def test_readers_cannot_spoil_what_is_stored():
    learned.sentence("help").encoder.zero_()
    learned.sentence("help").weights("encoder", 1, 1).zero_()
    learned.sentence("help").source.clear()
    assert learned.sentence("help").encoder.sum() > 1 and learned.sentence("help").source


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda one: learned.sentence("nobody"), r"'help', 'she', .*found 'nobody'"),
        (lambda one: learned.measure("nothing"), r"'subject', .*found 'nothing'"),
        (lambda one: one.weights("middle", 1, 1), "'encoder', 'decoder', 'cross', found 'middle'"),
        (lambda one: one.words("both"), "found 'both'"),
        (lambda one: one.weights("cross", 0, 1), "a layer from 1 to 2, found 0"),
        (lambda one: one.weights("cross", 3, 1), "a layer from 1 to 2, found 3"),
        (lambda one: one.weights("cross", 1, 5), "a head from 1 to 4, found 5"),
        (lambda one: one.weights("cross", 1, -1), "a head from 1 to 4, found -1"),
        (lambda one: one.weights("cross", 1, 1.5), "found 1.5"),
        (lambda one: one.weights("cross", "2", 1), "found '2'"),
    ],
)
def test_what_is_not_there_is_said(ask, words):
    with pytest.raises(ValueError, match=words):
        ask(learned.sentence("help"))


@pytest.mark.parametrize("name", maker.COUNTS)
def test_a_count_is_of_a_head_that_learned_it(name):
    found = learned.measure(name)
    assert (found.kind, found.layer, found.head) == maker.COUNTS[name][:3]
    assert found.cases >= found.sentences > 50
    assert 0 < found.chance < 0.15 and found.untrained < 0.15
    assert found.trained > 4 * found.chance


def test_what_the_counts_look_for():
    pair = data.Pair(
        "sie will den neuen brief lesen , aber der mann ruft ihre tochter an .",
        "she wants to read the new letter , but the man calls a woman in the evening .",
        ((0,), (1,), (1,), (5,), (2,), (3,), (4,)),
    )
    assert list(maker.subjects(pair)) == [(0, {1})]
    assert list(maker.subjects(pair, {"wir"})) == []
    assert list(maker.nouns(pair)) == [(4, {2}), (9, {8})]
    assert list(maker.objects(pair)) == [(5, {4}), (13, {12})]
    assert list(maker.jumps(pair)) == [(3, {5}), (4, {2})]


def test_the_file_is_small_and_as_the_maker_writes_it():
    stored = files("lecture_kit.trained").joinpath("learned.json").read_text(encoding="utf-8")
    assert len(stored.encode()) < 150_000
    parsed = json.loads(stored)
    assert maker.text_of(parsed) == stored
    maps = [[one["trained"], one["untrained"]] for one in parsed["sentences"]]
    assert len(maker.dense(maps)) < 60_000


def test_a_difference_is_found():
    stored = json.loads(
        files("lecture_kit.trained").joinpath("learned.json").read_text(encoding="utf-8")
    )
    assert maker.differences(stored, stored) == []

    def changed(change):
        copy = json.loads(json.dumps(stored))
        change(copy)
        return " ".join(maker.differences(copy, stored))

    def other_weight(copy):
        copy["sentences"][0]["untrained"]["encoder"][0][0][0][0] += 3

    def other_measure(copy):
        copy["measures"][3]["trained"] -= 0.26

    def other_translation(copy):
        copy["sentences"][0]["translation"] += " again"

    assert "help, untrained: weights differ by 0.0003" in changed(other_weight)
    assert "measure object" in changed(other_measure)
    assert "other sentences" in changed(other_translation)


def lecture_8(**names):
    """The settings of the training in lecture 8, and its functions, on some other corpus."""
    wanted = {"d_model", "STEPS", "SEED", "KEEP", "new_model", "rate", "train"}
    names |= {"copy": copy, "math": math, "torch": torch, "nn": nn, "data": data}
    names |= {"Transformer": Transformer, "islice": islice}
    source = (ROOT / "sources" / "lectures" / "08_transformer.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        defined = {node.name} if isinstance(node, ast.FunctionDef) else set()
        for target in node.targets if isinstance(node, ast.Assign) else ():
            defined |= {name.id for name in ast.walk(target) if isinstance(name, ast.Name)}
        if defined & wanted:
            exec(compile(ast.Module([node], []), "lecture 8", "exec"), names)
    assert wanted <= set(names)
    return names


def test_training_begins_as_in_lecture_8():
    corpus = maker.Corpus(train=600, validation=5, test=5)
    lecture = lecture_8(
        splits=corpus.splits, source_words=corpus.german, target_words=corpus.english
    )
    assert lecture["STEPS"] == maker.STEPS
    steps = range(1, maker.STEPS + 1)
    assert [lecture["rate"](step) for step in steps] == [maker.rate(step) for step in steps]
    lecture.update(STEPS=3, KEEP=[3])  # the learning rate goes on as planned for all steps
    _, kept = lecture["train"](lecture["SEED"])
    ours = maker.train(corpus, steps=3).state_dict()
    assert all(torch.equal(ours[name], value) for name, value in kept[3].state_dict().items())


@pytest.mark.slow
def test_training_makes_such_maps_again():
    stored = json.loads(
        files("lecture_kit.trained").joinpath("learned.json").read_text(encoding="utf-8")
    )
    assert maker.differences(maker.make(), stored) == []
