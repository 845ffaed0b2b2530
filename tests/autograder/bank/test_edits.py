"""Answers that are edits of the right one: what is made of them, and that their code can be read."""

import inspect
import traceback

import pytest
import torch
from torch import nn

from assignments import known, load
from autograder.bank.answers import Bank
from autograder.bank.careless import CARELESS, careless
from autograder.bank.edits import Answers, Slip
from autograder.bank.measure import bank_of
from autograder.checks.cases import Step
from autograder.checks.check import Part

ONE = Step("one", 1, ())

FUNCTION = """
    def double(x, factor=2):
        product = factor * x
        raised = product + 1
        return raised
"""
MODULE = """
    class Linear(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.width = width

        def forward(self, x):
            wide = self.width * x
            return wide
"""


@pytest.fixture
def answers():
    return answers_to(FUNCTION)


def answers_to(right):
    return Answers(__name__, Bank("a1"), Part("double(x)", print), right, nn=nn, torch=torch)


def slips(answers, *edits):
    for number, edit in enumerate(edits):
        answers.slip(f"slip {number}", edit, ONE, "It is wrong.")
    return answers.part.mistakes


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("product = 3 * x", 16),
        ("return raised, product", (11, 10)),
        ("factor = 4", 21),  # an argument's edit stands in front
        ("y = x * x; product = y + x", 31),  # what stands above a step comes along with it
        ("if x > 3:\n    product = 0\nraised = 7", 7),
        ("product = x; raised = 2 * product", 10),
        ("return x", 5),
    ],
)
def test_a_step_is_taken_otherwise(answers, edit, found):
    assert answers.code(5) == 11
    [slip] = slips(answers, edit)
    assert slip.answer(5) == found
    assert (slip.name, slip.message, slip.costs) == ("slip 0", "It is wrong.", (ONE,))


def test_steps_that_nobody_uses_go(answers):
    [slip] = slips(answers, "raised = x - 1")
    assert inspect.getsource(slip.answer) == (
        "def slip_0(x, factor=2):\n    raised = x - 1\n    return raised\n"
    )


@pytest.mark.parametrize("edit", ["produkt = 3 * x", "product = x; print(x)", "pass", ""])
def test_what_is_no_step_is_refused_and_the_steps_are_named(answers, edit):
    with pytest.raises(
        ValueError, match="a step or an argument of double, which are x; factor; product"
    ):
        slips(answers, edit)


def test_a_method_is_an_edit_whose_super_is_the_right_answer():
    answers = answers_to(MODULE)
    both, method, step = slips(
        answers,
        "def __init__(self, width):\n    super().__init__(width + 1)\nreturn -wide",
        "def forward(self, x):\n    return super().forward(x) + 1",
        "wide = x",
    )
    assert both.answer(3)(torch.ones(1)).item() == -4
    assert method.together_with(step)(3)(torch.ones(1)).item() == 2
    assert both.together_with(step)(3)(torch.ones(1)).item() == -1
    assert isinstance(both.answer(3), nn.Module)


def test_a_function_in_the_right_answer_is_a_step():
    answers = answers_to("""
        def double(x):
            def wide(x):
                twice = x + x
                return twice
            unused = wide
            return wide(x)
    """)
    one, other = slips(answers, "def wide(x): return 3 * x", "return x")
    assert (answers.code(5), one.answer(5), other.answer(5)) == (10, 15, 5)
    assert inspect.getsource(other.answer) == "def slip_1(x):\n    return x\n"
    assert one.together_with(other)(5) == 5


def test_two_are_made_at_once_where_they_edit_other_steps(answers):
    one, other, too = slips(answers, "product = x", "return -raised", "product = 0; raised = x")
    assert one.together_with(other)(5) == -6
    assert one.together_with(too) is None
    [elsewhere] = slips(answers_to(FUNCTION), "return -raised")
    assert one.together_with(elsewhere) is None
    assert one.combines


def test_variants_are_filled_in(answers):
    answers.slip("times {n}", "factor = {n}", (), "By {n}.", each={"n": (3, 4)})
    assert [(one.name, one.message, one.answer(1)) for one in answers.part.mistakes] == [
        ("times 3", "By 3.", 4),
        ("times 4", "By 4.", 5),
    ]


def test_a_published_slip_is_in_the_bank_once(answers):
    source = "karpathy/minGPT#75", "It was tripled."
    answers.slip("times {n}", "factor = {n}", (), "No.", each={"n": (3, 4)}, published=source)
    [given] = answers.bank.answers
    assert (given.named, given.published, given.right) == (("times 3",), source[0], False)
    assert given.code.__doc__ == source[1] and given.code(1) == 4


def test_right_and_wrong_answers_go_into_the_bank(answers):
    answers.right("by_a_sum", "product = x + x", slow="slowly")
    answers.wrong("tripled", "factor = 3", told="off")
    right, wrong = answers.bank.answers
    assert (right.code.__name__, right.right, right.slow, right.code(5)) == (
        "by_a_sum",
        True,
        "slowly",
        11,
    )
    assert (wrong.code.__name__, wrong.right, wrong.told, wrong.code(5)) == (
        "tripled",
        False,
        ("off",),
        16,
    )


def test_an_error_is_shown_with_its_line(answers):
    [slip] = slips(answers, "product = x / 0")
    with pytest.raises(ZeroDivisionError) as caught:
        slip.answer(1)
    assert "    product = x / 0\n" in "".join(traceback.format_exception(caught.value))


def test_all_that_is_made_of_text_can_be_read():
    made = [
        *(given.code for name in known() for given in bank_of(name)),
        *(
            one.answer
            for name in known()
            for part in load(name).parts
            for one in part.mistakes
            if isinstance(one, Slip)
        ),
    ]
    of_text = [code for code in made if ":" in code.__module__]
    assert len(of_text) > 100
    for code in of_text:
        assert inspect.getsource(code).startswith(
            (f"def {code.__name__}(", f"class {code.__name__}(")
        )


def test_careless_answers_are_those_of_a_part_but_for_some(answers):
    careless(answers, zeros=None, printed="nothing to see")
    told = {given.code.__name__: given.told for given in answers.bank.answers}
    assert told == {
        **{name: way.told for name, way in CARELESS.items() if name != "zeros"},
        "printed": ("nothing to see",),
    }


@pytest.mark.parametrize("right", [FUNCTION, MODULE])
def test_a_careless_answer_changes_what_it_is_given_or_gives(right):
    answers = answers_to(right)
    careless(answers)
    code = {given.code.__name__: given.code for given in answers.bank.answers}

    def result_of(name, x):
        made = code[name]
        return made(3)(x) if isinstance(made, type) else made(x, 3)

    x = torch.ones(2, 3, dtype=torch.float64)
    assert result_of("printed", x) is None
    assert result_of("one_sentence", x).shape == (1, 3)
    assert result_of("in_float32", x).dtype == torch.float32
    result_of("turned_in_place", x)
    assert x.shape == (1, 2, 3)
