"""What of a picture the probe sees, however it was drawn."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from autograder.probe.drawing import Picture
from tests.autograder.probe.test_probe import ask

TABLE = torch.arange(12.0).reshape(3, 4)  # row y, column x


def look(draw, on_axes=True, **keywords):
    seen = ask({"f": draw}, TABLE, kind="drawing", keywords=keywords, on_axes=on_axes, seconds=20)
    assert seen.status == "returned", seen
    assert plt.get_fignums() == []
    return Picture(*seen.value)


def by_imshow(table, ax):
    image = ax.imshow(table, aspect="auto")
    ax.set(xlabel="dimension", ylabel="position")
    ax.figure.colorbar(image, ax=ax)
    return ax


def by_matshow(table, ax):
    ax.figure.colorbar(ax.matshow(table), ax=ax)
    ax.set(xlabel="dimension", ylabel="position")
    return ax


def by_pcolormesh(table, ax):
    plt.colorbar(ax.pcolormesh(table), ax=ax)
    ax.invert_yaxis()
    ax.set(xlabel="dimension", ylabel="position", xlim=(0, 4))
    return ax


def by_pcolormesh_around_whole_numbers(table, ax):
    mesh = ax.pcolormesh(range(4), range(3), table, shading="nearest")
    return finished(ax, mesh)


def by_pcolormesh_of_columns(table, ax):
    y, x = np.meshgrid(np.arange(4), np.arange(5))
    return finished(ax, ax.pcolormesh(x, y, table.T))


def by_pcolor(table, ax):
    return finished(ax, ax.pcolor(table))


def by_imshow_from_below(table, ax):
    return finished(ax, ax.imshow(table, origin="lower"))


def by_imshow_of_rows_turned_round(table, ax):
    # seaborn's way of saying it: cells from 0 to 3, the y axis turned round
    return finished(ax, ax.imshow(table.flip(0), extent=(0, 4, 0, 3)))


def finished(ax, cells):
    ax.set(xlabel="dimension", ylabel="position", ylim=sorted(ax.get_ylim(), reverse=True))
    ax.get_figure().colorbar(cells)
    return ax


@pytest.mark.parametrize(
    "draw",
    [
        by_imshow, by_matshow, by_pcolormesh, by_pcolormesh_around_whole_numbers,
        by_pcolormesh_of_columns, by_pcolor, by_imshow_from_below, by_imshow_of_rows_turned_round,
    ],
)  # fmt: skip
def test_cells_are_read_however_they_were_drawn(draw):
    picture = look(draw)
    assert torch.equal(picture.values, TABLE)
    assert not picture.other_figures
    assert not picture.shown and not picture.closed
    assert not picture.labels_exchanged
    assert all(picture._replace(labels_exchanged=True)[1:-3]), picture


def edit(*lines):
    """The right drawing with something done to it afterwards."""

    def draw(table, ax):
        by_imshow(table, ax)
        for line in lines:
            exec(line, {"ax": ax, "plt": plt, "table": table})
        return ax

    return draw


@pytest.mark.parametrize(
    ("draw", "changes"),
    [
        (edit("ax.invert_yaxis()"), {"zero_on_top": False}),
        (edit("ax.set_xlabel(' ')"), {"x_labelled": False}),
        (edit("ax.yaxis.label.set_visible(False)"), {"y_labelled": False}),
        (edit("ax.axis('off')"), {"x_labelled": False, "y_labelled": False}),
        (edit("ax.set_xlim(-0.42, 4)"), {}),  # a sliver of a cell
        (edit("ax.set_xlim(0, 4)"), {"complete": False}),
        (edit("ax.set_ylim(1, 0)"), {"complete": False, "centres_seen": False}),
        (edit("ax.images[0].set_interpolation('bilinear')"), {"crisp": False}),
        (edit("ax.images[0].set_extent((-0.5, 3.5, 3.5, 0.5))"), {"counted_from_zero": False}),
        (edit("ax.images[0].set_extent((0, 1, 1, 0))"), {"counted_from_zero": False}),
        (edit("ax.images[0].colorbar.remove()"), {"colour_bar": False}),
        (edit("ax.images[0].set_clim(5, 11)"), {"colours_differ": False}),
        (
            edit("ax.images[0].set_cmap('Greys')", "ax.images[0].set_alpha(0)"),
            {"colours_differ": False},
        ),
        (edit("ax.set_xlim(-9, 9)"), {"fills": False}),
        (edit("plt.show()"), {"shown": True}),
        (edit("ax.figure.show()"), {"shown": True}),
        (edit("plt.close(ax.figure)"), {"closed": True}),
        (edit("plt.figure()"), {"other_figures": True}),
        (edit("ax.imshow(table.new_ones(3, 4, 3), zorder=-1)"), {}),
    ],
)
def test_each_thing_to_see_is_seen_by_itself(draw, changes):
    right = look(by_imshow)
    picture = look(draw)
    assert torch.equal(picture.values, TABLE)
    assert picture._replace(values=None) == right._replace(values=None, **changes)


def test_pictures_without_cells():
    colours = torch.ones(3, 4, 3)
    for without in (lambda table, ax: ax.plot(table), lambda table, ax: ax.imshow(colours)):
        picture = look(without)
        assert picture.values.shape == (0, 0)
        assert not any(picture[1:])


def test_drawing_elsewhere_is_not_drawing_on_the_axes_given():
    def on_the_current_axes(table, ax):
        return by_imshow(table, plt.gca())

    def on_a_figure_of_its_own(table, ax):
        by_imshow(table, plt.subplots()[1])

    current, own = look(on_the_current_axes), look(on_a_figure_of_its_own)
    for picture in (current, own):
        assert torch.equal(picture.values, TABLE)
        assert not picture.on_given_axes
        assert not picture.axes_returned
    assert not current.other_figures
    assert own.other_figures


@pytest.mark.parametrize("make", [lambda: plt.subplots()[1], lambda: Figure().subplots()])
def test_without_axes_it_draws_in_a_new_figure_and_only_one(make):
    right = look(lambda table: by_imshow(table, make()), on_axes=False)
    assert right.on_given_axes
    assert right.axes_returned
    assert not right.other_figures
    twice = look(lambda table: plt.figure() and by_imshow(table, plt.subplots()[1]), on_axes=False)
    assert twice.other_figures
    elsewhere = look(lambda table: by_imshow(table, plt.gca()), on_axes=False)
    assert not elsewhere.on_given_axes
    assert not elsewhere.other_figures


def test_an_error_while_drawing_leaves_no_figure_and_no_backend_behind():
    before = matplotlib.get_backend()

    def draw(table, ax):
        plt.figure()
        raise ValueError("no ink")

    seen = ask({"f": draw}, TABLE, kind="drawing", keywords={}, on_axes=True, seconds=20)
    assert seen.error.message == "no ink"
    assert plt.get_fignums() == []
    assert matplotlib.get_backend() == before
