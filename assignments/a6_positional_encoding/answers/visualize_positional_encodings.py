"""Answers to `visualize_positional_encodings`."""

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from assignments.a6_positional_encoding.answers.bank import BANK
from assignments.a6_positional_encoding.answers.positional_encoding import (
    table_by_exp_and_log,
    table_by_numpy,
    table_by_shifted_sines,
    table_by_stacked_pairs,
    table_by_two_loops,
    table_by_where,
)


def axes_or_new(ax):
    return plt.subplots(figsize=(6, 4))[1] if ax is None else ax


def labelled(ax):
    ax.set_xlabel("embedding dimension")
    ax.set_ylabel("position in the sentence")
    return ax


@BANK.right("visualize_positional_encodings")
def picture_by_imshow(length, d_model=512, ax=None, cmap="viridis"):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model), cmap=cmap), ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    mesh = ax.pcolormesh(table_by_numpy(length, d_model).numpy(), cmap="coolwarm")
    ax.set_xlim(0, d_model)
    ax.set_ylim(length, 0)
    plt.colorbar(mesh, ax=ax, orientation="horizontal")
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh_with_places(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    mesh = ax.pcolormesh(
        range(d_model), range(length), table_by_where(length, d_model), shading="nearest"
    )
    ax.invert_yaxis()
    ax.get_figure().colorbar(mesh)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_matshow(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    image = ax.matshow(table_by_shifted_sines(length, d_model), aspect="auto")
    ax.figure.colorbar(image, cax=ax.inset_axes([1.05, 0, 0.05, 1]))
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_current_axes_made_the_given_ones(length, d_model=512, ax=None):
    if ax is None:
        plt.figure(figsize=(12, 8))
    else:
        plt.sca(ax)
    ax = plt.gca()
    plt.imshow(table_by_stacked_pairs(length, d_model), vmin=-1, vmax=1, aspect="auto")
    plt.colorbar()
    plt.xlabel("dimension")
    plt.ylabel("position")
    plt.title("Positions")
    return ax


@BANK.right("visualize_positional_encodings")
def picture_as_a_heat_map_with_lines(length, d_model=512, ax=None):
    if ax is None:
        ax = plt.figure().gca()
    mesh = ax.pcolormesh(table_by_exp_and_log(length, d_model), edgecolors="w", linewidth=0.1)
    ax.set(xticks=np.arange(d_model) + 0.5, yticks=np.arange(length) + 0.5, ylim=(length, 0))
    ax.set(xticklabels=range(d_model), yticklabels=range(length))
    ax.figure.colorbar(mesh, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_from_below_with_the_axis_turned(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.imshow(table_by_two_loops(length, d_model), origin="lower", interpolation="nearest")
    ax.yaxis.set_inverted(True)
    ax.figure.colorbar(ScalarMappable(Normalize(-1, 1)), ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_with_whole_numbers_at_the_edges(length, d_model=512, ax=None):
    if ax is None:
        ax = plt.figure(layout="constrained").add_subplot()
    image = ax.imshow(table_by_numpy(length, d_model), extent=(0, d_model, length, 0))
    ax.xaxis.tick_top()
    ax.figure.colorbar(image, ax=ax, location="bottom")
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="axes swapped")
def picture_turned_round(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.set_xlabel("position")
    ax.set_ylabel("dimension")
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model).T), ax=ax)
    return ax


@BANK.wrong("visualize_positional_encodings", named="position axis not inverted")
def picture_by_pcolormesh_upwards(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    plt.colorbar(ax.pcolormesh(table_by_two_loops(length, d_model)), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="labels exchanged")
def picture_with_labels_in_each_others_place(length, d_model=512, ax=None):
    ax = picture_by_pcolormesh(length, d_model, ax)
    ax.set(xlabel="Position of the token", ylabel="Embedding dimension")
    return ax


@BANK.right("visualize_positional_encodings")
def picture_with_labels_that_say_more(length, d_model=512, ax=None):
    ax = picture_by_pcolormesh(length, d_model, ax)
    ax.set(xlabel="dimension of the position's vector", ylabel="position in the sentence")
    return ax


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh_on_the_current_axes_of_a_new_figure(length, d_model=512, ax=None):
    if ax is None:
        plt.figure()
        ax = plt.gca()
    edges = np.arange(d_model + 1) - 0.5, np.arange(length + 1) - 0.5
    mesh = ax.pcolormesh(*edges, table_by_numpy(length, d_model).numpy())
    ax.invert_yaxis()
    plt.colorbar(mesh, ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="edge cells cut in half")
def picture_from_centre_to_centre(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.set_xlim(0, d_model - 1)
    return ax


@BANK.wrong("visualize_positional_encodings", named="axes not labelled")
def picture_with_a_title_only(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.set_title("x: dimension, y: position")
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model)), ax=ax)
    return ax


@BANK.wrong("visualize_positional_encodings", named="shown on a figure of its own")
def picture_as_printed(length, d_model=512, ax=None):
    plt.figure(figsize=(12, 8))
    plt.pcolormesh(table_by_two_loops(length, 512), cmap="viridis")
    plt.xlabel("Dimensions")
    plt.xlim((0, 512))
    plt.ylim((length, 0))
    plt.ylabel("Positions")
    plt.colorbar()
    plt.show()


@BANK.wrong("visualize_positional_encodings", named="Axes not returned")
def picture_with_its_figure_returned(length, d_model=512, ax=None):
    return picture_by_imshow(length, d_model, ax).figure


@BANK.wrong("visualize_positional_encodings", named="drawn on the current Axes")
def picture_on_whichever_axes(length, d_model=512, ax=None):
    if ax is None:
        _, ax = plt.subplots()
    plt.imshow(table_by_two_loops(length, d_model))
    plt.colorbar()
    return labelled(plt.gca())


@BANK.wrong("visualize_positional_encodings", named="drawn on the current Axes")
def picture_on_whichever_axes_with_labels_on_the_given(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    plt.imshow(table_by_two_loops(length, d_model))
    plt.colorbar()
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="drawn on the current Axes")
def picture_on_whichever_axes_that_is_not_the_one_returned(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    plt.pcolormesh(table_by_two_loops(length, d_model))
    plt.gca().invert_yaxis()
    plt.colorbar()
    labelled(plt.gca())
    return ax


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_in_whatever_figure_is_open(length, d_model=512, ax=None):
    return picture_by_imshow(length, d_model, ax or plt.gca())


@BANK.wrong("visualize_positional_encodings", named="ax ignored and nothing returned")
def picture_for_itself(length, d_model=512, ax=None):
    plt.figure(figsize=(12, 8))
    plt.imshow(table_by_two_loops(length, d_model), aspect="auto")
    plt.colorbar()
    labelled(plt.gca())


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_with_one_label(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.set_ylabel("")
    return ax


@BANK.wrong("visualize_positional_encodings", named="axes not labelled")
def picture_without_axes(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.set_axis_off()
    return ax


@BANK.wrong("visualize_positional_encodings", told="other numbers in the picture")
def picture_of_the_first_dimensions(length, d_model=512, ax=None):
    return picture_by_imshow(length, min(d_model, 6), ax)


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_with_tight_limits(length, d_model=512, ax=None):
    ax = picture_by_pcolormesh(length, d_model, ax)
    ax.set_ylim(length - 1, 0)
    return ax


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_with_smooth_colours(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.images[0].set_interpolation("bicubic")
    return ax


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_with_places_from_one(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.images[0].set_extent((0.5, d_model + 0.5, length + 0.5, 0.5))
    return ax


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_in_shares_of_one(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    ax.images[0].set_extent((0, 1, 1, 0))
    return ax


@BANK.wrong("visualize_positional_encodings", told="no cells")
def picture_of_curves(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.plot(table_by_two_loops(length, d_model))
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="right in part")
def picture_of_other_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model).abs()), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="wrong by a constant factor")
def picture_of_doubled_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(2 * table_by_two_loops(length, d_model)), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="rounded")
def picture_of_rounded_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    rounded = table_by_two_loops(length, d_model).numpy().round(2)
    ax.figure.colorbar(ax.imshow(rounded), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="wrong by a constant factor")
def picture_of_negative_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(-table_by_two_loops(length, d_model)), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="other numbers in the picture")
def picture_without_the_first_word(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length + 1, d_model)[1:]), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="other numbers in the picture")
def picture_of_random_numbers(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(torch.rand(length, d_model)), ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_beside_an_empty_figure(length, d_model=512, ax=None):
    plt.figure(figsize=(12, 8))
    return picture_by_imshow(length, d_model, axes_or_new(ax))


@BANK.wrong("visualize_positional_encodings", named="Axes not returned")
def picture_with_its_colour_bar_returned(length, d_model=512, ax=None):
    ax = picture_by_imshow(length, d_model, ax)
    return ax.images[0].colorbar.ax


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_with_the_colour_bar_elsewhere(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    other = plt.figure()
    other.colorbar(ax.imshow(table_by_two_loops(length, d_model)), cax=other.subplots())
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="no cells")
def picture_on_the_first_call_only(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    if length != 3:
        return ax
    return picture_by_imshow(length, d_model, ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolormesh_with_edges(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    x, y = np.arange(d_model + 1) - 0.5, np.arange(length + 1) - 0.5
    mesh = ax.pcolormesh(x, y, table_by_numpy(length, d_model).numpy(), shading="flat")
    ax.set_ylim(length - 0.5, -0.5)
    ax.figure.colorbar(mesh, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_from_the_first_to_the_last_number(length, d_model=512, ax=None):
    # column d is the cell that has x = d within its edges
    ax = axes_or_new(ax)
    edges = (0, d_model - 1, length - 1, 0)
    image = ax.imshow(table_by_numpy(length, d_model), extent=edges, aspect="auto")
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_by_pcolor_with_a_grid(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    x, y = np.meshgrid(np.arange(d_model + 1), np.arange(length + 1))
    mesh = ax.pcolor(x, y, table_by_where(length, d_model), cmap="RdBu", vmin=-1.5, vmax=1.5)
    ax.set_ylim(ax.get_ylim()[::-1])
    ax.figure.colorbar(mesh, ax=ax, label="value")
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_with_ten_colours_and_half_transparent(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    colours = plt.get_cmap("coolwarm", 10)
    image = ax.imshow(table_by_numpy(length, d_model), cmap=colours, alpha=0.6, aspect="auto")
    ax.grid(True)
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)


@BANK.right("visualize_positional_encodings")
def picture_with_a_number_on_each_cell(length, d_model=512, ax=None):
    table = table_by_numpy(length, d_model)
    ax = picture_by_imshow(length, d_model, ax)
    for place, number in np.ndenumerate(table.numpy()[:, :20]):
        ax.text(place[1], place[0], f"{number:.1f}", ha="center", va="center", fontsize=5)
    return ax


def looked_at(change, like=picture_by_imshow):
    def picture(length, d_model=512, ax=None):
        ax = like(length, d_model, ax)
        change(ax, length, d_model)
        return ax

    return picture


@BANK.wrong("visualize_positional_encodings", named="numbers that differ share one colour")
def picture_with_colours_from_zero(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    image = ax.imshow(table_by_numpy(length, d_model), vmin=0, vmax=1, aspect="auto")
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", named="numbers that differ share one colour")
def picture_with_colours_up_to_a_half(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.images[0].set_clim(-0.5, 0.5))(
        length, d_model, ax
    )


@BANK.wrong("visualize_positional_encodings", named="numbers that differ share one colour")
def picture_in_two_colours(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.images[0].set_cmap(plt.get_cmap("bwr", 2)))(
        length, d_model, ax
    )


@BANK.wrong("visualize_positional_encodings", named="limits of another width")
def picture_with_the_limits_of_512(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.set_xlim((0, 512)))(length, d_model, ax)


@BANK.wrong("visualize_positional_encodings", named="numbers that differ share one colour")
def picture_that_is_transparent(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.images[0].set_alpha(0.0))(length, d_model, ax)


@BANK.wrong("visualize_positional_encodings", told="the picture, not its numbers")
def picture_cut_from_below(length, d_model=512, ax=None):
    return looked_at(lambda ax, length, d_model: ax.set_ylim(length // 2, -0.5))(
        length, d_model, ax
    )


@BANK.wrong("visualize_positional_encodings", named="axes swapped and no colour bar")
def picture_turned_round_without_a_bar(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.imshow(table_by_two_loops(length, d_model).T, aspect="auto", cmap="RdBu")
    return labelled(ax)


@BANK.wrong("visualize_positional_encodings", told="axes exchanged")
def picture_turned_round_without_a_bar_and_shown(length, d_model=512, ax=None):
    ax = picture_turned_round_without_a_bar(length, d_model, ax)
    plt.show()
    return ax


@BANK.wrong("visualize_positional_encodings", named="labels on the current Axes")
def picture_with_labels_by_plt(length, d_model=512, ax=None):
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_numpy(length, d_model), aspect="auto"), ax=ax)
    plt.xlabel("embedding dimension")
    plt.ylabel("position")
    return ax


@BANK.wrong("visualize_positional_encodings", named="figure closed")
def picture_of_a_closed_figure(length, d_model=512, ax=None):
    figure = plt.figure() if ax is None else ax.figure
    ax = ax or figure.add_subplot()
    cells = ax.imshow(table_by_exp_and_log(length, d_model), aspect="auto")
    ax.set(xlabel="dimension", ylabel="position")
    figure.colorbar(cells, ax=ax)
    plt.close(figure)
    return ax
