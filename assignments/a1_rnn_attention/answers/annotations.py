"""Answers to `annotations`."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from assignments.a1_rnn_attention.answers.bank import BANK


@BANK.right("annotations")
def joined_word_after_word(forward_states, backward_states):
    first = torch.cat([forward_states[:, :1], backward_states[:, -1:]], dim=-1)
    if forward_states.shape[1] == 1:
        return first
    rest = joined_word_after_word(forward_states[:, 1:], backward_states[:, :-1])
    return torch.cat([first, rest], dim=1)


@BANK.right("annotations")
def joined_by_padding(forward_states, backward_states):
    width = forward_states.shape[-1]
    return F.pad(forward_states, (0, width)) + F.pad(backward_states.flip(-2), (width, 0))


@BANK.right("annotations")
def joined_by_flip(forward_states, backward_states):
    return torch.concat((forward_states, torch.flip(backward_states, [1])), 2)


@BANK.right("annotations")
def joined_by_index(forward_states, backward_states):
    length = forward_states.shape[1]
    order = torch.arange(length - 1, -1, -1)
    return torch.cat([forward_states, backward_states[:, order]], dim=-1)


@BANK.right("annotations")
def joined_by_loops(forward_states, backward_states):
    sentences = []
    for forward, backward in zip(forward_states, backward_states, strict=True):
        last = len(forward) - 1
        sentences.append(
            torch.stack([torch.cat([forward[j], backward[last - j]]) for j in range(last + 1)])
        )
    return torch.stack(sentences)


@BANK.right("annotations")
def joined_by_filling(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = forward_states.new_zeros(batch, length, 2 * width)
    result[..., :width] = forward_states
    for j in range(length):
        result[:, j, width:] = backward_states[:, -1 - j]
    return result


@BANK.right("annotations")
def joined_by_unbind(forward_states, backward_states):
    backward = torch.stack(list(reversed(backward_states.unbind(dim=1))), dim=1)
    return torch.dstack([forward_states, backward])


@BANK.right("annotations")
def joined_by_a_permutation_matrix(forward_states, backward_states, dim=-1):
    turn = torch.eye(backward_states.shape[1], dtype=backward_states.dtype).fliplr()
    return torch.cat([forward_states, torch.einsum("st,bth->bsh", turn, backward_states)], dim=dim)


@BANK.right("annotations")
def joined_by_fliplr(forward_states, backward_states):
    pair = torch.stack([forward_states, backward_states.fliplr()], dim=2)  # (B, S, 2, h)
    return pair.flatten(2)


@BANK.right("annotations")
def joined_by_gather(forward_states, backward_states):
    _, length, _ = backward_states.shape
    index = (length - 1 - torch.arange(length))[None, :, None].expand_as(backward_states)
    return torch.cat([forward_states, backward_states.gather(1, index)], dim=2)


@BANK.wrong("annotations", named="words and batch reversed")
def joined_with_a_turn_of_two_axes(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.flip(0).flip(1)], dim=-1)


@BANK.wrong("annotations", named="backward states one word off")
def joined_one_word_off(forward_states, backward_states):
    columns = [
        torch.cat([forward_states[:, j], backward_states[:, -j]], dim=-1)
        for j in range(forward_states.shape[1])
    ]
    return torch.stack(columns, dim=1)


@BANK.wrong("annotations", told="too short or too long")
def joined_by_reversed(forward_states, backward_states):
    return torch.cat([forward_states, torch.stack(list(reversed(backward_states)))], dim=-1)[:1]


@BANK.wrong("annotations", told="right in part")
def joined_with_ends_swapped(forward_states, backward_states):
    backward = backward_states.clone()
    backward[:, [0, -1]] = backward[:, [-1, 0]]
    return torch.cat([forward_states, backward], dim=-1)


@BANK.wrong("annotations", told="in another order")
def joined_for_one_sentence(forward_states, backward_states):
    joined = joined_by_flip(forward_states[:1], backward_states[:1])
    return joined.expand(len(forward_states), -1, -1)


@BANK.wrong("annotations", told="stops with RuntimeError")
def joined_for_three_words(forward_states, backward_states):
    return torch.cat([forward_states, backward_states[:, [2, 1, 0]]], dim=-1)


@BANK.wrong("annotations", told="stops with RuntimeError")
def joined_for_square_states(forward_states, backward_states):
    turn = torch.eye(backward_states.shape[2]).flip(0)
    return torch.cat([forward_states, turn @ backward_states], dim=-1)


@BANK.wrong("annotations", told=("stops with RuntimeError", "wrong with gaps in memory"))
def joined_for_contiguous_states(forward_states, backward_states):
    batch, length, width = forward_states.shape
    flat = backward_states.view(batch * length, width).flip(0).view(batch, length, width)
    return torch.cat([forward_states, flat.flip(0)], dim=-1)


@BANK.wrong("annotations")
def joined_from_sums_of_halves(forward_states, backward_states):
    backward = backward_states.flip(1)
    return torch.cat([forward_states + backward, forward_states - backward], dim=-1)


@BANK.wrong(
    "annotations", named="forward states twice", published="ematvey/tensorflow-seq2seq-tutorials#1"
)
def joined_twice_the_forward(forward_states, backward_states):
    """The forward states are joined with themselves."""
    return torch.cat([forward_states, forward_states], dim=-1)


@BANK.wrong("annotations", named="one backward state for all words")
def joined_by_the_first_word(forward_states, backward_states):
    backward = backward_states[:, -1:].expand_as(backward_states)
    return torch.cat([forward_states, backward], dim=-1)


@BANK.wrong("annotations", told="stops with RuntimeError")
def joined_in_place(forward_states, backward_states):
    backward_states[:] = backward_states.flip(1)
    return torch.cat([forward_states, backward_states], dim=-1)


@BANK.wrong("annotations", told=("another dtype", "wrong in float64"))
def joined_in_float32(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = torch.zeros(batch, length, 2 * width)
    result[..., :width], result[..., width:] = forward_states, backward_states.flip(1)
    return result


@BANK.wrong("annotations", told=("no gradient", "wrong about gradients"))
def joined_and_detached(forward_states, backward_states):
    return joined_by_flip(forward_states, backward_states.detach())


@BANK.wrong("annotations", told=("no gradient", "wrong about gradients"))
def joined_in_numpy(forward_states, backward_states):
    pair = forward_states.detach().numpy(), backward_states.detach().numpy()[:, ::-1]
    return torch.from_numpy(np.concatenate(pair, axis=-1))


@BANK.wrong("annotations", told="another type")
def joined_as_an_array(forward_states, backward_states):
    return joined_in_numpy(forward_states, backward_states).numpy()


@BANK.wrong("annotations", told="always one shape")
def joined_as_in_the_example(forward_states, backward_states):
    return torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])


@BANK.wrong("annotations", told="right numbers in another shape")
def joined_and_squeezed(forward_states, backward_states):
    return joined_by_flip(forward_states, backward_states).squeeze()


@BANK.right("annotations")
def joined_by_einsum_and_scatter(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = forward_states.new_empty(batch, length, 2 * width)
    result[:, :, :width] = forward_states
    for j in range(length):
        result[:, length - 1 - j, width:] = backward_states[:, j]
    return result


@BANK.right("annotations")
def joined_by_take_along(forward_states, backward_states):
    order = torch.arange(backward_states.size(1) - 1, -1, -1)
    return torch.concat((forward_states, torch.index_select(backward_states, 1, order)), 2)


@BANK.right("annotations")
def joined_by_stack_and_reshape(forward_states, backward_states):
    pairs = torch.stack((forward_states, torch.flip(backward_states, dims=(-2,))), dim=2)
    return pairs.reshape(*forward_states.shape[:2], -1)


@BANK.right("annotations")
def joined_sentence_after_sentence(forward_states, backward_states):
    return torch.stack(
        [
            torch.hstack((one, other.flipud()))
            for one, other in zip(forward_states, backward_states, strict=True)
        ]
    )


@BANK.right("annotations")
def joined_by_reversing_a_list(forward_states, backward_states):
    columns = list(backward_states.split(1, dim=1))
    columns.reverse()
    return torch.cat((forward_states, torch.cat(columns, dim=1)), dim=-1)


@BANK.wrong("annotations", named="both directions reversed")
def joined_and_then_flipped(forward_states, backward_states):
    return torch.cat([forward_states, backward_states], dim=-1).flip(dims=[1])


@BANK.wrong("annotations", named="words in front of sentences")
def joined_in_time_order(forward_states, backward_states):
    words = zip(forward_states.unbind(1), reversed(backward_states.unbind(1)), strict=True)
    return torch.stack([torch.cat(pair, dim=-1) for pair in words])


@BANK.wrong("annotations", told="axes exchanged")
def joined_features_first(forward_states, backward_states):
    return torch.cat([forward_states.mT, backward_states.flip(1).mT], dim=1)


@BANK.wrong("annotations", told="right in part")
def joined_by_sorting(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.sort(dim=1).values], dim=-1)


@BANK.wrong("annotations", told="right but for special places")
def joined_but_for_the_first_word(forward_states, backward_states):
    backward = torch.zeros_like(backward_states)
    for j in range(1, backward.shape[1]):
        backward[:, j] = backward_states[:, -1 - j]
    return torch.cat([forward_states, backward], dim=-1)


@BANK.wrong("annotations", named="words and features reversed")
def joined_by_rot90(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.rot90(2, (1, 2))], dim=-1)


@BANK.wrong("annotations", told="right in part")
def joined_by_a_view_as_turned(forward_states, backward_states):
    batch, length, width = backward_states.shape
    turned = backward_states.reshape(length, batch, width).flip(0).reshape(batch, length, width)
    return torch.cat([forward_states, turned], dim=-1)


@BANK.wrong("annotations", told="a list of numbers")
def joined_and_returned_as_a_list(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.flip(1)], dim=-1).tolist()


@BANK.wrong("annotations", told="nothing comes back")
def joined_and_printed(forward_states, backward_states):
    torch.cat([forward_states, backward_states.flip(1)], dim=-1)


@BANK.right("annotations")
def joined_by_vmap(forward_states, backward_states):
    def one_sentence(forward, backward):
        return torch.cat([forward, backward.flip(0)], dim=-1)

    return torch.func.vmap(one_sentence)(forward_states, backward_states)


@dataclass
class BothDirections:
    forward: torch.Tensor
    backward: torch.Tensor

    @property
    def annotations(self):
        return torch.cat([self.forward, self.backward.flip(dims=[-2])], dim=-1)


@BANK.right("annotations")
def joined_in_a_property(forward_states, backward_states):
    return BothDirections(forward_states, backward_states).annotations


@BANK.wrong("annotations", named="backward states not reversed")
def joined_with_a_flip_that_is_not_kept(forward_states, backward_states):
    backward_states.flip(1)
    return torch.cat([forward_states, backward_states], dim=-1)


@BANK.wrong("annotations", named="the last word left at 0")
def joined_up_to_the_last_word(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = forward_states.new_zeros(batch, length, 2 * width)
    for j in range(length - 1):
        result[:, j, :width] = forward_states[:, j]
        result[:, j, width:] = backward_states[:, length - 1 - j]
    return result


@BANK.wrong("annotations", named="a list of sentences")
def joined_in_a_list(forward_states, backward_states):
    pairs = zip(forward_states, backward_states.flip(1), strict=True)
    return [torch.cat(pair, dim=-1) for pair in pairs]


@BANK.wrong("annotations", named="one direction alone")
def joined_with_nothing(forward_states, backward_states):
    return backward_states.flip(1)


@BANK.wrong("annotations")
def joined_around_each_word(forward_states, backward_states):
    return torch.cat([forward_states[:, :-1], backward_states.flip(1)[:, 1:]], dim=-1)
