"""Which of ours may stand in for a wrong part, and what else a verdict depends on."""

import pytest
from nbformat.v4 import new_code_cell

from assignments import known, load
from autograder.grade.grading import Grading
from autograder.probe.messages import Questions
from autograder.probe.probe import answer
from autograder.probe.wire import decode

BUILDING = [
    (name, part.name)
    for name in known()
    for part in load(name).parts
    if part.may_call and part is not load(name).parts[0]
]


class Wrong:
    """A kernel in which every part is answered, and wrong; keeps what it was asked."""

    def __init__(self, assignment):
        self.names = {part.name: lambda *_, **__: None for part in load(assignment).parts}
        self.asked = []

    def run(self, cell, index):
        pass

    def ask(self, message):
        self.asked.append(message)
        return answer(message, self.names)


def check(assignment, part):
    source = f"from autograder.cell import grade\ngrade({assignment!r}, {part!r})"
    return new_code_cell(source, metadata={"nbgrader": {"locked": True}})


def asked_in(assignment, parts, files=None):
    """The messages that a kernel gets that is to decide these parts in this order."""
    kernel = Wrong(assignment)
    grading = Grading(kernel, load(assignment), files)
    for index, part in enumerate(parts):
        grading.take(check(assignment, part), index)
    return kernel.asked


def stood_in(message):
    return set(decode(message, Questions).substitutes)


@pytest.mark.long
@pytest.mark.parametrize(("assignment", "part"), BUILDING)
def test_ours_stands_in_only_once_all_that_comes_before_is_decided(assignment, part):
    names = [part.name for part in load(assignment).parts]
    before = names[: names.index(part)]
    assert stood_in(asked_in(assignment, [*before, part])[-1])
    for late in before:
        others = [name for name in before if name != late]
        asked = asked_in(assignment, [*others, part, late])
        assert not any(
            stood_in(one) for one in asked if decode(one, Questions).requests[0].subject == part
        )


def test_a_file_beside_the_notebook_draws_the_inputs_anew():
    part = ("a2_self_attention", ["self_attention"])
    [without] = asked_in(*part)
    assert [without] == asked_in(*part, files={})
    drawn = [asked_in(*part, files={"noted.txt": data})[0] for data in (b"", b"1", b"2")]
    drawn += asked_in(*part, files={"other.txt": b"2"})
    assert len({without, *drawn}) == 5


def inputs_after(cells, files=None, part="self_attention", before=()):
    """The questions about a part that stands below these cells, some of which were asked before."""
    kernel = Wrong("a2_self_attention")
    grading = Grading(kernel, load("a2_self_attention"), files)
    cells = [*cells, *(check("a2_self_attention", one) for one in (*before, part))]
    for index, cell in enumerate(cells):
        grading.take(cell, index)
    requests = decode(kernel.asked[-1], Questions).requests
    return b"".join(request.arguments[0].numpy().tobytes() for request in requests)


@pytest.mark.long
def test_all_that_code_can_see_of_itself_draws_the_inputs_anew():
    """Whatever could hold an answer from home: of two that differ in it, none gets the other's inputs."""
    code = new_code_cell
    kinds = [
        ([code("x = 1")], {}),
        ([code("x = 1 ")], {}),
        ([code("x = 1\ny = 2")], {}),
        ([code("x = 1"), code("y = 2")], {}),
        ([code("y = 2"), code("x = 1")], {}),
        ([code("x = 1\0y = 2")], {}),
        ([code("# \ud800")], {}),  # halves of characters: the cell does not run, but is remembered
        ([code("# \ud801")], {}),
        ([code("# ?")], {}),
        ([code("x = 1")], {"files": {"a": b"b"}}),
        ([code("x = 1")], {"files": {"ab": b""}}),
        ([code("x = 1")], {"files": {"a": b"", "b": b""}}),
        ([code("x = 1")], {"files": {"\udc80": b""}}),
        ([code("x = 1")], {"files": {"\udc81": b""}}),
        ([code("x = 1")], {"before": ["attention_weights"]}),
        ([code("x = 1")], {"before": ["basic_self_attention"]}),
        ([code("x = 1")], {"before": ["attention_weights", "basic_self_attention"]}),
        ([code("x = 1")], {"before": ["basic_self_attention", "attention_weights"]}),
        ([code("x = 1"), check("a2_self_attention", "attention_weights"), code("y = 2")], {}),
        ([check("a2_self_attention", "attention_weights"), code("x = 1"), code("y = 2")], {}),
    ]
    drawn = [inputs_after(cells, **rest) for cells, rest in kinds]
    assert len(set(drawn)) == len(kinds)
    assert drawn == [inputs_after(cells, **rest) for cells, rest in kinds]


LIBRARY = b"from torch.nn.functional import scaled_dot_product_attention as attend\n"
OTHER = b"def attend(*inputs): return 1\ndef compared(*inputs): return F.scaled_dot_product_attention(*inputs)\n"


@pytest.mark.parametrize(
    ("cell", "module", "disallowed"),
    [
        ("import mine", LIBRARY, True),
        ("import mine as m\nmine = m", LIBRARY, True),
        ("from mine import attend as a\nclass mine: attend = a", LIBRARY, True),
        ("from mine import *\nkept = attend\nclass mine: attend = kept", LIBRARY, True),
        ("import other as mine", LIBRARY, False),
        ("import mine", b"def attend(*inputs): return 1\n", False),
        ("from mine import attend as a\nclass mine: attend = a", OTHER, False),
        ("import mine", b"this is no Python", False),
    ],
)
def test_a_module_beside_the_notebook_is_read_as_its_cells_are(cell, module, disallowed):
    grading = Grading(
        Wrong("a2_self_attention"),
        load("a2_self_attention"),
        {"mine.py": module, "mine.txt": b"\xff"},
    )
    part = "\ndef self_attention(*inputs): return mine.attend(*inputs)"
    grading.take(new_code_cell(cell + part), 0)
    grading.take(check("a2_self_attention", "self_attention"), 1)
    grading.take(check("a2_self_attention", "attention_weights"), 2)
    remark = grading.verdicts["self_attention"].remark
    assert ("which is the answer itself" in remark) == disallowed
    assert not grading.verdicts["attention_weights"].remark
