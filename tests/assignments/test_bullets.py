"""Each bullet of each assignment's text is held by wrong answers of its own, or makes right ones possible."""

import re
from itertools import chain

import nbformat
import pytest

from assignments import known, load
from autograder.bank.measure import bank_of
from autograder.checks import source_rules
from tests.assignments.bullets import BULLETS, EVERYWHERE
from tests.sample_class import ROOT

OWN = {name: {**EVERYWHERE, **bullets} for name, bullets in BULLETS.items()}
# what a bullet calls by no name
IN_WORDS = {
    "a7_dropout_and_layer_norm": (
        "LayerNorm", "layer_norm", "BatchNorm1d", "batch_norm", "GroupNorm", "InstanceNorm1d", "RMSNorm",
    ),
}  # fmt: skip
HELD = [
    pytest.param(name, beginning, needs, id=f"{name[:2]}-{beginning}")
    for name, bullets in OWN.items()
    for beginning, needs in bullets.items()
]


def bullets_of(name):
    """The bullets of a release text, each on one line."""
    notebook = nbformat.read(ROOT / "solutions" / name / f"{name}.ipynb", as_version=4)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = chain.from_iterable(
        re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE) for text in texts
    )
    return [re.sub(r"\s+", " ", bullet) for bullet in found]


def test_every_assignment_is_looked_at():
    assert list(BULLETS) == list(known())


@pytest.mark.parametrize("name", BULLETS)
def test_every_bullet_stands_here_once(name):
    for bullet in bullets_of(name):
        assert sum(map(bullet.startswith, OWN[name])) == 1, bullet


@pytest.mark.parametrize(("name", "beginning", "needs"), HELD)
def test_what_a_bullet_needs_is_there(name, beginning, needs):
    assert any(bullet.startswith(beginning) for bullet in bullets_of(name)), (
        "the text says otherwise"
    )
    bank = {given.code.__name__: given.right for given in bank_of(name)}
    mistakes = {mistake.name for part in load(name).parts for mistake in part.mistakes}
    for wrong in needs.breaks:
        assert wrong in mistakes or bank[wrong] is False, wrong
    for right in needs.uses:
        assert bank[right] is True, right
    for test in needs.tests:
        path, _, function = test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE), (
            test
        )


@pytest.mark.parametrize("name", BULLETS)
def test_no_wrong_answer_stands_for_two_bullets(name):
    named = list(chain.from_iterable(needs.breaks for needs in OWN[name].values()))
    assert sorted(named) == sorted(set(named))


@pytest.mark.parametrize("name", BULLETS)
def test_what_the_text_calls_disallowed_is_disallowed(name):
    """Each name in the bullet is found by reading, in each part that it speaks of."""
    [bullet] = [
        text
        for text in bullets_of(name)
        if text.startswith(("Anything that would be the answer", "In all three"))
    ]
    modules = {f"course_utils.{one}" for one in ("attention", "layers", "masks", "transformer")}
    assignment = load(name)
    names = re.findall(r"`(?:F|nn|nn\.\w+)\.(\w+)`", bullet.partition(" is welcome")[0])
    names += IN_WORDS.get(name, ())
    assert names or not assignment.disallowed
    hidden = modules - set(assignment.allowed_modules)
    codes = {one: f"def {{}}(*inputs): return torch.x.{one}(*inputs)" for one in names}
    codes |= {one: f"import {one} as m\ndef {{}}(*inputs): return m.f(*inputs)" for one in hidden}
    found = set()
    for part in assignment.parts:
        own = source_rules.with_back_ways(
            assignment.disallowed if part.disallowed is None else part.disallowed
        )
        for used, code in codes.items():
            allowed = assignment.allowed_modules
            if source_rules.find(
                [code.format(part.name)],
                part.name,
                own,
                allowed,
                packages=assignment.course.packages,
            ):
                found.add((part.name, used))
    assert {used for _, used in found} == set(codes)  # some names are disallowed in one part alone
    assert {(part.name, module) for part in assignment.parts for module in hidden} <= found
