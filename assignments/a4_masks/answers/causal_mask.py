"""Answers to `causal_mask`."""

import numpy as np
import torch

from assignments.a4_masks.answers.bank import BANK


@BANK.right("causal_mask")
def causal_by_tril(size):
    return torch.tril(torch.ones(size, size)).bool()


@BANK.right("causal_mask")
def causal_by_loops(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        for j in range(size):
            if j <= i:
                mask[i, j] = True
    return mask


@BANK.right("causal_mask")
def causal_by_inverting_the_future(size, device=None):
    return ~torch.ones((size, size), dtype=torch.bool, device=device).triu(diagonal=1)


@BANK.right("causal_mask")
def causal_by_lists(size):
    return torch.tensor([[True] * (i + 1) + [False] * (size - i - 1) for i in range(size)])


@BANK.right("causal_mask")
def causal_by_running_sum(size):
    return torch.eye(size).cumsum(dim=0) == 1


@BANK.right("causal_mask")
def causal_by_numpy(size):
    return torch.from_numpy(np.tri(size, dtype=bool))


@BANK.right("causal_mask")
def causal_by_indices(size):
    mask = torch.full((size, size), False)
    rows, columns = torch.tril_indices(size, size)
    mask[rows, columns] = True
    return mask


@BANK.right("causal_mask")
def causal_by_transposing(size):
    return torch.triu(torch.ones(size, size, dtype=torch.bool)).T


@BANK.right("causal_mask")
def causal_by_minus_infinity_and_back(size):
    scores = torch.full((size, size), float("-inf")).triu(1)
    return scores == 0


@BANK.wrong("causal_mask", named="the diagonal hidden")
def causal_strictly_before(size):
    position = torch.arange(size)
    return position[None, :] < position[:, None]


@BANK.wrong("causal_mask", named="upper triangle")
def causal_with_the_axes_swapped(size):
    position = torch.arange(size)
    return position[:, None] <= position[None, :]


@BANK.wrong("causal_mask", named="inverted mask", published="rasbt/LLMs-from-scratch#1061")
def causal_as_multi_head_attention_wants_it(size):
    """True stands above the diagonal, where it hides in another convention."""
    return torch.triu(torch.ones(size, size), diagonal=1) == 1


@BANK.wrong("causal_mask", named="one word of the future visible")
def causal_off_by_one(size):
    return torch.arange(size) <= torch.arange(1, size + 1)[:, None]


@BANK.wrong("causal_mask", named="numbers instead of bool")
def causal_in_floats(size):
    return torch.tril(torch.ones(size, size))


@BANK.wrong("causal_mask", named="whole numbers instead of bool")
def causal_in_bytes(size):
    return torch.ones(size, size, dtype=torch.uint8).tril()


@BANK.wrong(
    "causal_mask", named="minus infinity for hidden", published="harvard-edge/cs249r_book#1785"
)
def causal_to_be_added(size):
    """A mask to be added stands where True and False are expected."""
    return torch.triu(torch.full((size, size), float("-inf")), diagonal=1)


@BANK.wrong("causal_mask", named="minus infinity for hidden")
def causal_to_be_added_with_a_large_number(size):
    return torch.triu(torch.full((size, size), -1e9), diagonal=1)


@BANK.wrong("causal_mask", named="a NumPy array")
def causal_as_numpy(size):
    return np.tri(size, dtype=bool)


@BANK.wrong("causal_mask", named="a list")
def causal_as_a_list(size):
    return causal_by_loops(size).tolist()


@BANK.wrong("causal_mask", told="always one shape")
def causal_of_three(size):
    return torch.tensor([[True, False, False], [True, True, False], [True, True, True]])


@BANK.wrong("causal_mask", told="wrong for larger T")
def causal_up_to_three(size):
    return causal_by_tril(3)[:size, :size]


@BANK.wrong("causal_mask")
def causal_with_positions_in_bytes(size):
    # right up to 128 positions; the next would be -128
    position = torch.arange(size).to(torch.int8)
    return position[None, :] <= position[:, None]


@BANK.wrong("causal_mask", told="the opposite mask, or one that hides too much or too little")
def causal_that_forgets_the_distant_past(size):
    position = torch.arange(size)
    distance = position[:, None] - position[None, :]
    return (distance >= 0) & (distance < 3)


@BANK.wrong("causal_mask", named="triangle in another corner")
def causal_from_the_other_corner(size):
    return causal_by_tril(size).flip(1)


@BANK.wrong("causal_mask", told="too short or too long")
def causal_one_row_short(size):
    return causal_by_tril(size)[1:]


@BANK.wrong("causal_mask", named="nothing hidden")
def causal_all_true(size):
    return torch.full((size, size), True)


@BANK.wrong("causal_mask", named="axes for sentences and heads")
def causal_for_heads(size):
    return causal_by_tril(size).view(1, 1, size, size)


@BANK.wrong("causal_mask", named="axes of length 1 dropped")
def causal_without_axes_of_one(size):
    return causal_by_tril(size).squeeze()


@BANK.wrong("causal_mask", told="nothing comes back")
def causal_printed(size):
    print(causal_by_tril(size))


@BANK.right("causal_mask")
def causal_by_where(size):
    i, j = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.where(j > i, False, True)


@BANK.right("causal_mask")
def causal_by_rows(size):
    mask = torch.zeros((size, size), dtype=torch.bool)
    for row in range(size):
        mask[row, : row + 1] = True
    return mask


@BANK.right("causal_mask")
def causal_by_distances(size):
    place = torch.arange(size)
    return (place.unsqueeze(1) - place).ge(0)


@BANK.wrong("causal_mask", named="a row and a column too many")
def causal_that_counts_to_the_size(size):
    place = torch.arange(size + 1)
    return place[None] <= place[:, None]


@BANK.wrong("causal_mask", named="the past without the first word")
def causal_that_begins_at_one(size):
    mask = torch.eye(size, dtype=torch.bool)
    for row in range(size):
        mask[row, 1 : row + 1] = True
    return mask


@BANK.wrong("causal_mask", named="each word sees itself alone")
def causal_by_equality(size):
    place = torch.arange(size)
    return place == place[:, None]


@BANK.wrong("causal_mask", named="minus infinity for hidden")
def causal_filled_with_a_large_number(size):
    mask = torch.zeros(size, size)
    return mask.masked_fill(torch.ones(size, size).triu(1).bool(), -1e9)


@BANK.right("causal_mask")
def causal_by_vmap(size):
    positions = torch.arange(size)
    return torch.vmap(lambda query: positions <= query)(positions)


@BANK.wrong("causal_mask", named="minus infinity for hidden")
def causal_with_ones_and_minus_infinity(size):
    ones = torch.ones(size, size)
    return ones.tril().masked_fill(ones.triu(1) == 1, -torch.inf)
