"""Answers to `visualize_positional_encodings`."""

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from assignments.a6_positional_encoding.answers.bank import BANK
from assignments.a6_positional_encoding.answers.positional_encoding_module import RIGHT_TABLES
from assignments.a6_positional_encoding.rubric import picture
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers
from course_utils import positional

AXES = "dimension", "position"


def of_cells(cells, ax, labels=AXES, bar=True, **options):
    """A picture of a table, on these Axes or on new ones."""
    if ax is None:
        _, ax = plt.subplots()
    image = ax.imshow(cells, **options)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if bar:
        ax.figure.colorbar(image, ax=ax)
    return ax


def drawn(length, d_model, ax, turned=False, **options):
    """The right picture, or one with a fault."""
    cells = positional.positional_encoding(length, d_model).numpy()
    return of_cells(cells.T if turned else cells, ax, **options)


def axes_or_new(ax):
    return plt.subplots(figsize=(6, 4))[1] if ax is None else ax


def labelled(ax):
    ax.set_xlabel("embedding dimension")
    ax.set_ylabel("position in the sentence")
    return ax


ANSWERS = Answers(
    __name__, BANK, picture,
    """
    def visualize_positional_encodings(length, d_model=512, ax=None):
        return drawn(length, d_model, ax)
    """,
    plt=plt, np=np, torch=torch, ScalarMappable=ScalarMappable, Normalize=Normalize,
    of_cells=of_cells, drawn=drawn, axes_or_new=axes_or_new, labelled=labelled, **RIGHT_TABLES,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
TURNED = (
    "Positions run to the right and dimensions downwards, so the table was turned round. One row of the table is one "
    "position, and so is one row of the picture."
)
NO_LABELS = "The axes have no labels. Say what runs to the right and what runs downwards."
NO_BAR = "Without a colour bar, nobody can tell which colour stands for which number."
for labels in (AXES, AXES[::-1], ("", "")):
    for bar in (True, False):
        said = {"axes swapped": TURNED}
        said |= {} if any(labels) else {"no labels": NO_LABELS}
        said |= {} if bar else {"no colour bar": NO_BAR}
        slip(" and ".join(said), f"return drawn(length, d_model, ax, turned=True, labels={labels}, bar={bar})", (),
             " ".join(said.values()), costs_more="two mistakes at once" if len(said) > 1 else "")
slip("axes swapped", "return drawn(length, d_model, ax, turned=True, origin='lower')", (),
     "Positions run to the right and dimensions upwards, so the table was turned round. One row of the table is one "
     "position, and so is one row of the picture. Position 0 is on top.")
slip("position axis not inverted", "return drawn(length, d_model, ax, origin='lower')", (),
     "Position 0 is at the bottom. `pcolormesh` counts upwards, as curves do; `imshow` counts downwards, as text is "
     "read. The y axis of an Axes can be inverted.")
slip("position axis counts backwards", "return drawn(length, d_model, ax, extent=(0, d_model, 0, length))", (),
     "The rows are in the right order, but the numbers next to them run backwards, so by the y axis position 0 is the "
     "last one. An `extent` replaces the numbers on the axes. Without one, `imshow` counts rows from 0.")
slip("numbers that differ share one colour", "return drawn(length, d_model, ax, vmin=0, vmax=1)", (),
     "Numbers that differ have the same colour, as all negative ones have where the colours begin at 0. The values run "
     "from −1 to 1. What do `vmin` and `vmax` say, how many colours has the map, and can they be seen?")
slip("limits of another width", "ax = drawn(length, d_model, ax); ax.set_xlim(0, 512); return ax", (),
     "Your x axis always runs to 512, so a narrower table fills a small part of the picture. The limits follow from "
     "`d_model`, and `imshow` and `pcolormesh` find them by themselves.")
slip("axes not labelled", "return drawn(length, d_model, ax, labels=('', ''))", (), NO_LABELS)
slip("labels on the current Axes", """
    ax = drawn(length, d_model, ax, labels=("", ""))
    plt.xlabel("dimension")
    plt.ylabel("position")
    return ax
""", (),
     "Your labels are not on the Axes with the picture. `plt.xlabel` and `plt.ylabel` label whichever Axes is current, "
     "and that need not be the one you were given. Use `ax.set_xlabel` and `ax.set_ylabel`.")
slip("labels exchanged", "return drawn(length, d_model, ax, labels=('position', 'dimension'))", (),
     "Your picture is right, but each axis has the other one's label, because dimensions run to the right and "
     "positions downwards.")
slip("edge cells cut in half", "ax = drawn(length, d_model, ax); ax.set({limits}); return ax", (),
     "The limits run from the centre of the first cell to the centre of the last, so half of each cell at the edge is "
     "cut off. A cell reaches half a step to either side of its number, so leave the limits to `imshow`, or add that "
     "half.",
     each={"limits": ("xlim=(0, d_model - 1), ylim=(length - 1, 0)", "xlim=(0, d_model - 1)", "ylim=(length - 1, 0)")})
slip("no colour bar", "return drawn(length, d_model, ax, bar=False)", (), NO_BAR)
slip("width fixed to 512", "return drawn(length, 512, ax)", (),
     "The picture always has 512 dimensions. Use the argument `d_model`; 512 is only what it is when nothing is given.")
slip("ax ignored", "return drawn(length, d_model, None)", (),
     "You open a figure of your own although an Axes was given. Make one only if `ax` is None.")
slip("ax ignored and nothing returned", "drawn(length, d_model, None); return None", (),
     "You open a figure of your own although an Axes was given, and nothing comes back. Make one only if `ax` is None, "
     "and return the Axes with the picture.")
slip("drawn on the current Axes", """
    ax = plt.subplots()[1] if ax is None else ax
    current = plt.gca()
    drawn(length, d_model, current, labels=("", ""))
    {named}.set(xlabel="dimension", ylabel="position")
    return {returned}
""", (),
     "Functions of `plt`, such as `plt.imshow` and `plt.xlabel`, draw on whichever Axes is current, and that need not "
     "be the one you were given. Use the methods of `ax`.",
     each={"named": ("current", "current", "ax", "current"), "returned": ("current", "ax", "ax", "None")})
slip("Axes not returned", "drawn(length, d_model, ax); return None", (),
     "The picture is right, but the Axes does not come back, so that nobody can add a title to it. Return `ax`.")
slip("figure closed", "ax = drawn(length, d_model, ax); plt.close(ax.figure); return ax", (),
     "You close the figure. The Axes comes back, but `plt` no longer shows or saves what is on it. Leave it open for "
     "the caller.")
slip("figure shown", "ax = drawn(length, d_model, ax); plt.show(); return ax", (),
     "You call `show`. In a program it may wait until the window is closed, and what the caller wants to add comes too "
     "late. Draw, and return the Axes.")
slip("figure shown and nothing returned", "drawn(length, d_model, ax); plt.show(); return None", (),
     "You call `show` and return nothing. Leave showing to the caller, and return `ax`.")
slip("shown on a figure of its own", "drawn(length, {width}, None); plt.show(); return None", (),
     "Your function opens a figure, shows it and keeps it to itself, which is fine for one look but of no use as a "
     "panel next to others. Draw on `ax` if there is one, open a figure only if there is none, return the Axes, and "
     "leave showing to the caller.",
     costs_more="three mistakes at once", each={"width": ("d_model", 512)})

right = ANSWERS.right
right("picture_by_imshow", """
    ax = axes_or_new(ax)
    ax.figure.colorbar(ax.imshow(table_by_two_loops(length, d_model), cmap="viridis"), ax=ax)
    return labelled(ax)
""", slow=LOOPS)
BY_PCOLORMESH = """
    ax = axes_or_new(ax)
    mesh = ax.pcolormesh(table_by_numpy(length, d_model).numpy(), cmap="coolwarm")
    ax.set_xlim(0, d_model)
    ax.set_ylim(length, 0)
    plt.colorbar(mesh, ax=ax, orientation="horizontal")
    return labelled(ax)
"""
right("picture_by_pcolormesh", BY_PCOLORMESH)
right("picture_by_pcolormesh_with_places", """
    ax = axes_or_new(ax)
    mesh = ax.pcolormesh(range(d_model), range(length), table_by_where(length, d_model), shading="nearest")
    ax.invert_yaxis()
    ax.get_figure().colorbar(mesh)
    return labelled(ax)
""")
right("picture_by_matshow", """
    ax = axes_or_new(ax)
    image = ax.matshow(table_by_shifted_sines(length, d_model), aspect="auto")
    ax.figure.colorbar(image, cax=ax.inset_axes([1.05, 0, 0.05, 1]))
    return labelled(ax)
""")
right("picture_by_current_axes_made_the_given_ones", """
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
""")
right("picture_as_a_heat_map_with_lines", """
    ax = plt.figure().gca() if ax is None else ax
    mesh = ax.pcolormesh(table_by_exp_and_log(length, d_model), edgecolors="w", linewidth=0.1)
    ax.set(xticks=np.arange(d_model) + 0.5, yticks=np.arange(length) + 0.5, ylim=(length, 0))
    ax.set(xticklabels=range(d_model), yticklabels=range(length))
    ax.figure.colorbar(mesh, ax=ax)
    return labelled(ax)
""")
right("picture_from_below_with_the_axis_turned", """
    ax = axes_or_new(ax)
    ax.imshow(table_by_two_loops(length, d_model), origin="lower", interpolation="nearest")
    ax.yaxis.set_inverted(True)
    ax.figure.colorbar(ScalarMappable(Normalize(-1, 1)), ax=ax)
    return labelled(ax)
""")
right("picture_with_whole_numbers_at_the_edges", """
    ax = plt.figure(layout="constrained").add_subplot() if ax is None else ax
    image = ax.imshow(table_by_numpy(length, d_model), extent=(0, d_model, length, 0))
    ax.xaxis.tick_top()
    ax.figure.colorbar(image, ax=ax, location="bottom")
    return labelled(ax)
""")
right("picture_with_labels_that_say_more", BY_PCOLORMESH.replace("return labelled(ax)", """
    ax.set(xlabel="dimension of the position's vector", ylabel="position in the sentence")
    return ax"""))
right("picture_by_pcolormesh_on_the_current_axes_of_a_new_figure", """
    if ax is None:
        plt.figure()
        ax = plt.gca()
    edges = np.arange(d_model + 1) - 0.5, np.arange(length + 1) - 0.5
    mesh = ax.pcolormesh(*edges, table_by_numpy(length, d_model).numpy())
    ax.invert_yaxis()
    plt.colorbar(mesh, ax=ax)
    return labelled(ax)
""")
right("picture_by_pcolormesh_with_edges", """
    ax = axes_or_new(ax)
    x, y = np.arange(d_model + 1) - 0.5, np.arange(length + 1) - 0.5
    mesh = ax.pcolormesh(x, y, table_by_numpy(length, d_model).numpy(), shading="flat")
    ax.set_ylim(length - 0.5, -0.5)
    ax.figure.colorbar(mesh, ax=ax)
    return labelled(ax)
""")
# column d is the cell that has x = d within its edges
right("picture_from_the_first_to_the_last_number", """
    ax = axes_or_new(ax)
    image = ax.imshow(table_by_numpy(length, d_model), extent=(0, d_model - 1, length - 1, 0), aspect="auto")
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)
""")
right("picture_by_pcolor_with_a_grid", """
    ax = axes_or_new(ax)
    x, y = np.meshgrid(np.arange(d_model + 1), np.arange(length + 1))
    mesh = ax.pcolor(x, y, table_by_where(length, d_model), cmap="RdBu", vmin=-1.5, vmax=1.5)
    ax.set_ylim(ax.get_ylim()[::-1])
    ax.figure.colorbar(mesh, ax=ax, label="value")
    return labelled(ax)
""")
right("picture_with_ten_colours_and_half_transparent", """
    ax = axes_or_new(ax)
    colours = plt.get_cmap("coolwarm", 10)
    image = ax.imshow(table_by_numpy(length, d_model), cmap=colours, alpha=0.6, aspect="auto")
    ax.grid(True)
    ax.figure.colorbar(image, ax=ax)
    return labelled(ax)
""")
right("picture_with_a_number_on_each_cell", """
    ax = drawn(length, d_model, ax)
    for place, number in np.ndenumerate(table_by_numpy(length, d_model).numpy()[:, :20]):
        ax.text(place[1], place[0], f"{number:.1f}", ha="center", va="center", fontsize=5)
    return ax
""")
right("picture_by_products", "return of_cells(table_by_products(length, d_model), ax, aspect='auto')", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("picture_by_pcolormesh_upwards", """
    ax = axes_or_new(ax)
    plt.colorbar(ax.pcolormesh(table_by_two_loops(length, d_model)), ax=ax)
    return labelled(ax)
""", named="position axis not inverted")
wrong("picture_as_printed", """
    plt.figure(figsize=(12, 8))
    plt.pcolormesh(table_by_two_loops(length, 512), cmap="viridis")
    plt.xlabel("Dimensions")
    plt.xlim((0, 512))
    plt.ylim((length, 0))
    plt.ylabel("Positions")
    plt.colorbar()
    plt.show()
    return None
""", named="shown on a figure of its own")
THE_PICTURE = "the picture, not its numbers"
ON_IT = "ax = drawn(length, d_model, ax); {}; return ax"
for called, change in {
    "picture_with_colours_up_to_a_half": "ax.images[0].set_clim(-0.5, 0.5)",
    "picture_in_two_colours": "ax.images[0].set_cmap(plt.get_cmap('bwr', 2))",
    "picture_that_is_transparent": "ax.images[0].set_alpha(0.0)",
}.items():
    wrong(called, ON_IT.format(change), named="numbers that differ share one colour")
for called, change in {
    "picture_with_one_label": "ax.set_ylabel('')",
    "picture_with_smooth_colours": "ax.images[0].set_interpolation('bicubic')",
    "picture_with_places_from_one": "ax.images[0].set_extent((0.5, d_model + 0.5, length + 0.5, 0.5))",
    "picture_in_shares_of_one": "ax.images[0].set_extent((0, 1, 1, 0))",
    "picture_cut_from_below": "ax.set_ylim(length // 2, -0.5)",
}.items():
    wrong(called, ON_IT.format(change), told=THE_PICTURE)
wrong("picture_without_axes", ON_IT.format("ax.set_axis_off()"), named="axes not labelled")
wrong("picture_with_its_figure_returned", "return drawn(length, d_model, ax).figure", named="Axes not returned")
wrong("picture_with_its_colour_bar_returned", "return drawn(length, d_model, ax).images[0].colorbar.ax",
      named="Axes not returned")
wrong("picture_in_whatever_figure_is_open", "return drawn(length, d_model, ax or plt.gca())", told=THE_PICTURE)
wrong("picture_of_the_first_dimensions", "return drawn(length, min(d_model, 6), ax)",
      told="other numbers in the picture")
wrong("picture_with_tight_limits", BY_PCOLORMESH.replace("(length, 0)", "(length - 1, 0)"), told=THE_PICTURE)
wrong("picture_of_curves", """
    ax = axes_or_new(ax)
    ax.plot(table_by_two_loops(length, d_model))
    return labelled(ax)
""", told="no cells")
for called, numbers, told in (
    ("picture_of_other_numbers", "table_by_two_loops(length, d_model).abs()", "right in part"),
    ("picture_of_doubled_numbers", "2 * table_by_two_loops(length, d_model)", "wrong by a constant factor"),
    ("picture_of_rounded_numbers", "table_by_two_loops(length, d_model).numpy().round(2)", "rounded"),
    ("picture_of_negative_numbers", "-table_by_two_loops(length, d_model)", "wrong by a constant factor"),
    ("picture_without_the_first_word", "table_by_two_loops(length + 1, d_model)[1:]", "other numbers in the picture"),
    ("picture_of_random_numbers", "torch.rand(length, d_model)", "other numbers in the picture"),
):
    wrong(called, f"return of_cells({numbers}, ax)", told=told)
wrong("picture_beside_an_empty_figure", "plt.figure(figsize=(12, 8)); return drawn(length, d_model, axes_or_new(ax))",
      told=THE_PICTURE)
wrong("picture_with_the_colour_bar_elsewhere", """
    ax = drawn(length, d_model, ax, bar=False)
    other = plt.figure()
    other.colorbar(ax.images[0], cax=other.subplots())
    return ax
""", told=THE_PICTURE)
wrong("picture_on_the_first_call_only", "return drawn(length, d_model, ax) if length == 3 else axes_or_new(ax)",
      told="no cells")
wrong("picture_turned_round_without_a_bar_and_shown", """
    ax = drawn(length, d_model, ax, turned=True, bar=False)
    plt.show()
    return ax
""", told="axes exchanged")
