# ---
# jupyter:
#   course:
#     lecture: 06_positional_encoding
#     minutes: 70
#     summary: the table of sinusoids, a module that adds it to words, and a picture of it
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 6: positional encoding
#
# Attention does not see where a word is. In [lecture 6](../../lectures/06_positional_encoding.ipynb) a vector for
# each position was added to the words. Here you compute these vectors, build the module that adds them, and draw
# them, so that you can see with your own eyes what the formula says.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `positional_encoding` | 4 | 25 min | ●●○ medium |
# | 2 | `PositionalEncoding` | 5 | 25 min | ●●○ medium |
# | 3 | `visualize_positional_encodings` | 3 | 20 min | ●○○ easy |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other lengths, odd widths, batches, `float64`, gradients, and train and eval mode.
#   Your points are decided later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right. You may use loops, broadcasting, and helper functions in cells
#   of your own.
# - In all three parts everything in `course_utils` except `signoff` is barred, because it contains the answer.
#   Nothing else is.
# - A function never changes its inputs, and nothing is remembered from one call to the next.
# - A later part may call `positional_encoding` by its name. If yours is wrong, the later part does not fail with
#   it, because it is decided with our version of it.

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn

# %% [markdown]
# ## 1. The table
#
# Row $pos$ of the table is the vector of position $pos$. Its columns come in pairs, each a sine and the cosine of
# the *same* angle. From pair to pair the angle grows more slowly with the position:
#
# $$PE_{pos,\,2k} = \sin\!\left(\frac{pos}{10000^{2k/d_\text{model}}}\right) \qquad
# PE_{pos,\,2k+1} = \cos\!\left(\frac{pos}{10000^{2k/d_\text{model}}}\right)$$
#
# | symbol | meaning | runs over |
# |---|---|---|
# | $pos$ | position, a row of the table | $0, 1, \dots, \text{length} - 1$ |
# | $k$ | number of a pair of columns: columns $2k$ and $2k+1$ | $0, 1, 2, \dots$ while there are columns |
# | $d_\text{model}$ | number of columns | |
#
# **Write** `positional_encoding(length, d_model)`, which returns a tensor of shape `(length, d_model)`.
#
# - `length` and `d_model` are whole numbers, 1 or more.
# - `d_model` may be **odd**. Then the last column is a sine without its cosine. The formula stays as it is, so
#   the exponent divides by $d_\text{model}$ itself and not by the next even number.
# - The result is `float32`, whatever you compute with.
# - At positions in the thousands, two right formulas differ in the fourth digit when they compute in `float32`,
#   so differences of up to 0.001 are forgiven there.
#
# **By hand.** For $d_\text{model} = 4$ the angles of pair 0 are $pos / 1$ and those of pair 1 are $pos /
# 10000^{2/4} = pos / 100$:
#
# | position | column 0 | column 1 | column 2 | column 3 |
# |--:|--:|--:|--:|--:|
# | 0 | $\sin 0 = 0$ | $\cos 0 = 1$ | $\sin 0 = 0$ | $\cos 0 = 1$ |
# | 1 | $\sin 1 = 0.841$ | $\cos 1 = 0.540$ | $\sin 0.01 = 0.010$ | $\cos 0.01 = 1.000$ |
#
# For $d_\text{model} = 3$ the last column has the angle $pos / 10000^{2/3} = pos / 464.2$, so row 1 is
# $0.841,\ 0.540,\ 0.00215$.
#
# <details><summary>Hint</summary>
#
# All angles at once are a column of positions, of shape `(length, 1)`, divided by a row of numbers, one for each
# pair, because broadcasting makes a table `(length, number of pairs)` of the two. Then put sines and cosines into
# every second column of an empty tensor, which a slice `start::2` selects. Count the pairs for an odd width. How
# many sines are there, and how many cosines? Two nested loops are right as well.
#
# </details>


# %% solution="positional_encoding"
def positional_encoding(length, d_model):
    """Sinusoidal encodings: (length, d_model) float32 tensor, row pos is the vector of position pos."""
    ### BEGIN SOLUTION
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (length, 1)
    twice_k = torch.arange(0, d_model, 2, dtype=torch.float64)  # (pairs,)
    angles = positions / 10000 ** (twice_k / d_model)  # (length, pairs)
    table = torch.empty(length, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()[:, : d_model // 2]  # an odd width has one cosine less
    return table
    ### END SOLUTION


# %% test="positional_encoding"
def test_positional_encoding():
    table = positional_encoding(2, 4)
    assert table.dtype == torch.float32
    assert torch.allclose(table[0], torch.tensor([0.0, 1.0, 0.0, 1.0]), atol=1e-4)
    assert torch.allclose(table[1], torch.tensor([0.8415, 0.5403, 0.0100, 0.9999]), atol=1e-4)
    odd = positional_encoding(2, 3)
    assert odd.shape == (2, 3)
    assert torch.allclose(odd[1], torch.tensor([0.8415, 0.5403, 0.00215]), atol=1e-4)


check("positional_encoding")

# %% check="positional_encoding"

# %% [markdown]
# ## 2. The module
#
# A transformer adds the vector of its position to every word, once, before the first layer:
#
# $$\text{output}_{b,t} = \operatorname{dropout}\left(x_{b,t} + PE_t\right)
# \qquad b = 0, \dots, B - 1, \quad t = 0, \dots, T - 1$$
#
# The table is the same for every sentence and does not change while the network learns. So it is computed once,
# when the module is made, for the longest sentence that may ever come, which has `max_len` positions. It is kept
# as a **buffer**. A buffer moves with the module to another device or dtype, as parameters do, but it is not a
# parameter, so no optimizer changes it.
#
# **Write** the class `PositionalEncoding(d_model, dropout=0.1, max_len=5000)`, an `nn.Module`:
#
# | tensor | shape | what it is |
# |---|---|---|
# | buffer `pe` | free, for instance `(max_len, d_model)` | the table of part 1 |
# | `x` | `(B, T, d_model)` | words, with the sentence's length $T$ on axis 1 |
# | result of `forward(x)` | `(B, T, d_model)` | dropout of the sum |
#
# - The module has no parameters. Whether `pe` is saved with it (`persistent`) is up to you.
# - Dropout acts on the **sum**, in train mode only. Each entry on its own becomes 0 with the probability
#   `dropout`, and what is left is divided by `1 - dropout`, which is what PyTorch's dropout does. In eval mode
#   nothing is dropped.
# - If $T$ is greater than `max_len`, `forward` raises a `ValueError`. $T$ equal to `max_len` is fine. A message
#   that names both numbers helps its reader, but its words are not graded.
# - The result has the dtype and the device of `x`, and gradients flow from it back to `x`. The dtype is
#   `float32`, or `float64` after `module.double()`. (A table that NumPy computed is `float64`, and would make
#   every sum `float64`.)
# - `x` itself stays as it was, and may have any strides.
#
# **By hand.** With $d_\text{model} = 2$ and no dropout, a sentence of two words that are zero becomes $(0, 1)$
# and $(\sin 1, \cos 1) = (0.841, 0.540)$, and so does every other such sentence of the batch.
#
# <details><summary>Hint</summary>
#
# `self.register_buffer(name, tensor)` makes a buffer, which is then an attribute of this name. `nn.Dropout` knows
# on its own whether the module is in train or eval mode. If you take the first $T$ rows of the table,
# broadcasting adds them to every sentence of the batch. Which axis of `x` tells you $T$?
#
# </details>


# %% solution="PositionalEncoding"
class PositionalEncoding(nn.Module):
    """Adds to each word the vector of its position, then applies dropout."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        ### BEGIN SOLUTION
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", positional_encoding(max_len, d_model))  # (max_len, D)
        ### END SOLUTION

    def forward(self, x):
        """x (B, T, d_model) -> (B, T, d_model); ValueError if T is greater than max_len."""
        ### BEGIN SOLUTION
        length, max_len = x.shape[1], len(self.pe)
        if length > max_len:
            raise ValueError(f"{length} words, but the table ends after max_len = {max_len}")
        return self.dropout(x + self.pe[:length])  # (B, T, D) + (T, D)
        ### END SOLUTION


# %% test="PositionalEncoding"
def test_PositionalEncoding():
    module = PositionalEncoding(2, dropout=0.0, max_len=7)
    output = module(torch.zeros(3, 2, 2))  # three sentences of two words
    expected = torch.tensor([[0.0, 1.0], [0.8415, 0.5403]])
    assert output.shape == (3, 2, 2)
    assert torch.allclose(output, expected.expand(3, 2, 2), atol=1e-4)
    assert "pe" in dict(module.named_buffers()) and not list(module.parameters())


check("PositionalEncoding")

# %% check="PositionalEncoding"

# %% [markdown]
# ## 3. The picture
#
# A table of numbers is hard to read, and a wrong one looks like a right one. In a picture you see the waves, and
# you see at once when they are wrong.
#
# You may have seen a function for this that sets the width to 512 once and for all, opens a figure, shows it, and
# returns nothing. That is fine for one look. But nobody can put its picture next to another one, add a title to
# it, or test it. Yours can do all this, because it draws on an Axes that the caller may choose, and returns it.
#
# **Write** `visualize_positional_encodings(length, d_model=512, ax=None)`, which returns the matplotlib `Axes`
# with the picture of `positional_encoding(length, d_model)`. You may call that function.
#
# | what | how |
# |---|---|
# | cells | one for each number, its colour says which number; each can be seen as a whole, and none is blurred into its neighbours |
# | x axis | dimension: column $d$ of the table stands at $x = d$ (or between $d$ and $d + 1$, as `pcolormesh` puts it) |
# | y axis | position: row $p$ stands at $y = p$ (or between $p$ and $p + 1$), **position 0 on top** |
# | labels | one on each axis, which says what runs along it, in words of your choice |
# | colour bar | says which colour is which number |
# | `ax` | the `Axes` to draw on. If it is `None`, make a new figure by `plt`, even if another one is open |
#
# - Draw with `imshow`, `matshow`, `pcolormesh` or `pcolor`, and hand over the numbers themselves and not colours
#   that you computed from them, because the grader reads the numbers off the cells.
# - The function opens no other figure (none at all if `ax` is given), closes none, and does not call `show`, which
#   is up to the caller.
# - The colours and the shape of the cells are free and are not graded. The values run from $-1$ to $1$, so think
#   about colours in which zero can be recognised.
#
# **By hand.** `visualize_positional_encodings(3, 4)` has 3 rows of 4 cells. The top row is the vector of position
# 0 and shows $0, 1, 0, 1$.
#
# <details><summary>Hint</summary>
#
# `ax.imshow` and `ax.pcolormesh` both draw a table of numbers as cells, but one of them counts rows downwards and
# the other upwards. Both return what a colour bar is made from, as in `ax.figure.colorbar(…, ax=ax)`. Functions
# such as `plt.imshow` and `plt.xlabel` draw on the Axes that happens to be current, whereas methods of `ax` draw
# on this one. `plt.subplots()` makes a figure and an Axes.
#
# </details>


# %% solution="visualize_positional_encodings"
def visualize_positional_encodings(length, d_model=512, ax=None):
    """Draw the table, dimensions to the right and positions downwards; returns the Axes."""
    ### BEGIN SOLUTION
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4.5))
    table = positional_encoding(length, d_model).numpy()
    cells = ax.imshow(table, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set(xlabel="dimension", ylabel="position")
    ax.figure.colorbar(cells, ax=ax, label="value")
    return ax
    ### END SOLUTION


# %% test="visualize_positional_encodings"
def test_visualize_positional_encodings():
    figure, ax = plt.subplots()
    returned = visualize_positional_encodings(3, 4, ax)
    plt.close(figure)  # the picture itself comes further down
    cells = [*ax.images, *ax.collections][0]
    lower, upper = ax.get_ylim()
    assert returned is ax
    assert cells.get_array().size == 12  # 3 rows of 4 cells
    assert lower > upper  # position 0 is on top
    assert ax.get_xlabel() and ax.get_ylabel()


check("visualize_positional_encodings")

# %% check="visualize_positional_encodings"

# %% [markdown]
# Run the next cell and look at your picture. On the left the waves are short, and on the right they are so long
# that the columns hardly change. These are the fast and the slow hands of lecture 6's clocks. Which is the first
# column that does not finish one wave?
#
# <details><summary>Answer</summary>
#
# Columns $2k$ and $2k + 1$ need $2\pi \cdot 10000^{2k/64}$ positions for one wave. For $k = 7$ these are 47
# positions and for $k = 8$ they are 63, three more than the picture has. So it is column 16, a quarter of the way
# to the right, and every column beyond it is slower still.
#
# </details>

# %%
try:
    visualize_positional_encodings(60, 64)
    plt.show()
except NotImplementedError as error:
    print(f"{error}: the picture comes when part 3 is written")

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a6_positional_encoding.ipynb`. You find
# it in `workspace/exercises/a6_positional_encoding/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
