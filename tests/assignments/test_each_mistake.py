"""Every named mistake of all assignments: its name, what it costs, and two at once; the examples that stand there."""

import matplotlib.pyplot as plt
import pytest

from assignments import known, load
from autograder.bank.measure import bank_of, verdict_at, verdict_on
from tests.assignments.sample import always, answers_in_sample, mistakes_in_sample
from tests.assignments.visible import example_of, failure

PARTS = [(name, part) for name in known() for part in load(name).parts]
SAMPLE = {part: mistakes_in_sample(name, part.name) for name, part in PARTS}
MISTAKES = [
    always(any(mistake is one for one in SAMPLE[part]), name, part, mistake)
    for name, part in PARTS
    for mistake in part.mistakes
]
COSTS_MORE = [
    always(any(named == one.name for one in SAMPLE[part]), name, part, named)
    for name, part in PARTS
    for named in dict.fromkeys(mistake.name for mistake in part.mistakes if mistake.costs_more)
]
MOST_LINES = 10  # of an example, below its `def`
IDS = {"ids": lambda value: getattr(value, "name", value)}

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
    ("LayerNorm", "mean not taken off", "unbiased variance"),
    ("LayerNorm", "epsilon outside the root", "bias not used"),
    ("SelfAttentionWithDropoutAndNorm", "not scaled", "norm missing"),
    ("SelfAttentionWithDropoutAndNorm", "divided by d_k", "residual added behind the norm"),
    ("PositionwiseFeedForward", "GELU", "residual inside the network"),
    ("TransformerLayer", "norms swapped", "no residual connection around attention"),
    ("TransformerLayer", "mask dropped", "last norm missing"),
    ("DecoderLayer", "memory mask missing", "no residual connection around cross-attention"),
    ("DecoderLayer", "norms in another order", "self mask missing"),
    ("Transformer", "embeddings not scaled", "the future leaks"),
    ("Transformer", "memory mask missing", "softmax before the loss"),
    ("greedy_decode", "BOS left out", "least likely word"),
    ("greedy_decode", "filled up with EOS", "max_len words after BOS"),
]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def part_of(name):
    return next(found for found in PARTS if found[1].name == name)


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_an_example_is_short_and_holds_for_the_model_answer(assignment, part):
    *lines, call = example_of(assignment, part.name).strip().splitlines()
    assert len(lines) - 1 <= MOST_LINES and call == f'check("{part.name}")'
    assert failure(assignment, part.name) is None


@pytest.mark.long
@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_an_example_holds_for_all_right_answers(assignment, part):
    right = [
        one for one in bank_of(assignment) if one.right and not one.slow and one.part == part.name
    ]
    told = {one.code.__name__: failure(assignment, part.name, one.code) for one in right}
    assert right and {name: said for name, said in told.items() if said} == {}


@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_the_sample_that_is_always_tried_loses_every_step(assignment, part):
    left = {step.asks for step in part.steps}
    wrong = [one.answer for one in SAMPLE[part]]
    wrong += [one.code for one in answers_in_sample(assignment, part.name) if not one.right]
    for code in wrong:
        if left:
            verdict = verdict_at(assignment, part, code, 0)
            left -= {step.asks for step in verdict.steps if step.earned < step.points}
    assert not left, (
        f"no wrong answer of the sample loses these steps of {part.name}; say of a named mistake that it "
        "`costs` the step, or of a wrong answer in the bank what is `told` of it"
    )


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.filterwarnings("ignore:var.. degrees of freedom")
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(("assignment", "part", "mistake"), MISTAKES, **IDS)
def test_a_mistake_is_named_and_costs_at_most_half(assignment, part, mistake):
    is_named_and_costs_at_most_half(assignment, part, mistake, seed=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(("assignment", "part"), PARTS, **IDS)
def test_a_mistake_is_named_and_costs_at_most_half_with_other_inputs(assignment, part):
    for mistake in part.mistakes:
        is_named_and_costs_at_most_half(assignment, part, mistake, seed=1)


def is_named_and_costs_at_most_half(assignment, part, mistake, seed):
    verdict = verdict_at(assignment, part, mistake.answer, seed)
    assert verdict.earned < part.points, mistake.name
    assert [name for name, _ in verdict.mistakes] == [mistake.name]
    assert verdict.earned >= part.points / 2 or mistake.costs_more, mistake.name


@pytest.mark.parametrize(("assignment", "part", "name"), COSTS_MORE, **IDS)
def test_what_says_that_it_costs_more_than_half_does_so(assignment, part, name):
    answers = [one.answer for one in part.named(name) if one.costs_more]
    earned = [verdict_at(assignment, part, one, 0).earned for one in answers]
    assert min(earned) < part.points / 2


@pytest.mark.long
@pytest.mark.parametrize(("name", "one", "other"), TWO_AT_ONCE)
def test_two_mistakes_at_once_are_both_named(name, one, other):
    assignment, part = part_of(name)
    first, second = (
        next(mistake for mistake in part.mistakes if mistake.name == given)
        for given in (one, other)
    )
    verdict = verdict_on(assignment, part, first.together_with(second), cells=["0"])
    assert {found for found, _ in verdict.mistakes} == {one, other}
    assert verdict.earned < part.points
