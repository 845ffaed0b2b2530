"""Results that chance decides: how often each outcome comes, generators, chains of calls, memory."""

import subprocess
import sys
import textwrap

import pytest
import torch

from autograder.bank.measure import attempts_at
from autograder.checks.cases import Call, Case, Chain, Chance, returned_by
from autograder.checks.chance import drawn_alike, frequencies_agree
from autograder.checks.check import Part
from autograder.checks.compare import pairs_agree
from autograder.checks.problem import Kind
from autograder.probe.wire import Instance

SHARES = torch.tensor([0.5, 0.3, 0.2, 0.0])
NUMBER = 4000


def draws(shares, generator=None):
    """Many words, each as often as its share says."""
    return torch.multinomial(shares, NUMBER, True, generator=generator)


COUNTED = Chance(
    expects=lambda shares, *_: NUMBER * shares,
    tally=lambda ids: torch.bincount(ids, minlength=4),
    outcomes=("word 0", "word 1", "word 2", "word 3"),
)


def drawn(*shares, seed=0):
    return draws(torch.tensor(shares), torch.Generator().manual_seed(seed))


def problem_with(ids):
    return frequencies_agree(COUNTED, [SHARES], drawn(*SHARES.tolist()), ids)


def test_right_frequencies_pass_for_many_seeds():
    for seed in range(50):
        assert problem_with(drawn(0.5, 0.3, 0.2, 0.0, seed=seed)) is None


@pytest.mark.parametrize("shares", [(0.55, 0.25, 0.2, 0.0), (0.5, 0.2, 0.3, 0.0), (1.0, 0, 0, 0)])
def test_wrong_frequencies_are_found_and_said(shares):
    problem = problem_with(drawn(*shares))
    assert problem.kind is Kind.NUMBERS
    assert "are to be expected" in problem.message


def test_what_can_never_come_must_not_come_once():
    ids = drawn(0.5, 0.3, 0.2, 0.0)
    ids[17] = 3
    assert problem_with(ids).message == "word 3 came once, and should never come"


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        (None, Kind.TYPE),
        ([1, 2], Kind.TYPE),
        (torch.zeros(NUMBER, 1, dtype=torch.int64), Kind.SHAPE),
        (torch.zeros(NUMBER), Kind.DTYPE),
    ],
)
def test_what_cannot_be_counted_is_told_apart(got, kind):
    assert problem_with(got).kind is kind


FLOATS = Chance(
    expects=lambda shares, *_: NUMBER * shares,
    tally=lambda numbers: torch.bincount(numbers.round().long(), minlength=4),
    outcomes=COUNTED.outcomes,
)


def test_floats_are_counted_where_floats_are_right():
    right = drawn(0.5, 0.3, 0.2, 0.0).float()
    assert (
        frequencies_agree(FLOATS, [SHARES], right, drawn(0.5, 0.3, 0.2, 0.0, seed=1).double())
        is None
    )
    problem = frequencies_agree(FLOATS, [SHARES], right, right.long())
    assert problem.kind is Kind.DTYPE and "expected floats" in problem.message


def test_two_results_are_alike_where_their_chances_are():
    alike = [drawn_alike(COUNTED, drawn(0.5, 0.3, 0.2, 0, seed=s), drawn(0.5, 0.3, 0.2, 0, seed=99))
             for s in range(50)]  # fmt: skip
    assert all(alike)
    assert not drawn_alike(COUNTED, drawn(0.5, 0.3, 0.2, 0), drawn(0.45, 0.3, 0.25, 0))


# ------------------------------------------------------------------------------ a generator

DRAWING = Part("draws(shares (N,), generator=None) -> (M,)", draws)


def with_a_generator(randn):
    return [SHARES, Instance("generator", {"seed": 5})]


DRAWING.step(
    "drawn from the generator",
    1,
    Case("once", with_a_generator, random=True, chance=COUNTED),
    strict=True,
)


def copied(shares, generator=None):
    return draws(shares, generator.clone_state())


def from_both(shares, generator=None):
    torch.rand(1)
    return draws(shares, generator)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda shares, generator=None: draws(shares), "no number was drawn from `generator`"),
        (copied, "no number was drawn from `generator`"),
        (from_both, "torch's own random state has changed"),
    ],
)
def test_numbers_that_come_from_elsewhere_are_found(answer, message):
    [attempt] = attempts_at(DRAWING, answer)
    assert attempt.problem.kind is Kind.RANDOMNESS
    assert attempt.problem.message.startswith(message)


def test_who_draws_from_the_generator_is_right():
    [attempt] = attempts_at(DRAWING, draws)
    assert attempt.problem is None


# ------------------------------------------------------------------------ several calls


def add(x, so_far=None):
    """x + so_far, and the sum once more for the next call."""
    total = x.clone() if so_far is None else so_far + x
    return total, total


def one_after_the_other(randn):
    return Chain([[randn(3)], [randn(3), returned_by(0, 1)], [randn(3), returned_by(0, 1)]])


ADDING = Part("add(x (N,), so_far=None) -> (N,), (N,)", add)
ADDING.step("sums", 1, Case("a chain", one_after_the_other))
ADDING.step("gradients", 1, Case("a chain", one_after_the_other).with_gradients())


def test_results_are_handed_on():
    assert [attempt.problem for attempt in attempts_at(ADDING, add)] == [None, None]


def test_what_was_handed_on_must_stay_as_it_was():
    def in_place(x, so_far=None):
        total = x.clone() if so_far is None else so_far
        if so_far is not None:
            total += x
        return total, total

    assert attempts_at(ADDING, in_place)[0].problem is not None


def test_gradients_flow_through_a_chain():
    def detached(x, so_far=None):
        total = x.clone() if so_far is None else so_far.detach() + x
        return total, total

    sums, gradients = attempts_at(ADDING, detached)
    assert sums.problem is None
    assert gradients.problem.kind is Kind.GRADIENT
    assert "x of call 1" in gradients.problem.message


@pytest.mark.parametrize(("anew", "same"), [(True, True), (False, False)])
def test_a_generator_goes_on_unless_it_is_made_anew(anew, same):
    def twice(randn):
        return Call(with_a_generator(randn), times=2, anew=anew)

    part = Part("draws(shares (N,), generator=None) -> (M,)", draws)
    part.step("two calls", 1, Case("twice", twice, random=True), judge=lambda expected, got: None)
    first, second = attempts_at(part, draws)[0].actual.value
    assert torch.equal(first, second) == same


# ------------------------------------------------------------------------------- memory


def total(x):
    """The sum of all numbers, without a copy of them."""
    return x.sum()


SUMMING = Part("total(x (N, M)) -> ()", total)
SUMMING.step("little memory", 1, Case("large", lambda randn: [randn(50, 40)], memory=2000))


def test_views_are_free_and_copies_are_not():
    assert attempts_at(SUMMING, total)[0].problem is None
    assert attempts_at(SUMMING, lambda x: x.T[:, 3:].sum() + x[:, :0].sum() + x[:3].sum() * 0
                       + x.T[:, :3].sum())[0].problem is None  # fmt: skip
    problem = attempts_at(SUMMING, lambda x: (x + 0).sum())[0].problem
    assert problem.kind is Kind.MEMORY
    assert "holds 2,001 numbers" in problem.message  # of the copy, and their sum


def test_what_is_kept_in_pieces_counts_together_and_what_is_given_up_does_not():
    def in_pieces(x):
        return sum((row + 0).sum() for row in x)

    def all_of_them_kept(x):
        rows = {"all": [row + 0 for row in x]}
        return sum(row.sum() for row in rows["all"])

    assert attempts_at(SUMMING, in_pieces)[0].problem is None
    problem = attempts_at(SUMMING, all_of_them_kept)[0].problem
    assert problem.kind is Kind.MEMORY


def test_watching_memory_takes_no_seconds_of_the_answers_time():
    """PyTorch's compiler is not imported for it, which takes two seconds of the five that a call has."""
    code = """
        import sys
        import torch
        from autograder.probe.memory import MemoryWatch
        x = torch.ones(50, 40)
        with MemoryWatch([x]) as watch:
            x + 1
        print(watch.largest, "torch._dynamo" in sys.modules)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=False, capture_output=True
    )
    assert ran.stdout.split() == [b"2000", b"False"], ran.stderr.decode()


# --------------------------------------------------------------------------- pairs of texts

PAIRS = [("a", "b"), ("ab", "c")]


@pytest.mark.parametrize("got", [PAIRS, tuple(PAIRS), [["a", "b"], ["ab", "c"]]])
def test_lists_and_tuples_of_pairs_are_both_right(got):
    assert pairs_agree(PAIRS, got) is None


@pytest.mark.parametrize(
    ("got", "message"),
    [
        (None, "expected a list of length 2, got None"),
        (["ab", "c"], "expected pairs of two texts"),
        ([("a", "b"), ("c", "ab")], "pair 1 (counting from 0) should be ('ab', 'c')"),
        ([("a", "b")], "expected 2 pairs, got 1"),
        ([("a", "b", "c")], "expected pairs of two texts"),
    ],
)
def test_other_pairs_are_said(got, message):
    assert message in pairs_agree(PAIRS, got).message
