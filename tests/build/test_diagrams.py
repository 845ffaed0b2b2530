"""In diagrams the colours of query, key and value keep their role, and words keep their distance."""

import importlib
import re
import sys
from functools import cache, partial

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from course_utils import attention
from lecture_kit.plotting import colours
from lecture_kit.trained import translators
from tests.build.test_figures import FIGURES
from tests.sample_class import ROOT

sys.path.append(str(ROOT / "figures"))  # where the scripts find each other, too
style = importlib.import_module("style")
trained = importlib.import_module("trained")

# one moves and one is the grader's page, so both are written as text and not drawn with matplotlib
DIAGRAMS = sorted({*FIGURES} - {"hero", "feedback_map"})
OWNED = {
    colours.QUERY: "query",
    colours.QUERY_TINT: "query",
    colours.KEY: "key",
    colours.KEY_TINT: "key",
    colours.VALUE: "value",
    colours.VALUE_TINT: "value",
}
NAMES = {
    "query": r"quer(y|ies)|\bQ\b|q\^",
    "key": r"\bkeys?\b|\bK\b|k\^",
    "value": r"\bvalues?\b|\bV\b|v\^",
    "something else": r"score|weight|context|memory|summary|\\omega|\\Omega|\\alpha|\bz\^|\bc\^",
}


@cache
def figure_of(name):
    return importlib.import_module(f"make_{name}").draw()


def colours_of(artist):
    """The colours that an artist is drawn in, as hex strings."""
    if isinstance(artist, Patch):
        return {to_hex(artist.get_facecolor()), to_hex(artist.get_edgecolor())}
    return {to_hex(artist.get_color())}


def borrowed(figure):
    """What is drawn in the colour of query, key or value without having that role."""
    artists = [a for a in figure.axes[0].get_children() if isinstance(a, (Patch, Line2D, Text))]
    return [
        f"{artist} has the colour of a {OWNED[colour]}"
        for artist in artists
        for colour in colours_of(artist) & set(OWNED)
        if artist.get_label() != OWNED[colour]
    ]


def misnamed(figure):
    """Texts that have a role, or stand in a shape that has one, and name something else."""
    (ax,) = figure.axes
    shapes = [(patch.get_label(), patch.get_window_extent()) for patch in ax.patches]
    said = []
    for text in ax.texts:
        point = ax.transData.transform(text.get_position())
        around = [label for label, extent in shapes if extent.contains(*point)]
        for role in {text.get_label(), *around} & set(OWNED.values()):
            others = [names for other, names in NAMES.items() if other != role]
            if re.search("|".join(others), text.get_text()):
                said.append(f"'{text.get_text()}' is drawn as a {role}")
    return said


@pytest.mark.parametrize("name", DIAGRAMS)
def test_only_queries_keys_and_values_have_their_colours(name):
    assert borrowed(figure_of(name)) == []


@pytest.mark.parametrize("name", DIAGRAMS)
def test_what_has_a_role_is_not_called_something_else(name):
    assert misnamed(figure_of(name)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", DIAGRAMS)
def test_words_keep_their_distance(name):
    style.refuse_touching_words(figure_of(name))


def test_a_borrowed_colour_is_found_on_boxes_lines_and_words():
    figure, ax = style.canvas(8, 3)
    style.box(ax, 1, 1, 1, 0.5, "asks", role="query")
    style.arrow(ax, (1, 1.3), (3, 2), role="key")
    assert borrowed(figure) == []
    style.box(ax, 3, 1, 1, 0.5, "sum", colours.VALUE_TINT)
    style.line(ax, [(4, 1), (5, 1)], colours.KEY)
    style.label(ax, 6, 1, "score", colour=colours.QUERY)
    assert [found.rsplit(" ", 1)[1] for found in borrowed(figure)] == ["value", "key", "query"]


@pytest.mark.parametrize(
    ("role", "right", "wrong"),
    [
        ("query", "$Q_h$", r"$\omega_{21}$"),
        ("key", "keys", "value"),
        ("value", "the values skip the comparison", "context"),
    ],
)
def test_a_box_of_another_role_is_found(role, right, wrong):
    figure, ax = style.canvas(8, 3)
    style.box(ax, 2, 1, 2, 0.6, right, role=role)
    assert misnamed(figure) == []
    style.box(ax, 5, 1, 2, 0.6, wrong, role=role)
    style.label(ax, 5, 2, wrong, role=role)
    assert misnamed(figure) == [f"'{wrong}' is drawn as a {role}"] * 2


def crowded(*parts):
    """What is said about a figure 8.4 inches wide, so that 4 of its 840 pixels are 0.04 inches."""
    figure, ax = style.canvas(8.4, 3)
    for draw, *arguments in parts:
        draw(ax, *arguments)
    return style.touching_words(figure)


def test_words_with_room_are_left_alone():
    assert (
        crowded(
            (style.box, 2, 1.5, 2, 0.6, "a box"),
            (style.label, 5, 1.5, "beside it"),
            (style.line, [(3.5, 0.1), (3.5, 2.9)]),
            (style.arrow, (5, 0.2), (5, 1.2)),
        )
        == []
    )


line_behind = partial(style.line, zorder=1)


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("the edge of the picture", [(style.label, 0.2, 1, "edge")]),
        ("'two'", [(style.label, 2, 1, "one"), (style.label, 2.4, 1, "two")]),
        ("a FancyBboxPatch", [(style.box, 3, 1, 0.8, 0.5, "too wide")]),
        ("a Rectangle", [(style.cell, 3, 1, 1, 1), (style.label, 2.8, 1.5, "word")]),
        ("a Line2D", [(style.label, 3, 1, "word"), (style.line, [(1, 0.4), (5, 1.4)])]),
        ("a FancyArrowPatch", [(style.label, 3, 1, "word"), (style.arrow, (3, 0.1), (3, 0.9))]),
        # far behind, but still on top of the Axes' own ground
        ("a Line2D", [(style.label, 3, 1, "word"), (line_behind, [(1, 1), (5, 1)])]),
    ],
)
def test_words_without_room_are_named(what, parts):
    found = crowded(*parts)
    assert any(what in sentence for sentence in found), found


def test_what_a_filled_shape_covers_is_not_seen():
    under = (style.box, 2.1, 1.5, 2, 0.6, "")
    assert crowded(under, (style.box, 2, 1.5, 2, 0.6, "on top")) == []
    # an outline alone covers nothing
    line = (style.line, [(1.5, 1.5), (2.5, 1.5)])
    assert crowded(line, (style.box, 2, 1.5, 2, 0.6, "on top", "none")) != []


def test_a_figure_whose_words_touch_is_not_saved(tmp_path):
    figure, ax = style.canvas(8.4, 3)
    style.label(ax, 0.2, 1, "edge")
    with pytest.raises(ValueError, match=r"'edge' stands 0\.0 px from the edge of the picture"):
        style.save(figure, tmp_path / "make_crowded.py")
    assert not list(tmp_path.iterdir())


def without_coordinates(svg):
    return re.sub(r"-?\d+\.\d+", "0", svg)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_stored_diagram_is_that_of_its_script(name):
    """Up to the coordinates, on whose last digits machines may differ."""
    stored = (ROOT / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    drawn = style.svg_of(figure_of(name))
    assert without_coordinates(stored) == without_coordinates(drawn), (
        f"run `make figures ONLY={name}`"
    )


@pytest.mark.parametrize("place", [0, 3])
def test_the_step_of_the_gru_that_is_drawn_is_the_step_that_pytorch_makes(place):
    german = "kannst du mir helfen ?"
    translator = translators.recorded("recurrent")
    with torch.no_grad():
        source = translator.model.encode(trained.ids_of(translator.german, german))
    forward = source.annotations[0, place, : translator.model.encoder.hidden_size]
    assert trained.gates(german, place)["h_new"] == pytest.approx(forward.tolist(), abs=1e-6)


def test_the_numbers_below_the_gru_are_those_of_its_two_framed_units():
    gru = importlib.import_module("make_gru_cell")
    step = trained.gates(gru.SENTENCE, gru.PLACE)
    lecture = (ROOT / "sources/lectures/01_rnn_attention.py").read_text(encoding="utf-8")
    below = lecture.split("gru_cell.svg)", 1)[1].split("\n#\n", 2)[1]
    for unit, names in [(gru.REPLACED, ("z", "h", "h_new")), (gru.KEPT, ("z", "n"))]:
        said = below.split(f"In unit {unit},")[1].split("In unit")[0]
        for name in names:
            assert f"{step[name][unit - 1]:.2f}".replace("-", "−") in said


def test_the_sheets_show_the_tensors_of_lecture_5():
    lecture = (ROOT / "sources/lectures/05_multi_head_attention.py").read_text(encoding="utf-8")
    (cell,) = [part for part in lecture.split("# %%") if "class MultiHeadAttention" in part]
    _, _, cell = cell.partition("\n")  # the rest of its header
    there = {"nn": torch.nn, "attention": attention}
    exec(cell, there)
    sheets = importlib.import_module("make_head_sheets")
    x, (*maps, w_o) = sheets.inputs()
    layer = there["MultiHeadAttention"](20, sheets.HEADS)
    linears = (layer.w_q, layer.w_k, layer.w_v, layer.w_o)
    for linear, matrix in zip(linears, (*maps, w_o), strict=True):
        torch.nn.init.zeros_(linear.bias)
        linear.weight = torch.nn.Parameter(matrix.T)
    _, _, weights, _, output = sheets.numbers()
    for drawn, computed in zip((output, weights), layer(x, x, x), strict=True):
        torch.testing.assert_close(drawn, computed.detach())
