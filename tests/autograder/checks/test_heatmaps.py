"""A student's numbers beside the right ones: what is shown of any result at all, and how much."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from msgspec import structs

from assignments import load
from autograder import pages
from autograder.checks.compare import kind_of, numbers, short
from autograder.checks.drawn_cases import CaseRun, DrawnCases
from autograder.checks.heatmaps import MOST_COLUMNS, MOST_ROWS, MOST_TRUTHS, pictured
from autograder.checks.judge import in_words, problem_with
from autograder.checks.pictures import shade
from autograder.checks.rendering import as_html, as_text
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.pages import SHADES, sentence_case, tone, with_minus_signs
from autograder.probe.messages import Observation
from autograder.probe.wire import decode, encode
from lecture_kit.plotting import colours

A2, A4, A5 = "a2_self_attention", "a4_masks", "a5_multi_head_attention"


def shown_of(assignment, part, change, number=0):
    """A case of a part, and what is pictured where the right value is changed like this."""
    drawn = DrawnCases(load(assignment).part(part), seed=3)
    value = decode(encode(change(drawn.expected[number].value)))  # as it would arrive
    item = CaseRun(drawn, number, Observation(status="returned", value=value))
    return replace(item, problem=problem_with(item)), pictured(item)


def test_rows_and_columns_have_the_courses_letters_and_the_worst_is_marked():
    def swapped(right):
        wrong = right.clone()
        wrong[1, 2] += 0.5
        return wrong

    _, (maps, shapes) = shown_of(A2, "attention_weights", swapped)
    assert shapes is None
    assert (maps.of, maps.down, maps.across) == ("weights", "queries (T)", "keys (T)")
    assert (maps.worst, maps.place) == ((1, 2), "")
    assert maps.difference[1][2] == "0.50" and maps.difference[0][0] == "0.00"
    assert "1 of 25 entries differ; furthest off is query 1, key 2" in maps.message
    assert maps.message.endswith(f"right {maps.right[1][2]}, yours {maps.yours[1][2]}.")


def test_of_more_axes_the_slice_with_the_worst_entry_is_shown():
    def wrong_in_one_head(right):
        output, weights = right
        weights = weights.clone()
        weights[-1, 1, 0, 0] = 9.0
        return output, weights

    _, (maps, _) = shown_of(A5, "MultiHeadAttention", wrong_in_one_head, number=2)
    assert maps.of == "weights"
    assert re.fullmatch(r"sentence \d, head 1", maps.place)
    assert maps.yours[maps.worst[0]][maps.worst[1]] == "9.00"


def test_an_axis_of_length_1_has_no_places():
    def hidden(right):
        wrong = right.clone()
        wrong[1, 0, 0, 2] ^= True
        return wrong

    _, (maps, _) = shown_of(A4, "padding_mask", hidden)
    assert (maps.place, maps.down) == ("sentence 1", "entries of an axis of length 1")
    assert "furthest off is sentence 1, word 2 (counting" in maps.message


def test_truth_values_are_letters():
    _, (maps, _) = shown_of(A4, "causal_mask", lambda right: ~right)
    assert {text for row in maps.right for text in row} == {"T", "F"}
    assert {text for row in maps.difference for text in row} == {"≠"}
    assert "where they differ" in [caption for caption, _ in maps.tables()]


def test_other_shapes_are_named_axis_by_axis():
    _, (maps, shapes) = shown_of(A2, "attention_weights", lambda right: right[:, :-1])
    assert maps is None
    assert (shapes.right, shapes.yours) == ((("T", 5), ("T", 5)), (5, 4))
    assert [fits for _, _, fits in shapes.axes()] == [True, False]


def test_gradients_are_shown_where_they_alone_differ():
    drawn = DrawnCases(load(A2).part("attention_weights"), seed=3)
    number = next(place for place, (_, case) in enumerate(drawn.plan) if case.gradient)
    right = drawn.expected[number]
    gradients = {name: 2 * value for name, value in right.gradients.items()}
    item = CaseRun(drawn, number, structs.replace(right, gradients=gradients))
    maps, _ = pictured(item)
    assert (maps.of, maps.down, maps.across) == ("gradient for x", "words (T)", "features (D)")


ODD = {
    "nan": lambda right: torch.full_like(right, torch.nan),
    "one_nan": lambda right: right.index_fill(0, torch.tensor([0]), torch.nan),
    "infinite": lambda right: torch.full_like(right, -torch.inf),
    "huge": lambda right: right.double() * 1e300,
    "tiny": lambda right: right * 1e-30,
    "minus_zero": lambda right: right * -1e-9,
    "complex": lambda right: right * (1 + 2j),
    "truths": lambda right: right > 0.5,
    "whole": lambda right: (right * 1e6).long(),
    "half": lambda right: right.half() + 0.3,
    "array": lambda right: -right.numpy(),
    "empty": lambda right: right[:0],
    "many_axes": lambda right: right.reshape(1, 1, 1, 1, 1, 1, 1, 1, 1, -1),
    "one_number": lambda right: right.sum(),
    "list": lambda right: [right],
    "text": lambda right: "x" * 100_000,
    "nothing": lambda right: None,
    "words": lambda right: np.array(["a"] * 9),
}


@pytest.mark.parametrize("way", ODD)
def test_whatever_comes_back_is_shown_in_few_characters(way):
    item, (maps, shapes) = shown_of(A2, "attention_weights", ODD[way])
    problem = in_words(item)
    step = StepVerdict("asks", 0.0, 1.0, "a case", problem, maps, shapes)
    verdict = PartVerdict("f", "f(x)", (step,), reads=("a", "b"))
    assert len(as_text(verdict)) < 4000 and len(as_html(verdict)) < 20_000
    if maps:
        texts = [
            text for grid in (maps.right, maps.yours, maps.difference) for r in grid for text in r
        ]
        assert "-0" not in texts and "-0.00" not in texts
        assert all(sum(map(str.isdigit, re.sub(r"e.*", "", text))) <= 4 for text in texts)
        assert all(len(line) < 160 for line in maps.as_lines()[1:-1])


def test_of_a_large_result_a_window_around_the_worst_is_shown():
    drawn = DrawnCases(load(A2).part("attention_weights"), seed=3)
    large = torch.zeros(40, 30)
    wrong = large.clone()
    wrong[33, 2] = 1.0
    drawn.expected[0] = structs.replace(drawn.expected[0], value=large)
    maps, _ = pictured(CaseRun(drawn, 0, Observation(status="returned", value=wrong)))
    assert (
        len(maps.rows) == MOST_ROWS <= 12 and len(maps.columns) == MOST_COLUMNS <= MOST_TRUTHS <= 12
    )
    assert (maps.rows[maps.worst[0]], maps.columns[maps.worst[1]]) == (33, 2)
    printed = maps.as_lines()
    assert len(printed) == 3 + 6 + 1 and sum("1*" in line for line in printed) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_on_every_shade(theme):
    def luminance(colour):
        values = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for depth in range(-SHADES, SHADES + 1):
        background, text = re.findall("#[0-9a-f]{6}|#000|#fff", tone(depth, theme))
        text = {"#000": "#000000", "#fff": "#ffffff"}[text]
        dark, light = sorted([luminance(background), luminance(text)])
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_maps_of_the_grader_have_the_colours_of_the_course():
    light = [(pages.PAPER, "#ffffff"), (pages.ABOVE, colours.PLUM), (pages.BELOW, colours.OCHRE)]
    assert [pair["light"] for pair, _ in light] == [colour for _, colour in light]
    partners = dict(colours.PAIRS.values())
    assert pages.ABOVE["dark"] == partners[colours.PLUM]
    assert pages.BELOW["dark"] == partners[colours.OCHRE]
    assert not {colours.QUERY, colours.KEY, colours.VALUE} & {
        pages.ABOVE["light"],
        pages.BELOW["light"],
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-1.46", "−1.46"),
        ("-∞", "−∞"),
        ("2e-5", "2e−5"),
        ("right 0.03, yours -0.22, query-1 of d-2", "right 0.03, yours −0.22, query-1 of d-2"),
    ],
)
def test_a_minus_is_no_hyphen(text, shown):
    assert with_minus_signs(text) == shown


def test_the_three_maps_have_columns_for_their_widest_number():
    _, (maps, _) = shown_of(A2, "attention_weights", lambda right: right - 100)
    assert max(len(text) for row in maps.right for text in row) == 4
    assert maps.letters == len("-100.0") == 6


def test_shades_follow_sign_and_size():
    assert [shade(text, 2.0) for text in ("2", "-2", "1", "0", "1e300", "-∞", "NaN")] == [
        4, -4, 2, 0, 4, -4, 0,
    ]  # fmt: skip


def test_results_go_by_the_names_of_the_signature():
    item, _ = shown_of(A2, "basic_self_attention", lambda right: (right[0] + 1, right[1]))
    assert in_words(item).startswith("in `z`, row [")
    item, _ = shown_of(
        A2, "basic_self_attention", lambda right: (right[0], right[1] + 1), number=-1
    )
    assert in_words(item).startswith("in `weights`, ")


def test_numbers_have_four_digits_and_no_zero_has_a_sign():
    assert numbers(torch.tensor([-0.0, 0.123456789, -1e-12])) == "[0, 0.1235, -1e-12]"
    assert (short(-0.0), kind_of(0.1 + 0.2)) == ("0", "0.3 of type float")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("softmax over the columns", "Softmax over the columns"),
        ("torch.allclose instead", "torch.allclose instead"),
        ("pad_id ignored", "pad_id ignored"),
        ("`dim` left out", "`dim` left out"),
        ("w_q and w_k exchanged", "w_q and w_k exchanged"),
        ("ε outside the root", "ε outside the root"),
    ],
)
def test_names_of_code_keep_their_letters(name, shown):
    assert sentence_case(name) == shown
