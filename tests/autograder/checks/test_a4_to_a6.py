"""Assignments 4 to 6: visible tests against every mistake, what a mistake costs, two at once."""

import matplotlib.pyplot as plt
import pytest

from autograder.checks import load
from autograder.probe import watch
from autograder.probe.probe import answer
from autograder.verdict.decide import decide
from tests.autograder.banks import a6_positional_encoding as bank6
from tests.autograder.checks.visible import failure

ASSIGNMENTS = ("a4_masks", "a5_multi_head_attention", "a6_positional_encoding")
PARTS = [(name, part) for name in ASSIGNMENTS for part in load(name).parts]
MISTAKES = [(name, part, mistake) for name, part in PARTS for mistake in part.mistakes]

# what a mistake leaves nothing right beside, with the reason
COSTS_MORE = {
    ("causal_mask", "nothing hidden"): "there is no mask",
    ("causal_mask", "everything hidden"): "there is no mask",
    ("padding_mask", "padding shown"): "there is no mask",
    ("padding_mask", "the first sentence alone"): "every other sentence is missing",
    ("decoder_mask", "padding of shape (B, T) with the causal mask"): "it stops with an error",
    ("shift_right", "first target cut off"): "moved the wrong way, not begun, and too short",
    ("shift_right", "start token put behind all targets"): "not moved, and too long",
    ("shift_right", "not shifted"): "nothing was done",
    ("merge_heads", "view of a transposed tensor"): "it stops with an error",
    ("PositionalEncoding", "table not cut to the sentence"): "it stops with an error",
    ("visualize_positional_encodings", "shown on a figure of its own"): "three mistakes at once",
}


def shown(value):
    return getattr(value, "name", value)


IDS = {"ids": shown}


@pytest.fixture(autouse=True)
def _the_course_may_call_itself(monkeypatch):
    monkeypatch.setattr(watch, "course_within_reach", lambda: False)
    yield
    plt.close("all")


def verdict_on(assignment, part, code):
    return decide(
        load(assignment), part, lambda message: answer(message, {part.name: code}), cells=["0"]
    )


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_model_answers_pass_the_visible_tests(assignment, part):
    assert failure(assignment, part.name) is None


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize(("assignment", "part", "mistake"), MISTAKES, **IDS)
def test_no_named_mistake_passes_the_visible_tests(assignment, part, mistake):
    assert failure(assignment, part.name, mistake.answer) is not None


@pytest.mark.parametrize(("assignment", "part", "mistake"), MISTAKES, **IDS)
def test_a_single_mistake_costs_at_most_half(assignment, part, mistake):
    earned = verdict_on(assignment, part, mistake.answer).earned
    assert earned < part.points
    assert earned >= part.points / 2 or (part.name, mistake.name) in COSTS_MORE


@pytest.mark.parametrize(("name", "mistake"), COSTS_MORE)
def test_what_costs_more_than_half_does_so(name, mistake):
    assignment, part = next(found for found in PARTS if found[1].name == name)
    answers = [one.answer for one in part.mistakes if one.name == mistake]
    assert min(verdict_on(assignment, part, one).earned for one in answers) < part.points / 2


TWO_AT_ONCE = [
    ("causal_mask", "upper triangle", "numbers instead of bool"),
    ("causal_mask", "the diagonal hidden", "an axis for sentences"),
    ("padding_mask", "two axes only", "inverted mask"),
    ("padding_mask", "words counted instead of found", "three axes only"),
    ("decoder_mask", "the diagonal hidden", "only ids above pad_id kept"),
    ("decoder_mask", "upper triangle", "the axis of the heads left out"),
    ("shift_right", "shifted left", "argument bos_id ignored, 1 in its place"),
    ("shift_right", "first word overwritten", "floats instead of whole numbers"),
    ("split_heads", "heads hold every H-th feature", "words and features swapped in each head"),
    ("merge_heads", "heads in reverse order", "words and features swapped"),
    ("MultiHeadAttention", "not scaled", "no output projection"),
    ("MultiHeadAttention", "layers exchanged: w_k and w_v", "mask ignored"),
    ("MultiHeadAttention", "softmax over the queries", "weights averaged over the heads"),
    ("positional_encoding", "positions from 1", "odd width crashes"),
    ("positional_encoding", "an angle of its own for each column", "odd width crashes"),
    ("positional_encoding", "exponent k for 2k", "sin and cos in blocks"),
    ("PositionalEncoding", "parameter instead of buffer", "no dropout"),
]


@pytest.mark.parametrize(("name", "one", "other"), TWO_AT_ONCE)
def test_two_mistakes_at_once_are_both_named(name, one, other):
    assignment, part = next(found for found in PARTS if found[1].name == name)
    first, second = (
        next(mistake for mistake in part.mistakes if mistake.name == given)
        for given in (one, other)
    )
    both = first.together_with(second)
    verdict = verdict_on(assignment, part, both)
    assert {found for found, _ in verdict.mistakes} == {one, other}
    assert verdict.earned < part.points


@pytest.mark.parametrize(
    ("code", "other"),
    [
        (bank6.table_of_a_tutorial_that_counts_from_one, "positions from 1"),
        (
            bank6.table_with_an_angle_for_each_column_of_a_pair,
            "an angle of its own for each column",
        ),
    ],
)
def test_two_mistakes_of_tutorials_are_both_named(code, other):
    part = load("a6_positional_encoding").part("positional_encoding")
    named = {name for name, _ in verdict_on("a6_positional_encoding", part, code).mistakes}
    assert named == {"odd width crashes", other}


def test_words_added_in_place_cost_the_untouched_input_alone():
    part = load("a6_positional_encoding").part("PositionalEncoding")
    verdict = verdict_on("a6_positional_encoding", part, bank6.InPlace)
    failed = [step for step in verdict.steps if step.earned < step.points]
    assert len(failed) == 1
    assert "`x` was changed" in failed[0].problem


def test_exchanged_layers_leave_the_error_for_a_wrong_number_of_heads():
    part = load("a5_multi_head_attention").part("MultiHeadAttention")
    exchanged = next(one for one in part.mistakes if one.name == "layers exchanged: w_k and w_v")
    verdict = verdict_on("a5_multi_head_attention", part, exchanged.answer)
    assert verdict.earned >= part.points / 2
    refused = next(step for step in verdict.steps if "evenly" in step.asks)
    assert refused.earned == refused.points


def test_names_begin_with_a_word_and_not_with_code():
    code = [mistake.name for _, _, mistake in MISTAKES if "_" in mistake.name.split()[0]]
    assert code == []
