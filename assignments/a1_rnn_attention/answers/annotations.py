"""Answers to `annotations`."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.rubric import ORDER, OWN_STATES, annotate
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, annotate,
    """
    def annotations(forward_states, backward_states):
        in_order = backward_states.flip(1)  # first word first
        joined = torch.cat([forward_states, in_order], dim=-1)
        return joined
    """,
    torch=torch, F=F, np=np,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("backward states not reversed", "in_order = backward_states", OWN_STATES,
     "You join the two lists as they come. The backward network starts at the last word, so its first state belongs "
     "to which word? Compare with the example.",
     published=("d2l-ai/d2l-en#2306", "The backward states are joined last word first, as the RNN gave them."))
slip("batch reversed", "in_order = backward_states.flip(0)", OWN_STATES,
     "You turn the order of the sentences round, so each gets the backward states of another. Which of the three axes "
     "holds the words?")
slip("features reversed", "in_order = backward_states.flip(2)", OWN_STATES,
     "You turn the entries of each state round, and the states stay where they were. Which of the three axes holds "
     "the words?")
slip("words and features reversed", "in_order = backward_states.flip(1, 2)", OWN_STATES,
     "The words are in order, but the entries of each backward state are turned round, too. One axis is enough, that "
     "of the words.")
slip("words and batch reversed", "in_order = backward_states.flip(0, 1)", OWN_STATES,
     "The words are in order, but the order of the sentences is turned round as well, so each gets the backward "
     "states of another. One axis is enough, that of the words.")
slip("all axes reversed", "in_order = backward_states.flip(0, 1, 2)", OWN_STATES,
     "You turn every axis round, even the sentences and the entries of each state. One axis is enough, that of the "
     "words.")
slip("backward states one word off", "in_order = backward_states{turned}.roll({shift}, dims=1)", OWN_STATES,
     "Your backward states are moved by one place, and one of them comes out at the other end. Which state did the "
     "backward network produce first, and which word is it at? Follow your index at the first and at the last word.",
     each={"turned": (".flip(1)", ".flip(1)", "", ""), "shift": (1, -1, 1, -1)})
slip("one backward state for all words",
     "in_order = backward_states[:, {place}].unsqueeze(1).expand_as(backward_states)", OWN_STATES,
     "Every word gets the same backward state. Each has one of its own, which has read the word and all that follow "
     "it.",
     each={"place": (0, -1)})
slip("negative step", "in_order = backward_states[:, ::-1]", OWN_STATES,
     "Lists and NumPy arrays can be read with a step of -1; PyTorch tensors cannot, and stop with a ValueError. Which "
     "method of a tensor turns an axis round?",
     costs_more="it stops with an error, always")
slip("both directions reversed", "forward_states = forward_states.flip(1)", OWN_STATES,
     "You turn both lists round. The forward network read the first word first, so its list already is in the order "
     "of the words. And the other one?")
slip("forward states twice", "joined = torch.cat([forward_states, forward_states{turned}], dim=-1)", OWN_STATES,
     "Both halves of your annotations come from the forward network, so no word knows what follows it. What is "
     "`backward_states` for?",
     each={"turned": ("", ".flip(1)")},
     published=("ematvey/tensorflow-seq2seq-tutorials#1", "The forward states are joined with themselves."))
slip("backward states first", "joined = torch.cat([in_order, forward_states], dim=-1)", ORDER,
     "Both states of a word are its own, but the backward one comes first. The annotation is [forward; backward].")
slip("joined along the words", "joined = torch.cat([forward_states, in_order], dim=1)", ORDER,
     "Your result is (B, 2S, d_h), with twice as many words. The number of words stays, and each word's vector gets "
     "wider. Which axis holds the features?")
slip("joined along the batch", "joined = torch.cat([forward_states, in_order], dim=0)", ORDER,
     "Your result is (2B, S, d_h), with twice as many sentences. Each word's vector gets wider instead. Which axis "
     "holds the features?")
slip("joined along the words and cut anew",
     "joined = torch.cat([forward_states, in_order], dim=1).reshape(*forward_states.shape[:2], -1)", ORDER,
     "The shape is right, but you join along the words and then cut the result anew, so that two words that stand "
     "side by side share a vector. Which axis holds the features?")
slip("states added", "joined = {blend}", ORDER,
     "You add or multiply the two states of a word, or take their mean. Side by side they keep apart what came before "
     "the word and what comes after it, in the shape (B, S, 2d_h).",
     each={"blend": ("forward_states + in_order", "forward_states * in_order", "(forward_states + in_order) / 2")})
slip("states stacked", "joined = torch.stack([forward_states, in_order], dim=2)", ORDER,
     "The right states are paired, but in an axis of their own, (B, S, 2, d_h). An annotation is one vector of width "
     "2d_h.")
slip("states stacked", "joined = torch.stack([forward_states, in_order], dim={place})", ORDER,
     "The right states are paired, but `stack` gives them an axis of their own, of length 2. An annotation is one "
     "vector of width 2d_h. Which function makes an axis longer instead?",
     each={"place": (0, 1, 3)})
slip("entries of the two states in turns", "joined = torch.stack([forward_states, in_order], dim=-1).flatten(2)", ORDER,
     "You take entry 0 of both states, then entry 1 of both. The whole forward state comes first, then the whole "
     "backward state.")
slip("states not joined", "joined = forward_states, in_order", ORDER,
     "Both lists are in order, but they are still two. The result is one tensor (B, S, 2d_h).")
slip("a list of sentences", "joined = tuple(torch.cat([forward_states, in_order], dim=-1))", ORDER,
     "The annotations are right, but they come in a list, with a tensor for each sentence. Which function makes one "
     "tensor of them, with a new axis in front?")
slip("one direction alone", "joined = {alone}", (),
     "Your result is (B, S, d_h), because it holds the states of one network alone. A word's annotation has both of "
     "its states side by side, in the shape (B, S, 2d_h).",
     each={"alone": ("forward_states", "in_order")}, costs_more="nothing is joined")
slip("the {which} word left at 0", """
    joined = torch.cat([forward_states, in_order], dim=-1)
    joined[:, {place}] = 0.0
    return joined
""", ORDER,
     "Your annotation of the {which} word is 0 throughout, and all others are right. Which words does your loop go "
     "through? `range(S)` counts from 0 to S − 1.",
     each={"place": (-1, 0), "which": ("last", "first")})
slip("words in front of sentences", "joined = torch.cat([forward_states, in_order], dim=-1).transpose(0, 1)", ORDER,
     "Your result is (S, B, 2d_h), because the axes of sentences and words have changed places. The sentences stay in "
     "front, (B, S, 2d_h).")
slip("forward states reversed", "forward_states = forward_states.flip(1); in_order = backward_states", OWN_STATES,
     "You turn the forward states round, so your first annotation belongs to the last word. Which of the two networks "
     "read the last word first?")
AS_IT_COMES = "forward_states = forward_states"  # an edit, so that it goes with no turn of them
slip("backward states first and not reversed",
     f"{AS_IT_COMES}; joined = torch.cat([backward_states, forward_states], dim=-1)", (ORDER, OWN_STATES),
     "The annotation is [forward; backward], in this order. And the backward network starts at the last word, so its "
     "first state belongs to which word?",
     costs_more="two slips: order, and direction")
slip("joined along the {which}",
     f"{AS_IT_COMES}; joined = torch.cat([forward_states, backward_states], dim={{axis}})", (ORDER, OWN_STATES),
     "Two things are wrong, because your lists are joined as they come, and along another axis than that of the "
     "features. The backward network starts at the last word, and in the result each word's vector gets wider, "
     "(B, S, 2d_h).",
     each={"axis": (1, 0), "which": ("words", "batch")}, costs_more="where the lists are not turned round either")

right = ANSWERS.right
right("joined_by_padding", """
    width = forward_states.shape[-1]
    joined = F.pad(forward_states, (0, width)) + F.pad(backward_states.flip(-2), (width, 0))
""")
right("joined_by_flip", "return torch.concat((forward_states, torch.flip(backward_states, [1])), 2)")
right("joined_by_index", "in_order = backward_states[:, torch.arange(backward_states.shape[1] - 1, -1, -1)]")
right("joined_by_loops", """
    sentences = []
    for forward, backward in zip(forward_states, backward_states, strict=True):
        last = len(forward) - 1
        sentences.append(torch.stack([torch.cat([forward[j], backward[last - j]]) for j in range(last + 1)]))
    return torch.stack(sentences)
""")
right("joined_by_filling", """
    batch, length, width = forward_states.shape
    result = forward_states.new_zeros(batch, length, 2 * width)
    result[..., :width] = forward_states
    for j in range(length):
        result[:, j, width:] = backward_states[:, -1 - j]
    return result
""")
right("joined_by_unbind", """
    in_order = torch.stack(list(reversed(backward_states.unbind(dim=1))), dim=1)
    joined = torch.dstack([forward_states, in_order])
""")
right("joined_by_a_permutation_matrix", """
    turn = torch.eye(backward_states.shape[1], dtype=backward_states.dtype).fliplr()
    in_order = torch.einsum("st,bth->bsh", turn, backward_states)
""")
right("joined_by_fliplr", "return torch.stack([forward_states, backward_states.fliplr()], dim=2).flatten(2)")
right("joined_by_gather", """
    _, length, _ = backward_states.shape
    index = (length - 1 - torch.arange(length))[None, :, None].expand_as(backward_states)
    in_order = backward_states.gather(1, index)
""")
right("joined_by_einsum_and_scatter", """
    batch, length, width = forward_states.shape
    result = forward_states.new_empty(batch, length, 2 * width)
    result[:, :, :width] = forward_states
    for j in range(length):
        result[:, length - 1 - j, width:] = backward_states[:, j]
    return result
""")
right("joined_by_take_along", """
    order = torch.arange(backward_states.size(1) - 1, -1, -1)
    in_order = torch.index_select(backward_states, 1, order)
""")
right("joined_by_stack_and_reshape", """
    pairs = torch.stack((forward_states, torch.flip(backward_states, dims=(-2,))), dim=2)
    return pairs.reshape(*forward_states.shape[:2], -1)
""")
right("joined_sentence_after_sentence", """
    pairs = zip(forward_states, backward_states, strict=True)
    return torch.stack([torch.hstack((one, other.flipud())) for one, other in pairs])
""")
right("joined_by_reversing_a_list", """
    columns = list(backward_states.split(1, dim=1))
    columns.reverse()
    in_order = torch.cat(columns, dim=1)
""")
right("joined_by_vmap", """
    one_sentence = lambda forward, backward: torch.cat([forward, backward.flip(0)], dim=-1)
    return torch.func.vmap(one_sentence)(forward_states, backward_states)
""")
right("joined_number_by_number", """
    B, S, h = forward_states.shape
    sentences = []
    for b in range(B):
        words = []
        for j in range(S):
            numbers = []
            for k in range(h):
                numbers.append(forward_states[b, j, k])
            for k in range(h):
                numbers.append(backward_states[b, S - 1 - j, k])
            words.append(torch.stack(numbers))
        sentences.append(torch.stack(words))
    return torch.stack(sentences)
""", slow=LOOPS)
right("joined_by_products", """
    _, S, h = forward_states.shape
    turned = torch.eye(S, dtype=backward_states.dtype).flip(0)
    both = torch.eye(2 * h, dtype=backward_states.dtype)
    wide = torch.einsum("bsh,hk->bsk", forward_states, both[:h])
    return wide + torch.einsum("st,bth,hk->bsk", turned, backward_states, both[h:])
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("joined_with_ends_swapped", """
    in_order = backward_states.clone()
    in_order[:, [0, -1]] = in_order[:, [-1, 0]]
    return torch.cat([forward_states, in_order], dim=-1)
""", told="right in part")
wrong("joined_for_one_sentence", "return joined[:1].expand(joined.shape)", told="in another order")
wrong("joined_for_three_words", "in_order = backward_states[:, [2, 1, 0]]", told="stops with RuntimeError")
wrong("joined_for_square_states", "in_order = torch.eye(backward_states.shape[2]).flip(0) @ backward_states",
      told="stops with RuntimeError")
wrong("joined_for_contiguous_states", "in_order = backward_states.view(-1).view(backward_states.shape).flip(1)",
      told=("stops with RuntimeError", "wrong with gaps in memory"))
wrong("joined_from_sums_of_halves",
      "joined = torch.cat([forward_states + in_order, forward_states - in_order], dim=-1)")
wrong("joined_in_place", "backward_states[:] = backward_states.flip(1); in_order = backward_states",
      told="stops with RuntimeError")
wrong("joined_in_numpy", """
    pair = forward_states.detach().numpy(), backward_states.detach().numpy()[:, ::-1]
    return torch.from_numpy(np.concatenate(pair, axis=-1))
""", told=("no gradient", "wrong about gradients"))
wrong("joined_as_an_array", "return joined.detach().numpy()", told="another type")
wrong("joined_and_squeezed", "return joined.squeeze()", told="right numbers in another shape")
wrong("joined_features_first", "return joined.mT", told="axes exchanged")
wrong("joined_by_sorting", "in_order = backward_states.sort(dim=1).values", told="right in part")
wrong("joined_but_for_the_first_word", """
    in_order = torch.zeros_like(backward_states)
    for j in range(1, in_order.shape[1]):
        in_order[:, j] = backward_states[:, -1 - j]
    joined = torch.cat([forward_states, in_order], dim=-1)
""", told="right but for special places")
wrong("joined_by_a_view_as_turned", """
    batch, length, width = backward_states.shape
    in_order = backward_states.reshape(length, batch, width).flip(0).reshape(batch, length, width)
""", told="right in part")
wrong("joined_and_returned_as_a_list", "return joined.tolist()", told="a list of numbers")
wrong("joined_around_each_word", "joined = torch.cat([forward_states[:, :-1], in_order[:, 1:]], dim=-1)")
wrong("joined_up_to_a_hundred_words",
      "forward_states = forward_states[:, :100]; backward_states = backward_states[:, -100:]",
      told="too short or too long")
careless(ANSWERS, one_sentence=None, a_hundred_words=None)  # of the forward states alone
# fmt: on


@BANK.right("annotations")
def joined_word_after_word(forward_states, backward_states):
    first = torch.cat([forward_states[:, :1], backward_states[:, -1:]], dim=-1)
    if forward_states.shape[1] == 1:
        return first
    rest = joined_word_after_word(forward_states[:, 1:], backward_states[:, :-1])
    return torch.cat([first, rest], dim=1)


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
