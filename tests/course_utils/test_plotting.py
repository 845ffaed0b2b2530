"""The lectures' pictures: what they carry, what they say, and that they can be read."""

import base64
import itertools

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from course_utils import plotting

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
    """Call `show` and return the one message that a notebook would get: data and metadata."""

    def show_and_record(figure, alt="a curve that rises"):
        messages = []

        def record(data, metadata, raw):
            assert raw, "a notebook must take the data as they are"
            messages.append((data, metadata))

        monkeypatch.setattr(plotting, "display", record)
        assert plotting.show(figure, alt) is None
        (message,) = messages
        return message

    return show_and_record


def grey(colour):
    return float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722]))


def test_use_course_style_changes_colour_and_line_style_together():
    plotting.use_course_style()
    _, ax = plt.subplots()
    lines = [ax.plot([0, 1], [k, k])[0] for k in range(4)]
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_linestyle() for line in lines}) == 4
    assert len({line.get_marker() for line in lines}) == 4
    assert plt.rcParams["font.size"] >= 12


def test_show_gives_a_png_with_its_alt_text_and_nothing_else(shown, capsys):
    figure, _ = plt.subplots(figsize=(5, 3))
    data, metadata = shown(figure)
    assert set(data) == {"image/png", "text/plain"}
    assert data["text/plain"] == "a curve that rises"
    assert metadata == {"image/png": {"alt": "a curve that rises", "width": 480}}
    assert capsys.readouterr().out == ""
    png = base64.b64decode(data["image/png"])
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 2 * 480  # stored at twice the displayed width
    assert b"matplotlib" not in png


def test_show_closes_the_figure(shown):
    figure, _ = plt.subplots()
    assert plt.get_fignums() == [figure.number]
    shown(figure)
    assert plt.get_fignums() == []


def test_show_gives_the_same_bytes_for_the_same_picture(shown):
    pictures = []
    for _ in range(2):
        figure, ax = plt.subplots()
        plotting.attention_map(weights_like(), QUERIES, KEYS, ax)
        pictures.append(shown(figure)[0]["image/png"])
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_show_wants_an_alt_text(alt):
    figure, _ = plt.subplots()
    with pytest.raises(ValueError, match="alt is empty"):
        plotting.show(figure, alt)


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
    assert grey(image.cmap(image.norm(0.0))[:3]) > 0.93
    assert image.cmap(image.norm(low)) != image.cmap(image.norm(high))


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_attention_map_numbers_stand_out_from_their_cells(low):
    ax = plotting.attention_map(weights_like(low), QUERIES, KEYS)
    (image,) = ax.images
    weights = weights_like(low)
    for text in ax.texts:
        column, row = text.get_position()
        cell = image.cmap(image.norm(float(weights[row, column])))[:3]
        assert abs(grey(text.get_color()) - grey(cell)) > 0.4


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
