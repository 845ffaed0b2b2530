"""Wrong answers that take one step of the right one in another way: how they are named, and slips."""

import pytest
from torch import nn

from autograder.checks.cases import Step
from autograder.checks.check import Part
from autograder.checks.mistakes import Steps, called, costs, costs_more, message, variants

ONE, OTHER = Step("one", 1, ()), Step("other", 1, ())


class Doubled(Steps):
    """Twice a number, plus one."""

    def answer(self, x):
        return self.raised(self.doubled(x))

    def doubled(self, x):
        return 2 * x

    def raised(self, x):
        return x + 1


class Further(Doubled):
    """One that inherits its steps."""


class Module(nn.Module):
    """A module in steps, the constructor among them."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return x + self.width


@pytest.fixture
def part():
    return Part("double(x)", Doubled().answer, reads=("", ""))


def told(part):
    return [(each.name, each.message, each.costs, each.costs_more) for each in part.mistakes]


def test_the_name_of_a_function_is_that_of_the_mistake(part):
    @part.mistakes_in(Doubled.doubled, costs=ONE)
    class Group:
        def not_doubled(self, x):
            """It stays
            as it is."""
            return x

        @called("halved, not doubled")
        @costs(ONE, OTHER)
        @costs_more("it is far off")
        @message("It is smaller.")
        def halved(self, x):
            return x / 2

        @costs()
        def zero(self, x):
            """It is gone."""
            return 0

    assert told(part) == [
        ("not doubled", "It stays as it is.", (ONE,), ""),
        ("halved, not doubled", "It is smaller.", (ONE, OTHER), "it is far off"),
        ("zero", "It is gone.", (), ""),
    ]
    assert [each.answer(8) for each in part.mistakes] == [9, 5, 1]
    assert part.named("zero") == [part.mistakes[2]]
    with pytest.raises(KeyError, match="no mistake 'nothing'"):
        part.named("nothing")


def test_variants_are_mistakes_of_their_own(part):
    @part.mistakes_in(Doubled.raised)
    class Group:
        @called("{what} added")
        @variants("number, what", ((2, "two"), (3, "three")))
        def more(self, x, number, what):
            """You add {what}."""
            return x + number

        @variants("pair", ((4, 5),))
        def a_product(self, x, pair):
            """You multiply."""
            return x * pair[0] * pair[1]

    assert [each.name for each in part.mistakes] == ["two added", "three added", "a product"]
    assert [each.message for each in part.mistakes] == [
        "You add two.",
        "You add three.",
        "You multiply.",
    ]
    assert [each.answer(1) for each in part.mistakes] == [4, 5, 40]


def test_mistakes_of_different_steps_can_be_made_at_once(part):
    @part.mistakes_in(Doubled.doubled)
    class Group:
        def tripled(self, x):
            """Three."""
            return 3 * x

    @part.mistakes_in(Doubled.raised)
    class Raised:
        def lowered(self, x):
            """Less."""
            return x - 1

        def kept(self, x):
            """The same."""
            return x

    tripled, lowered, kept = part.mistakes
    assert tripled.together_with(lowered)(5) == 14
    assert lowered.together_with(kept) is None


def test_steps_of_a_module_with_its_constructor(part):
    @part.mistakes_in(Module.__init__)
    class Group:
        def one_wider(self, width):
            """One more."""
            Module.__init__(self, width + 1)

    (wider,) = part.mistakes
    assert isinstance(wider.answer(3), Module)
    assert wider.answer(3)(0) == 4


def test_an_inherited_step_says_of_which_class_it_is_taken(part):
    @part.mistakes_in(Doubled.doubled, of=Further)
    class Group:
        def tripled(self, x):
            """Three."""
            return 3 * x

    assert issubclass(part.mistakes[0].in_steps, Further)
    with pytest.raises(ValueError, match=r"is a step of Doubled, .* made in Further; .* `of=`"):
        part.mistakes_in(Doubled.raised)


def group(function):
    return type("Group", (), {"wrong": function})


def silent(self, x):
    return x


def speaking(self, x):
    """It says something."""


class Calling(Doubled):
    def doubled(self, x):
        """It calls."""
        return super().doubled(x)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (silent, "Group.wrong has nothing to say: give it a docstring"),
        ("text", "Group.wrong is no function"),
        (Calling.doubled, r"calls super\(\).*say `Doubled.doubled\(self, …\)`"),
    ],
)
def test_slips_are_told(part, function, reason):
    with pytest.raises(ValueError, match=reason):
        part.mistakes_in(Doubled.doubled)(group(function))


def test_a_variant_for_a_parameter_that_is_not_there(part):
    with pytest.raises(ValueError, match="speaking takes no y"):
        part.mistakes_in(Doubled.doubled)(group(variants("y", (1,))(speaking)))


def test_the_step_is_one_of_the_class(part):
    with pytest.raises(ValueError, match=r"Module has no step `Doubled.doubled`"):
        part.mistakes_in(Doubled.doubled, of=Module)
    with pytest.raises(ValueError, match="is no method of a class"):
        part.mistakes_in(silent)


def test_one_name_with_two_sentences_is_meant_or_refused(part):
    @part.mistakes_in(Doubled.doubled)
    class Group:
        def not_done(self, x):
            """It is not doubled."""
            return x

    class Raised:
        def not_done(self, x):
            """It is not raised."""
            return x

    class Meant:
        @called("not done")
        def not_raised(self, x):
            """It is not raised."""
            return x

    with pytest.raises(ValueError, match="a mistake 'not done' that says something else"):
        part.mistakes_in(Doubled.raised)(Raised)
    part.mistakes_in(Doubled.raised)(Meant)
    assert [each.name for each in part.mistakes] == ["not done", "not done"]


@pytest.mark.parametrize("what", [called("name"), message("text"), costs(ONE), variants("x", (1,))])
def test_what_is_said_of_one_function_is_not_said_of_a_class(what):
    with pytest.raises(TypeError, match="is said of a function in a class of mistakes"):
        what(Doubled)
