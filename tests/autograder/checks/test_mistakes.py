"""Wrong answers with a name: what their authors have to say of them."""

import pytest

from autograder.checks.check import Part
from autograder.checks.mistakes import Mistake


@pytest.fixture
def part():
    return Part("double(x)", lambda x: 2 * x, reads=("", ""))


def test_a_mistake_has_a_name_and_the_sentence_of_its_docstring(part):
    @part.mistake("not doubled")
    def as_it_is(x):
        """It stays
        as it is."""
        return x

    [mistake] = part.mistakes
    assert (mistake.name, mistake.message, mistake.answer) == (
        "not doubled",
        "It stays as it is.",
        as_it_is,
    )
    assert part.named("not doubled") == [mistake]
    assert not mistake.combines and mistake.together_with(mistake) is None
    with pytest.raises(KeyError, match="no mistake 'nothing'"):
        part.named("nothing")


def test_a_mistake_with_nothing_to_say_is_refused(part):
    with pytest.raises(ValueError, match="has nothing to say: give <lambda> a docstring"):
        part.mistake("silent")(lambda x: x)


@pytest.mark.parametrize("message", ["no sentence.", "No end", ""])
def test_what_is_said_is_whole_sentences(message):
    with pytest.raises(ValueError, match="should be whole sentences"):
        Mistake("swapped", print, message)
