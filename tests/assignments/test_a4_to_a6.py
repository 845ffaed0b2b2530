"""Assignments 4 to 6: what single answers earn, and which names they get."""

import pytest

from assignments import load
from autograder.bank.measure import bank_of, verdict_on

HEADS = load("a5_multi_head_attention").part("MultiHeadAttention")
guarded_over_the_heads = HEADS.named("softmax over the heads")[1].answer
[inverted_mask_and_a_bare_error] = [
    given.code
    for given in bank_of("a5_multi_head_attention")
    if given.named == ("mask inverted", "error without the numbers")
]
OF_POSITIONS = {given.code.__name__: given.code for given in bank_of("a6_positional_encoding")}
ASSIGNMENTS = ("a4_masks", "a5_multi_head_attention", "a6_positional_encoding")


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("table_of_a_tutorial_that_counts_from_one", "positions from 1"),
        (
            "table_with_an_angle_for_each_column_of_a_pair",
            "an angle of its own for each column",
        ),
    ],
)
def test_two_mistakes_of_tutorials_are_both_named(code, other):
    part = load("a6_positional_encoding").part("positional_encoding")
    verdict = verdict_on("a6_positional_encoding", part, OF_POSITIONS[code])
    named = {name for name, _ in verdict.mistakes}
    assert named == {"odd width crashes", other}


def test_words_added_in_place_cost_the_untouched_input_alone():
    part = load("a6_positional_encoding").part("PositionalEncoding")
    verdict = verdict_on("a6_positional_encoding", part, OF_POSITIONS["InPlace"])
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


@pytest.mark.parametrize(
    ("name", "part", "code", "points"),
    [
        # one mistake, whatever is done against NaN
        ("a5_multi_head_attention", "MultiHeadAttention", guarded_over_the_heads, 6),
        # two, of which no author says what both or the second cost
        ("a5_multi_head_attention", "MultiHeadAttention", inverted_mask_and_a_bare_error, 8),
        (
            "a6_positional_encoding",
            "positional_encoding",
            OF_POSITIONS["table_from_one_without_the_last_column"],
            1,
        ),
    ],
)
def test_each_mistake_is_charged_once(name, part, code, points):
    assert verdict_on(name, load(name).part(part), code).earned == points


@pytest.mark.parametrize(
    ("code", "earned"),
    [
        ("picture_of_doubled_numbers", 2),
        ("picture_of_rounded_numbers", 2),
        ("picture_of_negative_numbers", 2),
        ("picture_without_the_first_word", 2),
        ("picture_of_random_numbers", 0),
    ],
)
def test_numbers_of_a_picture_that_are_off_leave_what_stands_around_it(code, earned):
    part = load("a6_positional_encoding").part("visualize_positional_encodings")
    assert verdict_on("a6_positional_encoding", part, OF_POSITIONS[code]).earned == earned


def test_names_begin_with_a_word_and_not_with_code():
    names = [
        mistake.name
        for name in ASSIGNMENTS
        for part in load(name).parts
        for mistake in part.mistakes
    ]
    assert [name for name in names if "_" in name.split()[0]] == []
