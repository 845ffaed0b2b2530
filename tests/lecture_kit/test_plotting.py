"""The lectures' pictures: what they carry, what they say, and that they can be read."""

import base64
import io
import itertools
import re

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from lecture_kit import plotting
from lecture_kit.plotting import colours, output

T, S = 3, 5
QUERIES = ["can", "you", "help"]
KEYS = ["kannst", "du", "mir", "helfen", "?"]


@pytest.fixture(autouse=True)
def fresh_matplotlib():
    """Each test starts from matplotlib's defaults and leaves no figure open."""
    backend = matplotlib.get_backend()
    with plt.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")
    plt.switch_backend(backend)


def weights_like(low=0.0, high=1.0):
    generator = torch.Generator().manual_seed(7)
    return low + (high - low) * torch.rand(T, S, generator=generator)


@pytest.fixture
def shown(monkeypatch):
    """Display a figure and return the one message that a notebook would get: data and metadata."""

    def show_and_record(figure, alt="a curve that rises", **more):
        messages = []

        def record(data, metadata, raw):
            assert raw, "a notebook must take the data as they are"
            messages.append((data, metadata))

        monkeypatch.setattr(output, "display", record)
        assert plotting.picture(figure, alt, **more) is None
        (message,) = messages
        return message

    return show_and_record


def grey(colour):
    return plotting.contrast(colour, "black") / 21


def test_use_course_style_changes_colour_and_line_style_together():
    plotting.use_course_style()
    _, ax = plt.subplots()
    lines = [ax.plot([0, 1], [k, k])[0] for k in range(4)]
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_linestyle() for line in lines}) == 4
    assert len({line.get_marker() for line in lines}) == 4
    assert plt.rcParams["font.size"] >= 12


def test_the_style_sheet_has_the_colours_of_the_course():
    plotting.use_course_style()
    cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(to_hex(colour) for colour in cycle) == colours.SERIES
    assert to_hex(plt.rcParams["figure.facecolor"]) == colours.PAPER
    assert to_hex(plt.rcParams["axes.facecolor"]) == colours.PAPER
    for name in ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"):
        assert to_hex(plt.rcParams[name]) == colours.INK, name
    assert to_hex(plt.rcParams["grid.color"]) == colours.GRID


def test_nothing_but_query_key_and_value_has_their_colours():
    own = {colours.QUERY, colours.KEY, colours.VALUE}
    assert len(own) == 3
    assert not own & {*colours.SERIES, *colours.MODELS.values()}
    assert len(set(colours.MODELS.values())) == len(colours.MODELS)


@pytest.mark.parametrize("side", [0, 1], ids=["white page", "dark page"])
def test_text_and_lines_stand_out_from_the_page_and_from_the_tints(side):
    shown = {name: pair[side] for name, pair in colours.PAIRS.items()}
    areas = {"grid", "shade", "paper", *(name for name in shown if name.endswith("-tint"))}
    for name in set(shown) - areas:
        assert plotting.contrast(shown[name], shown["paper"]) >= 4.5, name
    for name in areas - {"grid"}:
        assert plotting.contrast(shown["ink"], shown[name]) >= 4.5, name
    for role in ("query", "key", "value"):
        assert plotting.contrast(shown["ink"], shown[f"{role}-tint"]) >= 7, role


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("black", "white", 21.0),
        ("white", "white", 1.0),
        ("#777777", "white", 4.478),  # just below AA, the usual example
        ("#767676", "white", 4.542),
        ("#ff0000", "white", 3.998),
    ],
)
def test_contrast_is_that_of_the_guidelines(one, other, expected):
    assert plotting.contrast(one, other) == pytest.approx(expected, abs=1e-3)
    assert plotting.contrast(other, one) == plotting.contrast(one, other)


def test_text_on_any_colour_passes_aa():
    steps = np.linspace(0, 1, 12)
    for background in itertools.product(steps, steps, steps):
        assert plotting.contrast(plotting.text_on(background), background) >= 4.5
    assert plotting.text_on((0.5, 0.5, 0.5)) == "black"  # 5.3 against 4.0: not half of the way


def narrow(width=5.0):
    """A small figure in the course's style, whose letters are large enough."""
    plotting.use_course_style()
    return plt.subplots(figsize=(width, 3))


def test_a_picture_carries_its_text_where_readers_get_it(shown):
    figure, ax = narrow()
    ax.plot([1, 2])
    data, metadata = shown(figure, 'weights < 1 & "sure"', caption="It <rises> & stays.")
    assert set(data) == {"text/html", "image/png", "text/plain"}
    assert data["text/plain"] == 'weights < 1 & "sure"'
    assert metadata == {"image/png": {"alt": 'weights < 1 & "sure"', "width": 480}}
    html = data["text/html"]
    assert html.count("<img ") == 1
    assert 'alt="weights &lt; 1 &amp; &quot;sure&quot;"' in html
    assert "<figcaption>It &lt;rises&gt; &amp; stays.</figcaption>" in html
    assert f'src="data:image/png;base64,{data["image/png"]}"' in html
    assert 'width="480"' in html
    png = base64.b64decode(data["image/png"])
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 1.5 * 480
    assert b"matplotlib" not in png
    assert plt.get_fignums() == []


def test_a_picture_without_caption_has_no_empty_one(shown):
    figure, _ = narrow()
    data, _ = shown(figure)
    assert "figcaption" not in data["text/html"]


def test_a_picture_is_the_same_bytes_each_time(shown):
    pages = []
    for _ in range(2):
        figure, ax = narrow()
        plotting.attention_map(weights_like(), QUERIES, KEYS, ax)
        pages.append(shown(figure)[0])
    assert pages[0] == pages[1]


def svg_in(data):
    return base64.b64decode(re.search(r"svg\+xml;base64,([\w+/=]+)", data["text/html"])[1]).decode()


def test_a_picture_has_the_colours_of_dark_pages_where_the_page_is_dark(shown):
    figure, ax = narrow()
    plotting.attention_map([[0.0, 1.0], [-1.0, 0.5]], ["a", "b"], ["c", "d"], ax)
    ax.axhline(0.5, color=colours.QUERY)
    svg = svg_in(shown(figure)[0])
    light, dark = re.search(
        r":root\{(.*?)\}@media \(prefers-color-scheme: dark\)\{:root\{(.*?)\}\}", svg
    ).groups()
    for name in ("ink", "paper", "query"):
        assert f"--{name}:{colours.PAIRS[name][0]};" in light
        assert f"--{name}:{colours.PAIRS[name][1]};" in dark
        assert f"var(--{name})" in svg
    assert "--key:" not in light
    body = svg.split("</style>", 1)[1]
    assert not re.search("|".join(pair[0] for pair in colours.PAIRS.values()), body, re.IGNORECASE)


def test_a_map_stands_out_from_dark_pages_as_from_white_ones(shown):
    """Zero is the page, and what is large differs from it more than what is small, on both."""
    figure, ax = narrow()
    plotting.attention_map([[0.0, 1.0], [-1.0, 0.5]], ["a", "b"], ["c", "d"], ax)
    svg = svg_in(shown(figure)[0])
    maps = [
        np.array(Image.open(io.BytesIO(base64.b64decode(stored))).convert("RGB"), dtype=float) / 255
        for stored in re.findall(r'<image class="on-(?:light|dark)"[^>]*base64,([^"]*)"', svg)
    ]
    assert len(maps) == 2
    for cells, theme in zip(maps, (0, 1), strict=True):
        paper = colours.PAIRS["paper"][theme]
        found = sorted(
            plotting.contrast(cell, paper) for cell in np.unique(cells.reshape(-1, 3), axis=0)
        )
        zero, half, *both = found
        assert zero == pytest.approx(1)
        assert 2 < half < 6
        assert both == pytest.approx([14, 14], rel=0.15)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_sides_of_the_scale_are_equally_strong_and_never_turn_back(theme):
    paper = colours.PAIRS["paper"][theme == "dark"]
    sides = [
        [plotting.contrast(colours.shade(sign * k, theme), paper) for k in range(colours.STEPS + 1)]
        for sign in (1, -1)
    ]
    for one, other in zip(*sides, strict=True):
        assert one == pytest.approx(other, rel=0.12)
    assert all(later > earlier for side in sides for earlier, later in itertools.pairwise(side))


@pytest.mark.parametrize("step", range(colours.STEPS + 1))
def test_a_number_on_a_cell_passes_aa_on_white_pages_and_on_dark_ones(step):
    partners = dict(colours.MAP_PAIRS.values())
    for signed in (step, -step):
        ink = colours.ink_on(colours.shade(signed))
        assert plotting.contrast(ink, colours.shade(signed)) >= 4.5
        assert plotting.contrast(partners[ink], colours.shade(signed, "dark")) >= 4.5


def test_no_colour_of_the_maps_is_a_colour_of_something_else():
    listed = [*colours.PAIRS.values(), *colours.MAP_PAIRS.values()]
    assert len({light for light, _ in listed}) == len(listed)


def test_coordinates_in_a_picture_differ_by_no_more_than_an_eye_sees(shown):
    figure, ax = narrow()
    ax.plot([1 / 3, 2 / 7], [0.1, 1 / 9])
    body = re.sub(r"scale\([^)]*\)", "", svg_in(shown(figure)[0]))
    assert re.findall(r"\d\.\d{4,}", body) == []


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_no_picture_goes_without_a_text(alt):
    figure, _ = narrow()
    with pytest.raises(ValueError, match="alt is empty"):
        plotting.picture(figure, alt)


@pytest.mark.parametrize(("width", "points"), [(8, 8.5), (10, 10.5), (12, 12)])
def test_a_picture_refuses_letters_that_a_narrow_page_makes_unreadable(width, points):
    figure, ax = narrow(width)
    smallest = 9 * 72 * width / 600
    for text in [*ax.get_xticklabels(), *ax.get_yticklabels()]:
        text.set_fontsize(smallest)
    ax.set_title("tiny", fontsize=points)
    with pytest.raises(ValueError, match=rf"'tiny' has {points:g} points; .* need {smallest:.1f}"):
        plotting.picture(figure, "a figure with small letters")
    ax.set_title("tiny", fontsize=smallest)
    output.refuse_small_letters(figure)


def test_attention_map_labels_rows_with_queries_and_columns_with_keys():
    ax = plotting.attention_map(weights_like(), QUERIES, KEYS)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == QUERIES
    assert [tick.get_text() for tick in ax.get_xticklabels()] == KEYS
    bottom, top = ax.get_ylim()
    assert bottom > top, "the first query belongs on top"
    assert "query" in ax.get_ylabel()
    assert "key" in ax.get_xlabel()


def test_attention_map_has_a_named_colour_bar():
    ax = plotting.attention_map(weights_like(), QUERIES, KEYS, colour_label="score ω")
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["score ω"]


def test_attention_map_prints_every_value_where_it_belongs():
    weights = weights_like()
    ax = plotting.attention_map(weights, QUERIES, KEYS, decimals=3)
    found = {text.get_position(): text.get_text() for text in ax.texts}
    assert found == {
        (column, row): f"{weights[row, column]:.3f}" for row in range(T) for column in range(S)
    }


def test_attention_map_prints_no_values_when_there_are_too_many():
    words = [str(k) for k in range(13)]
    ax = plotting.attention_map(torch.full((13, 13), 1 / 13), words, words)
    assert not ax.texts


def test_attention_map_writes_no_minus_before_a_rounded_zero():
    ax = plotting.attention_map([[-0.001, -0.5]], ["q"], ["a", "b"])
    assert [text.get_text() for text in ax.texts] == ["0.00", "−0.50"]


@pytest.mark.parametrize(
    ("decimals", "shown"), [(1, ["0.1", "1.0"]), (2, ["0.04", "0.05", "1.00"])]
)
def test_weights_that_round_to_zero_stay_without_a_number(decimals, shown):
    weights = [[0.0, 0.0049, 0.04, 0.0501, 1.0]]
    ax = plotting.attention_map(weights, ["q"], list("abcde"), decimals=decimals)
    assert [text.get_text() for text in ax.texts] == shown
    ax = plotting.attention_map(weights, ["q"], list("abcde"), signed=True)
    assert len(ax.texts) == 5  # a score of zero says something


def test_attention_map_of_weights_gets_darker_with_the_weight():
    ax = plotting.attention_map(weights_like(), QUERIES, KEYS)
    (image,) = ax.images
    assert image.get_clim() == pytest.approx((0.0, float(weights_like().max())))
    greys = [grey(image.cmap(step)[:3]) for step in np.linspace(0, 1, 11)]
    assert all(later < earlier for earlier, later in itertools.pairwise(greys))


def test_attention_map_of_signed_numbers_has_white_at_zero():
    ax = plotting.attention_map(weights_like(-3.0, 1.0), QUERIES, KEYS)
    (image,) = ax.images
    low, high = image.get_clim()
    assert low == -high
    assert grey(image.cmap(image.norm(0.0))[:3]) > 0.9
    assert image.cmap(image.norm(low)) != image.cmap(image.norm(high))


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_attention_map_numbers_stand_out_from_their_cells(low):
    ax = plotting.attention_map(weights_like(low), QUERIES, KEYS)
    (image,) = ax.images
    weights = weights_like(low)
    for text in ax.texts:
        column, row = text.get_position()
        cell = image.cmap(image.norm(float(weights[row, column])))[:3]
        assert plotting.contrast(text.get_color(), cell) >= 4.5


def test_attention_map_takes_a_limit_to_compare_maps():
    ax = plotting.attention_map(0.2 * weights_like(), QUERIES, KEYS, limit=1.0)
    assert ax.images[0].get_clim() == (0.0, 1.0)


def test_attention_map_draws_on_the_axes_given():
    _, (left, right) = plt.subplots(1, 2)
    assert plotting.attention_map(weights_like(), QUERIES, KEYS, right) is right
    assert not left.images
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_map_takes_tensors_that_need_gradients_and_keeps_them(dtype):
    weights = weights_like().to(dtype).requires_grad_()
    before = weights.detach().clone()
    plotting.attention_map(weights, QUERIES, KEYS)
    assert torch.equal(weights, before)


@pytest.mark.parametrize("shape", [(S, T), (2, T, S), (T,)])
def test_attention_map_says_which_shape_it_needs(shape):
    with pytest.raises(ValueError, match=r"\(queries, keys\) = \(3, 5\)"):
        plotting.attention_map(torch.ones(shape), QUERIES, KEYS)


@pytest.mark.parametrize("bad", [float("nan"), float("-inf")])
def test_attention_map_refuses_numbers_that_have_no_colour(bad):
    weights = weights_like()
    weights[1, 2] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        plotting.attention_map(weights, QUERIES, KEYS)


def test_outline_cell_frames_one_cell():
    ax = plotting.attention_map(weights_like(), QUERIES, KEYS)
    plotting.outline_cell(ax, row=2, column=4)
    (frame,) = ax.patches
    assert frame.get_bbox().bounds == (3.5, 1.5, 1, 1)
    assert not frame.get_fill()


def test_a_dot_in_a_cell_and_a_filled_cell_stand_where_the_cell_is():
    ax = plotting.attention_map(weights_like(), QUERIES, KEYS)
    plotting.dot_cell(ax, 2, 1)
    (dot,) = ax.lines
    assert dot.get_xydata().tolist() == [[1, 2]]
    assert {dot.get_color(), dot.get_markeredgecolor()} == {"black", "white"}  # on any colour
    plotting.fill_cell(ax, 1, 3)
    box = ax.patches[-1].get_bbox()
    assert (box.x0, box.y0, box.width, box.height) == (2.5, 0.5, 1, 1)


def test_seed_curves_draws_the_median_and_the_range():
    x = [1, 2, 4]
    values = torch.tensor([[1.0, 5.0, 2.0], [3.0, 4.0, 2.0], [8.0, 0.0, 5.0]])
    _, ax = plt.subplots()
    plotting.seed_curves(x, values, "self-weight", ax)
    (line,) = ax.lines
    assert line.get_label() == "self-weight"
    assert line.get_xdata().tolist() == x
    assert line.get_ydata().tolist() == [3.0, 4.0, 2.0]
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert {(1, 1), (1, 8), (2, 0), (2, 5), (4, 2), (4, 5)} <= corners
    assert to_rgb(line.get_color()) == pytest.approx(tuple(band.get_facecolor()[0][:3]))


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 3, 1)])
def test_seed_curves_says_which_shape_it_needs(shape):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=r"\(seeds, points\) with 3 points"):
        plotting.seed_curves([1, 2, 3], np.zeros(shape), "x", ax)


def test_weights_have_the_colours_of_the_positive_numbers():
    weights, scores = (
        plotting.attention_map(table, ["q"], ["a", "b"]).images[0]
        for table in ([[0.0, 1.0]], [[-1.0, 1.0]])
    )
    for share in (0.25, 0.5, 1.0):
        one, other = (image.cmap(image.norm(share)) for image in (weights, scores))
        assert one == pytest.approx(other, abs=0.02)


def test_hidden_cells_are_hatched_and_have_no_number_whatever_stands_there():
    weights = weights_like()
    weights[0, 1] = float("-inf")
    hidden = torch.zeros(T, S, dtype=torch.bool)
    hidden[0, 1] = hidden[2, 4] = True
    ax = plotting.attention_map(weights, QUERIES, KEYS, hidden=hidden)
    assert {patch.get_xy() for patch in ax.patches} == {(0.5, -0.5), (3.5, 1.5)}
    assert all(patch.get_hatch() for patch in ax.patches)
    assert len(ax.texts) == T * S - 2
    assert not {(1, 0), (4, 2)} & {text.get_position() for text in ax.texts}
    with pytest.raises(ValueError, match=r"hidden needs the shape \(3, 5\), but has \(5, 3\)"):
        plotting.attention_map(weights_like(), QUERIES, KEYS, hidden=hidden.T)


def test_a_table_without_words_is_numbered_and_not_too_densely():
    ax = plotting.attention_map(torch.ones(40, 3), bar=False)
    assert ax.get_yticks().tolist() == list(range(0, 40, 4))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2"]


def test_a_map_without_numbers_or_bar_has_neither():
    ax = plotting.attention_map(weights_like(), QUERIES, KEYS, numbers=False, bar=False)
    assert not ax.texts
    assert ax.figure.axes == [ax]


def test_maps_side_by_side_share_one_scale_and_one_bar():
    plotting.use_course_style()
    maps = [weights_like(), 3 * weights_like(), weights_like(-1.0)]
    figure = plotting.attention_maps(
        maps, ["a", "b", "c"], QUERIES, KEYS, columns=2, colour_label="score ω"
    )
    *axes, bar = figure.axes
    assert [ax.get_title() for ax in axes] == ["a", "b", "c"]
    limit = float(maps[1].max())
    assert [ax.images[0].get_clim() for ax in axes] == [pytest.approx((-limit, limit))] * 3
    assert bar.get_ylabel() == "score ω"
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, True]
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, True, True]
    output.refuse_small_letters(figure)


def test_maps_may_have_labels_and_hidden_cells_of_their_own():
    hidden = torch.zeros(2, T, S, dtype=torch.bool)
    hidden[1, 0, 0] = True
    figure = plotting.attention_maps(
        [weights_like(), weights_like()],
        ["as written", "reversed"],
        [QUERIES, QUERIES[::-1]],
        KEYS,
        hidden=hidden,
    )
    left, right, _ = figure.axes
    assert [tick.get_text() for tick in right.get_yticklabels()] == QUERIES[::-1]
    assert [tick.get_text() for tick in left.get_yticklabels()] == QUERIES
    assert [len(ax.patches) for ax in (left, right)] == [0, 1]


def test_maps_and_titles_must_agree():
    with pytest.raises(ValueError, match="zip"):
        plotting.attention_maps([weights_like()], ["a", "b"], QUERIES, KEYS)


def test_a_mask_is_filled_where_attention_is_allowed_and_hatched_where_not():
    mask = torch.ones(T, S, dtype=torch.bool).tril()
    ax = plotting.mask_map(mask, QUERIES, KEYS)
    cells = {(patch.get_y() + 0.5, patch.get_x() + 0.5): patch for patch in ax.patches}
    assert len(cells) == len(ax.patches) == T * S
    hatched = {place for place, patch in cells.items() if patch.get_hatch()}
    assert hatched == {(i, j) for i in range(T) for j in range(S) if j > i}
    filled = {
        to_hex(patch.get_facecolor()) for place, patch in cells.items() if place not in hatched
    }
    assert filled == {colours.PLUM}  # as in figures/make_mask_broadcast.py
    assert plotting.contrast(colours.PLUM, colours.SHADE) > 3


def test_curves_are_named_at_their_ends_in_their_colours():
    _, ax = narrow(8)
    values = {"attention": [[1.0, 2.0], [3.0, 4.0]], "rising": [0.0, 10.0]}
    plotting.curves(ax, [1, 2], values, plotting.MODELS, xlabel="width", xscale="log")
    assert (ax.get_xlabel(), ax.get_xscale()) == ("width", "log")
    assert [line.get_ydata().tolist() for line in ax.lines] == [[2.0, 3.0], [0.0, 10.0]]
    for text, line, name in zip(ax.texts, ax.lines, values, strict=True):
        assert text.get_text() == name
        assert text.get_color() == line.get_color()
        assert text.xy == pytest.approx((2, line.get_ydata()[-1]))
    assert ax.lines[0].get_color() == plotting.MODELS["attention"]
    assert ax.get_legend() is None


def test_names_at_the_ends_of_curves_do_not_touch_and_keep_their_order():
    figure, ax = narrow(8)
    ends = [1.0, 1.01, 1.02, 5.0]
    plotting.curves(ax, [0, 1], {f"curve {end}": [0.0, end] for end in ends}, ylim=(0, 6))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(boxes))
    middles = [(box.y0 + box.y1) / 2 for box in boxes]
    last = ax.transData.transform((1, 5.0))[1]
    assert middles[-1] == pytest.approx(last, abs=2), "the name of a curve apart stays at its end"
    right = figure.bbox.x1
    assert all(box.x1 <= right for box in boxes), "a name leaves the picture"


def test_a_level_and_ticks_say_their_numbers():
    _, ax = narrow()
    plotting.level(ax, 0.25, "chance")
    assert [text.get_text() for text in ax.texts] == ["chance"]
    assert set(ax.lines[0].get_ydata()) == {0.25}
    ax.set_xscale("log")
    plotting.ticks_at(ax, x=[1, 8, 64])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "8", "64"]
    assert ax.xaxis.get_minorticklocs().tolist() == []


def test_bars_show_the_median_its_number_and_every_seed():
    _, ax = narrow(8)
    values = [[0.1, 0.5], [0.3, 0.6], [0.9, 0.4]]
    plotting.bars(ax, ["1", "2"], {"words": values, "sentences": [0.0, -0.25]}, ylabel="share")
    heights = [patch.get_height() for patch in ax.patches]
    assert heights == pytest.approx([0.3, 0.5, 0.0, -0.25])
    assert [text.get_text() for text in ax.texts] == ["0.30", "0.50", "0.00", "−0.25"]
    (dots,) = ax.lines
    assert sorted(dots.get_ydata()) == pytest.approx([0.1, 0.3, 0.4, 0.5, 0.6, 0.9])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["words", "sentences"]
    starts = sorted(patch.get_x() for patch in ax.patches)
    ends = sorted(patch.get_x() + patch.get_width() for patch in ax.patches)
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


def test_a_number_stands_at_its_bar_and_no_dot_stands_on_it():
    """Bars that are high, short and below zero, with seeds far above and below the median."""
    _, ax = narrow(8)
    values = [[1.9, 0.01, -0.5], [2.0, 0.02, -0.6], [3.5, 0.03, -0.4]]
    plotting.bars(ax, ["a", "b", "c"], {"words": values}, ylim=(-1, 4))
    ax.figure.canvas.draw()
    (dots,) = ax.lines
    where = ax.transData.transform(np.column_stack(dots.get_data()))
    for text, bar in zip(ax.texts, ax.patches, strict=True):
        box = text.get_window_extent()
        assert not any(box.padded(2).contains(*dot) for dot in where)
        body = bar.get_window_extent()
        assert body.x0 <= (box.x0 + box.x1) / 2 <= body.x1
        inside = body.y0 <= box.y0 and box.y1 <= body.y1
        assert inside == (text.get_text() == "2.00")
        assert to_hex(text.get_color()) == (colours.PAPER if inside else colours.INK)
        assert inside or min(abs(box.y0 - body.y1), abs(body.y0 - box.y1)) < 30


def test_one_legend_can_serve_several_panels():
    _, ax = narrow(8)
    plotting.bars(ax, ["1"], {"words": [0.1], "sentences": [0.2]}, legend=False)
    assert ax.get_legend() is None


def test_bars_say_which_numbers_they_need():
    _, ax = narrow()
    with pytest.raises(ValueError, match=r"'words' needs one number for each of 3 groups"):
        plotting.bars(ax, ["1", "2", "4"], {"words": [0.1, 0.2]})


def test_a_histogram_shows_shares():
    _, ax = narrow()
    plotting.histogram(ax, torch.tensor([[0.0, 0.0], [0.0, 1.0]]), bins=2, mark=(1, "one"))
    assert [patch.get_height() for patch in ax.patches] == [0.75, 0.25]
    assert [text.get_text() for text in ax.texts] == ["one"]
    assert ax.get_ylabel() == "share"


def test_steps_have_a_panel_each_with_the_words_on_top_first():
    rows = torch.tensor([[0.1, 0.9], [0.6, 0.4], [0.5, 0.5], [1.0, 0.0]])
    figure = plotting.step_panels(["a", "b", "c", "d"], ["du", "mir"], rows, columns=3)
    assert [ax.get_title() for ax in figure.axes] == ["a", "b", "c", "d"]
    for ax, row in zip(figure.axes, rows, strict=True):
        assert [patch.get_width() for patch in ax.patches] == pytest.approx(row.tolist())
        assert ax.get_ylim()[0] > ax.get_ylim()[1]
        assert ax.get_xlim() == (0, 1)
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False, True, True, True]
    output.refuse_small_letters(figure)
    with pytest.raises(ValueError, match=r"\(titles, labels\) = \(4, 3\), but have \(4, 2\)"):
        plotting.step_panels(["a", "b", "c", "d"], ["du", "mir", "?"], rows)


def test_words_in_a_plane_stand_where_their_vectors_point():
    _, ax = narrow()
    plotting.words_in_plane(
        ax, {"the": [0.2, 0.3], "bank": torch.tensor([0.9, 0.8])}, xlabel="water"
    )
    assert {text.get_text(): text.xy for text in ax.texts}.keys() == {"the", "bank"}
    assert ax.lines[0].get_xydata().tolist() == pytest.approx(np.array([[0.2, 0.3], [0.9, 0.8]]))
    plotting.shift_arrow(ax, [0.9, 0.8], [0.5, 0.6], "context vector")
    assert ax.lines[1].get_xydata().tolist() == pytest.approx(np.array([[0.5, 0.6]]))
    assert ax.texts[-1].get_text() == "context vector" and ax.texts[-1].xyann[1] < 0
    plotting.shift_arrow(ax, [0.9, 0.8], [0.5, 0.9], "upwards")
    assert ax.texts[-1].xyann[1] > 0  # above the end, where no arrow crosses it


def test_panels_have_the_course_width():
    for count, width in ((1, 8), (2, 10), (3, 10)):
        figure, axes = plotting.panels(count)
        assert figure.get_figwidth() == width
        assert np.size(axes) == count


def test_a_symbol_is_drawn_as_a_formula():
    figure, ax = narrow()
    ax.set(xlabel=f"width {plotting.symbol('d_model')}", title=plotting.symbol("√d_k"))
    figure.draw_without_rendering()  # matplotlib can read it
    output.refuse_bare_names(figure)
    with pytest.raises(ValueError, match="'d_q' has no formula yet"):
        plotting.symbol("d_q")


@pytest.mark.parametrize("text", ["width d_k", "√d_model", "d_k = $d_k$", "(W_q)"])
@pytest.mark.parametrize("part", ["title", "xlabel", "ylabel"])
def test_a_picture_refuses_a_bare_underscore(part, text):
    figure, ax = narrow()
    ax.set(**{part: text})
    with pytest.raises(ValueError, match="bare underscore"):
        plotting.picture(figure, "something")


def test_names_of_functions_keep_their_underscores():
    figure, ax = narrow()
    ax.set(title="F.scaled_dot_product_attention", xlabel="$d_k$")
    output.refuse_bare_names(figure)
