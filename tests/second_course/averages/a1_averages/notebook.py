# ---
# jupyter:
#   course:
#     minutes: 15
#     summary: moving averages and standardised columns
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Averages
#
# **Write** `moving_average(x, window)`, the mean of each `window` neighbours in a series `x`.

# %%
import torch


# %% solution="moving_average"
def moving_average(x, window):
    ### BEGIN SOLUTION
    return x.unfold(0, window, 1).mean(dim=-1)
    ### END SOLUTION


# %% test="moving_average"
def test_moving_average():
    assert moving_average(torch.tensor([1.0, 3.0, 8.0]), 2).tolist() == [2, 5.5]


check("moving_average")

# %% check="moving_average"

# %% [markdown]
# **Write** `standardise(x)`, in which each column of `x` has mean 0 and standard deviation 1.


# %% solution="standardise"
def standardise(x):
    ### BEGIN SOLUTION
    return (x - x.mean(dim=0)) / x.std(dim=0)
    ### END SOLUTION


# %% test="standardise"
def test_standardise():
    assert standardise(torch.tensor([[1.0], [3.0]])).abs().allclose(torch.tensor(0.5).sqrt())


check("standardise")

# %% check="standardise"
