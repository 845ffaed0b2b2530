"""`annotations` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a1_rnn_attention.rubric import (
    ORDER,
    OWN_STATES,
    annotate,
)
from autograder.checks.mistakes import Steps, called, costs, costs_more, message, variants


class Joining(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, forward_states, backward_states):
        return self.join(self.forwards(forward_states), self.backwards(backward_states))

    def forwards(self, states):
        return states

    def backwards(self, states):
        return states.flip(1)

    def join(self, forward, backward):
        return torch.cat([forward, backward], dim=-1)


@annotate.mistakes_in(Joining.backwards, costs=OWN_STATES)
class AnnotateBackwards:
    def backward_states_not_reversed(self, states):
        """You join the two lists as they come. The backward network starts at the last word, so its
        first state belongs to which word? Compare with the example."""
        return states

    def batch_reversed(self, states):
        """You turn the order of the sentences round, so each gets the backward states of another.
        Which of the three axes holds the words?"""
        return states.flip(0)

    def features_reversed(self, states):
        """You turn the entries of each state round, and the states stay where they were. Which of
        the three axes holds the words?"""
        return states.flip(2)

    def words_and_features_reversed(self, states):
        """The words are in order, but the entries of each backward state are turned round, too. One
        axis is enough, that of the words."""
        return states.flip(1, 2)

    def words_and_batch_reversed(self, states):
        """The words are in order, but the order of the sentences is turned round as well, so each
        gets the backward states of another. One axis is enough, that of the words."""
        return states.flip(0, 1)

    def all_axes_reversed(self, states):
        """You turn every axis round, even the sentences and the entries of each state. One axis is
        enough, that of the words."""
        return states.flip(0, 1, 2)

    @variants("turned, shift", ((True, 1), (True, -1), (False, 1), (False, -1)))
    def backward_states_one_word_off(self, states, turned, shift):
        """Your backward states are moved by one place, and one of them comes out at the other end.
        Which state did the backward network produce first, and which word is it at? Follow your
        index at the first and at the last word."""
        return (states.flip(1) if turned else states).roll(shift, dims=1)

    @variants("place", (0, -1))
    def one_backward_state_for_all_words(self, states, place):
        """Every word gets the same backward state. Each has one of its own, which has read the word
        and all that follow it."""
        return states[:, place].unsqueeze(1).expand_as(states)

    @costs_more("it stops with an error, always")
    def negative_step(self, states):
        """Lists and NumPy arrays can be read with a step of -1; PyTorch tensors cannot, and stop
        with a ValueError. Which method of a tensor turns an axis round?"""
        raise ValueError("step must be greater than zero")


@annotate.mistakes_in(Joining.forwards, costs=OWN_STATES)
class AnnotateForwards:
    def both_directions_reversed(self, states):
        """You turn both lists round. The forward network read the first word first, so its list
        already is in the order of the words. And the other one?"""
        return states.flip(1)


for turn in ([], [1]):

    @annotate.mistake("forward states twice", costs=OWN_STATES)
    def forward_twice(forward_states, backward_states, turn=turn):
        """Both halves of your annotations come from the forward network, so no word knows what
        follows it. What is `backward_states` for?"""
        return torch.cat([forward_states, forward_states.flip(turn)], dim=-1)


@annotate.mistakes_in(Joining.join, costs=ORDER)
class AnnotateJoin:
    def backward_states_first(self, forward, backward):
        """Both states of a word are its own, but the backward one comes first. The annotation is
        [forward; backward]."""
        return torch.cat([backward, forward], dim=-1)

    def joined_along_the_words(self, forward, backward):
        """Your result is (B, 2S, d_h), with twice as many words. The number of words stays, and
        each word's vector gets wider. Which axis holds the features?"""
        return torch.cat([forward, backward], dim=1)

    def joined_along_the_batch(self, forward, backward):
        """Your result is (2B, S, d_h), with twice as many sentences. Each word's vector gets wider
        instead. Which axis holds the features?"""
        return torch.cat([forward, backward], dim=0)

    def joined_along_the_words_and_cut_anew(self, forward, backward):
        """The shape is right, but you join along the words and then cut the result anew, so that
        two words that stand side by side share a vector. Which axis holds the features?"""
        return torch.cat([forward, backward], dim=1).reshape(*forward.shape[:2], -1)

    @variants("blend", (torch.add, torch.mul, lambda one, other: (one + other) / 2))
    def states_added(self, forward, backward, blend):
        """You add or multiply the two states of a word, or take their mean. Side by side they keep
        apart what came before the word and what comes after it, in the shape (B, S, 2d_h)."""
        return blend(forward, backward)

    def states_stacked(self, forward, backward):
        """The right states are paired, but in an axis of their own, (B, S, 2, d_h). An annotation
        is one vector of width 2d_h."""
        return torch.stack([forward, backward], dim=2)

    @called("states stacked")
    @variants("place", (0, 1, 3))
    def stacked_elsewhere(self, forward, backward, place):
        """The right states are paired, but `stack` gives them an axis of their own, of length 2. An
        annotation is one vector of width 2d_h. Which function makes an axis longer instead?"""
        return torch.stack([forward, backward], dim=place)

    def entries_of_the_two_states_in_turns(self, forward, backward):
        """You take entry 0 of both states, then entry 1 of both. The whole forward state comes
        first, then the whole backward state."""
        return torch.stack([forward, backward], dim=-1).flatten(2)

    def states_not_joined(self, forward, backward):
        """Both lists are in order, but they are still two. The result is one tensor (B, S, 2d_h)."""
        return forward, backward

    def a_list_of_sentences(self, forward, backward):
        """The annotations are right, but they come in a list, with a tensor for each sentence. Which
        function makes one tensor of them, with a new axis in front?"""
        return tuple(torch.cat([forward, backward], dim=-1))

    @costs()
    @costs_more("nothing is joined")
    @variants("place", (0, 1))
    def one_direction_alone(self, forward, backward, place):
        """Your result is (B, S, d_h), because it holds the states of one network alone. A word's
        annotation has both of its states side by side, in the shape (B, S, 2d_h)."""
        return (forward, backward)[place]

    @called("the {which} word left at 0")
    @variants("place, which", ((-1, "last"), (0, "first")))
    def one_word_left_at_0(self, forward, backward, place, which):
        """Your annotation of the {which} word is 0 throughout, and all others are right. Which words
        does your loop go through? `range(S)` counts from 0 to S − 1."""
        joined = torch.cat([forward, backward], dim=-1)
        joined[:, place] = 0.0
        return joined

    def words_in_front_of_sentences(self, forward, backward):
        """Your result is (S, B, 2d_h), because the axes of sentences and words have changed places.
        The sentences stay in front, (B, S, 2d_h)."""
        return torch.cat([forward, backward], dim=-1).transpose(0, 1)


JOINED_AS_THEY_COME = (
    "Two things are wrong, because your lists are joined as they come, and along another axis "
    "than that of the features. The backward network starts at the last word, and in the result "
    "each word's vector gets wider, (B, S, 2d_h)."
)


@annotate.mistakes_in(Joining.answer, costs=OWN_STATES)
class AnnotateAnswer:
    def forward_states_reversed(self, forward_states, backward_states):
        """You turn the forward states round, so your first annotation belongs to the last word.
        Which of the two networks read the last word first?"""
        return self.join(forward_states.flip(1), backward_states)

    @costs(ORDER, OWN_STATES)
    @costs_more("two slips: order, and direction")
    def backward_states_first_and_not_reversed(self, forward_states, backward_states):
        """The annotation is [forward; backward], in this order. And the backward network starts at
        the last word, so its first state belongs to which word?"""
        return torch.cat([backward_states, forward_states], dim=-1)

    @called("joined along the {which}")
    @costs(ORDER, OWN_STATES)
    @costs_more("where the lists are not turned round either")
    @variants("axis, which", ((1, "words"), (0, "batch")))
    @message(JOINED_AS_THEY_COME)
    def joined_as_they_come(self, forward_states, backward_states, axis, which):
        return torch.cat([forward_states, backward_states], dim=axis)
