"""`BahdanauAttention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math

import torch
from torch import nn

from assignments.a1_rnn_attention.rubric import (
    CONTEXT,
    MASK,
    NOTHING_VISIBLE,
    SHARES,
    WEIGHTS_EXACT,
    bahdanau,
)
from autograder.checks.mistakes import called, costs, costs_more, message, variants
from course_utils import attention


class InSteps(attention.BahdanauAttention):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def forward(self, state, annotations, mask=None):
        scores = self.score(state, annotations)  # (B, S)
        weights = self.weigh(scores, mask)  # (B, S)
        return self.result(self.average(weights, annotations, scores), weights)

    def score(self, state, annotations):
        hidden = self.compare(self.W(state).unsqueeze(1), self.U(annotations))
        return self.v(hidden).squeeze(-1)

    def compare(self, state, words):
        return torch.tanh(state + words)

    def weigh(self, scores, mask):
        return attention.masked_softmax(scores, mask)

    def average(self, weights, annotations, scores):
        return torch.einsum("bs,bsd->bd", weights, annotations)

    def result(self, context, weights):
        return context, weights


SOFTMAX_OF_HIDDEN = (
    "Your numbers match a softmax over the entries of the hidden layer. These are features. There "
    "is one softmax here, over the scores of the words of a sentence."
)


@bahdanau.mistakes_in(InSteps.compare, costs=WEIGHTS_EXACT)
class BahdanauCompare:
    def no_tanh(self, state, words):
        """Your numbers match a score without tanh. Then v(W s) is added to the score of every word,
        and what does a softmax do with a number that all scores share? The state has no say."""
        return state + words

    def relu_instead_of_tanh(self, state, words):
        """Your numbers match relu in place of tanh. The formula has a tanh."""
        return torch.relu(state + words)

    def sigmoid_instead_of_tanh(self, state, words):
        """Your numbers match a sigmoid in place of tanh. The formula has a tanh."""
        return torch.sigmoid(state + words)

    @variants(
        "other",
        (
            nn.functional.gelu,
            nn.functional.silu,
            nn.functional.softplus,
            nn.functional.elu,
            nn.functional.leaky_relu,
            nn.functional.softsign,
            torch.sin,
            torch.atan,
        ),
    )
    def another_function_than_tanh(self, state, words, other):
        """Your numbers match another function in place of tanh. The formula has a tanh."""
        return other(state + words)

    def difference_instead_of_sum(self, state, words):
        """You subtract W s and U h_j from each other. The formula adds them, and then takes
        tanh."""
        return torch.tanh(state - words)

    @variants("activation", (torch.tanh, nn.Identity()))
    def product_instead_of_sum(self, state, words, activation):
        """You multiply W s and U h_j entry by entry. The formula adds them, and then takes tanh."""
        return activation(state * words)

    def state_left_out(self, state, words):
        """Your weights depend on the annotations alone, so every step of the decoder would look at
        the same words. Does W s enter, and before the tanh? (What is added to all scores of a
        sentence alike, the softmax does not see.)"""
        return torch.tanh(words)

    @costs(SHARES, WEIGHTS_EXACT)
    def annotations_left_out(self, state, words):
        """All words of a sentence get the same score, so every weight is 1/S and the context is the
        plain mean. Where does U h_j enter?"""
        return torch.tanh(state.expand_as(words))

    @called("softmax over the features")
    @costs(SHARES, WEIGHTS_EXACT)
    @message(SOFTMAX_OF_HIDDEN)
    def softmax_over_features_and_words(self, state, words):
        return InSteps.compare(self, state, words).softmax(dim=-1)


NO_AXIS = (
    "W s is (B, attention_dim) and U h is (B, S, attention_dim). Broadcasting compares axes from "
    "the right, so your B is compared with S, which stops with an error or silently mixes "
    "sentences. Which axis has to be put between the two of W s?"
)


@bahdanau.mistakes_in(InSteps.score, costs=WEIGHTS_EXACT)
class BahdanauScore:
    @called("tanh of the score, too")
    def tanh_of_the_score_too(self, state, annotations):
        """You take tanh twice, of the hidden layer, and of the score that v makes of it. The
        formula has the first alone."""
        return InSteps.score(self, state, annotations).tanh()

    def tanh_of_the_score(self, state, annotations):
        """You take tanh last, of the finished score. In the formula it comes between the sum and v.
        Which brackets come right after it?"""
        return self.v(self.W(state).unsqueeze(1) + self.U(annotations)).squeeze(-1).tanh()

    @called("dot-product score")
    @variants(
        "products",
        (
            lambda self, s, h: self.W(s).unsqueeze(1) * self.U(h),
            lambda self, s, h: self.W(s).unsqueeze(1) * self.U(h) / math.sqrt(self.W.out_features),
            lambda self, s, h: self.W(s).tanh().unsqueeze(1) * self.U(h).tanh(),
            lambda self, s, h: s.unsqueeze(1) * h,
        ),
    )
    def dot_product(self, state, annotations, products):
        """Your score is a dot product. Here a small network compares the two. W and U bring state
        and annotation to one width, they are added, and v makes a number of what tanh leaves."""
        return products(self, state, annotations).sum(dim=-1)

    @costs(SHARES, WEIGHTS_EXACT)
    def scores_negated(self, state, annotations):
        """The better a word fits, the less weight it gets, so your scores have the wrong sign. Is
        there a minus in front of a score, or inside the exponential?"""
        return -InSteps.score(self, state, annotations)

    def v_left_out(self, state, annotations):
        """You add up the entries of the hidden layer as they are. v says how much each of them
        counts."""
        return self.compare(self.W(state).unsqueeze(1), self.U(annotations)).sum(dim=-1)

    @variants(
        "width",
        (
            lambda self: math.sqrt(self.W.out_features),
            lambda self: math.sqrt(self.W.in_features),
            lambda self: math.sqrt(self.U.in_features),
            lambda self: self.W.out_features,
        ),
    )
    def scores_scaled(self, state, annotations, width):
        """Your numbers match scores divided by a width or its root, such as √attention_dim. That
        scale belongs to dot products (lecture 3); the formula here has none."""
        return InSteps.score(self, state, annotations) / width(self)

    def states_averaged_over_the_batch(self, state, annotations):
        """All sentences are compared with one state, the mean over the batch. Each sentence has a
        decoder state of its own, row b of `state`."""
        return InSteps.score(self, state.mean(dim=0, keepdim=True), annotations)

    def W_and_U_swapped(self, state, annotations):
        """Your `forward` gives the annotations to W and the state to U. It is the other way round,
        because W belongs to the state. Where both have the same width, nothing stops you."""
        return self.v(torch.tanh(self.U(state).unsqueeze(1) + self.W(annotations))).squeeze(-1)

    @variants(
        "copies",
        (
            lambda states, B, S: states.repeat(S, 1).view(B, S, -1),
            lambda states, B, S: states.repeat_interleave(S, 0).view(S, B, -1).transpose(0, 1),
        ),
    )
    def states_of_other_sentences(self, state, annotations, copies):
        """Words are compared with the states of other sentences. Is there a `repeat`, and then a
        `view`? `repeat(S, 1)` gives the sentences in the order 0, 1, 0, 1, and `view(B, S, …)`
        cuts it as if it were 0, 0, 1, 1. No copies are needed. With `state.unsqueeze(1)`, the axis
        of length 1 fits all words of its own sentence."""
        states = copies(self.W(state), *annotations.shape[:2])
        return self.v(self.compare(states, self.U(annotations))).squeeze(-1)

    @message(NO_AXIS)
    def state_without_an_axis_for_the_words(self, state, annotations):
        return self.v(torch.tanh(self.W(state) + self.U(annotations))).squeeze(-1)


@bahdanau.mistake("state without an axis for the words", NO_AXIS, costs=WEIGHTS_EXACT)
class StateWithoutAxisThenBmm(InSteps):
    def score(self, state, annotations):
        return self.v(torch.tanh(self.W(state) + self.U(annotations))).squeeze(-1)

    def average(self, weights, annotations, scores):
        # unlike einsum, this insists on as many weights as there are words
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)


@bahdanau.mistake("W and U swapped", costs=WEIGHTS_EXACT)
class Swapped(InSteps):
    """Your W maps the annotations and your U the state. It should be the other way round, because W
    belongs to the state."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(encoder_dim, decoder_dim, attention_dim)

    def score(self, state, annotations):
        return self.v(torch.tanh(self.U(state).unsqueeze(1) + self.W(annotations))).squeeze(-1)


@bahdanau.mistakes_in(InSteps.__init__, costs=WEIGHTS_EXACT, of=InSteps)
class BahdanauInit:
    @called("decoder_dim and encoder_dim swapped")
    def dimensions_swapped(self, encoder_dim, decoder_dim, attention_dim):
        """Your constructor takes the width of the annotations first. The order is decoder_dim,
        encoder_dim, attention_dim."""
        InSteps.__init__(self, decoder_dim, encoder_dim, attention_dim)

    @costs()
    @costs_more("no weights fit in")
    def v_a_bare_parameter(self, decoder_dim, encoder_dim, attention_dim):
        """Your v is a parameter by itself. Make it a layer like W and U, so that its weights have
        the name `v.weight`. From which width to which?"""
        InSteps.__init__(self, decoder_dim, encoder_dim, attention_dim)
        del self.v
        self.v = nn.Parameter(torch.zeros(attention_dim))


@bahdanau.mistake("no layers W, U and v", costs_more="no weights fit in")
class LayersOutOfSight(nn.Module):
    """A new module has none of the weights `W.weight`, `U.weight`, `v.weight`. Make each an
    `nn.Linear` in `__init__`, directly as the attribute of this name. Layers made in `forward` or
    kept in a plain list are neither trained nor saved; bare parameters and layers inside an
    `nn.Sequential` have other names."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.layers = [nn.Linear(decoder_dim, attention_dim, bias=False)]


@bahdanau.mistakes_in(InSteps.weigh, costs=(SHARES, WEIGHTS_EXACT))
class BahdanauWeigh:
    @costs(WEIGHTS_EXACT)
    @variants("hidden", (-math.inf, -1e9))
    def softmax_over_the_batch(self, scores, mask, hidden):
        """Your weights sum to one over the sentences of the batch, so sentences compete with each
        other. Which axis of (B, S) holds the words of one sentence?"""
        if mask is not None:
            scores = scores.masked_fill(~mask, hidden)
        return scores.softmax(dim=0)

    @called("softmax over the batch")
    def softmax_over_batch_and_words(self, scores, mask):
        """Your weights sum to one over all words of all sentences together. Each sentence shares
        out an attention of its own. Which axis of (B, S) holds its words?"""
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.flatten().softmax(dim=0).reshape(scores.shape)

    @called("softmax over the batch")
    def softmax_over_batch_filled(self, scores, mask):
        """Your weights sum to one over the sentences of the batch, so sentences compete with each
        other. Which axis of (B, S) holds the words of one sentence?"""
        if mask is None:
            return scores.softmax(dim=0)
        return scores.masked_fill(~mask, -1e9).softmax(dim=0).masked_fill(~mask, 0.0)

    @called("softmax over the features")
    @variants("masked", (False, True))
    def softmax_elsewhere(self, scores, mask, masked):
        """Your softmax does not run over the words. Which axis of your scores holds the words of a
        sentence, and which sum should be one?"""
        # the last axis of scores (B, S, 1) has length 1
        return torch.ones_like(scores) if mask is None or not masked else mask.to(scores.dtype)

    @called("softmax over the features")
    @costs(SHARES, WEIGHTS_EXACT, NOTHING_VISIBLE)
    @costs_more("two slips: the axis, and NaN where nothing is visible")
    def softmax_elsewhere_with_nan(self, scores, mask):
        """Your softmax does not run over the words, but along an axis of length 1, in which a score of
        minus infinity is all there is, and 0 / 0 is NaN. Which axis of your scores holds the words
        of a sentence, and what should come out where all of them are hidden?"""
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.unsqueeze(-1).softmax(dim=-1).squeeze(-1)

    @costs(WEIGHTS_EXACT)
    def softmax_taken_twice(self, scores, mask):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        return attention.masked_softmax(attention.masked_softmax(scores, mask), mask)

    def no_softmax(self, scores, mask):
        """Your weights are the scores themselves, some of which are negative, and they do not sum
        to one. What makes weights of scores?"""
        return scores if mask is None else scores * mask

    def exp_without_the_division(self, scores, mask):
        """Your weights match exp of the scores. They are positive, but do they sum to one?"""
        return scores.exp() if mask is None else scores.exp() * mask

    def the_sum_loses_its_axis(self, scores, mask):
        """You divide by a sum that has lost its axis, (B), so B is compared with the S words. That stops
        with an error, or divides a word by the sum of another sentence. Which argument of `sum`
        keeps the axis, with length 1?"""
        exponentials = scores.exp() if mask is None else scores.exp() * mask
        return exponentials / exponentials.sum(dim=-1)

    def sigmoid_instead_of_softmax(self, scores, mask):
        """Each of your weights looks at its own score alone, as a sigmoid does, so a sentence's
        weights do not sum to one. What makes words compete?"""
        return scores.sigmoid() if mask is None else scores.sigmoid() * mask

    def all_weight_on_the_best_word(self, scores, mask):
        """One word gets the weight 1 and all others 0, as after an `argmax`. Every visible word
        gets some weight here; and through a choice of the largest no gradient reaches the
        scores."""
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)

    @costs(MASK, NOTHING_VISIBLE)
    def mask_ignored(self, scores, mask):
        """Without a mask all is right; with one, the same comes out as without. Where does the mask
        enter?"""
        return scores.softmax(dim=-1)

    @costs(MASK, NOTHING_VISIBLE)
    def mask_inverted(self, scores, mask):
        """You hide what the mask allows. In this course, True says that a word may be attended
        to."""
        return attention.masked_softmax(scores, None if mask is None else ~mask)

    @called("mask inverted")
    @costs(MASK, NOTHING_VISIBLE)
    def mask_inverted_once(self, scores, mask):
        """Before the softmax you hide what the mask allows, and after it the rest, so nothing is
        left. In this course, True says that a word may be attended to."""
        if mask is None:
            return scores.softmax(dim=-1)
        return attention.masked_softmax(scores, ~mask) * mask

    @costs(MASK, NOTHING_VISIBLE)
    def hidden_scores_set_to_0(self, scores, mask):
        """A hidden score became 0, and exp(0) = 1 is a weight like any other. Which score has the
        weight 0?"""
        return (scores if mask is None else scores * mask).softmax(dim=-1)

    @costs(MASK)
    def hidden_scores_set_to_0_before_and_weights_after(self, scores, mask):
        """Hidden weights are 0, but the visible ones no longer sum to one. A hidden score of 0 took
        part in the softmax, where exp(0) = 1 is added to the sum like any other, and the share that
        this gave it is lost afterwards. With which score does it add 0?"""
        if mask is None:
            return scores.softmax(dim=-1)
        return (scores * mask).softmax(dim=-1) * mask

    @called("hidden scores set to 0 before and weights after")
    @costs(MASK, NOTHING_VISIBLE)
    def hidden_weights_tiny_after(self, scores, mask):
        """Hidden weights are tiny and not 0, and the visible ones no longer sum to one. A hidden
        score of 0 took part in the softmax, where exp(0) = 1 is added to the sum like any other.
        With which score does it add 0, so that its weight is exactly 0?"""
        if mask is None:
            return scores.softmax(dim=-1)
        return (scores * mask).softmax(dim=-1).masked_fill(~mask, 1e-9)

    @costs(MASK, NOTHING_VISIBLE)
    def mask_added_as_numbers(self, scores, mask):
        """You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score
        must be minus infinity; the others stay as they are."""
        return (scores if mask is None else scores + mask).softmax(dim=-1)

    @called("the first sentence's mask for all")
    @costs(MASK, NOTHING_VISIBLE)
    def first_mask_for_all(self, scores, mask):
        """Every sentence is hidden as the first one is. Row b of the mask belongs to sentence b."""
        return attention.masked_softmax(scores, None if mask is None else mask[:1].expand_as(mask))

    @called("mask applied after the softmax, then divided again")
    @costs(MASK)
    def divided_again(self, scores, mask):
        """You hide words after the softmax and then divide what is left by its sum. A hidden word
        with a large score has taken nearly all of the one by then, so what is left may be as small
        as the number that you add to the sum, or lose its digits. At which step must hidden words
        drop out?"""
        weights = scores.softmax(dim=-1)
        if mask is None:
            return weights
        weights = weights * mask
        return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)


@bahdanau.mistake("softmax over the features", SOFTMAX_OF_HIDDEN, costs=(SHARES, WEIGHTS_EXACT))
class SoftmaxOverFeatures(InSteps):
    def compare(self, state, words):
        return super().compare(state, words).softmax(dim=-1)

    def weigh(self, scores, mask):
        return scores if mask is None else scores * mask


LEFT_OVER = (
    "The numbers are right, but an axis of length 1 is left over. The context is (B, encoder_dim) "
    "and the weights are (B, S). Which axis did you need only on the way?"
)
SQUEEZED = (
    "All is right until there is a single sentence, or a single word. `squeeze()` takes away every "
    "axis of length 1. Can you name the one that you mean?"
)


@bahdanau.mistakes_in(InSteps.result, costs=WEIGHTS_EXACT)
class BahdanauResult:
    @variants("passed_on", (True, False))
    def logarithms_of_the_weights(self, context, weights, passed_on):
        """What you return are the logarithms of the weights. Is there a `log` too much, as in
        `log_softmax`?"""
        # the gradient of log 0 is infinite, and goes on only where hidden weights come of a product
        seen = weights if passed_on else weights.masked_fill(weights == 0, 0.0)
        return context, seen.log()

    def results_in_the_wrong_order(self, context, weights):
        """You return the weights first. The order is (context, weights)."""
        return weights, context

    def context_returned_without_the_weights(self, context, weights):
        """The context is right, but it comes alone. Return the pair (context, weights)."""
        return context

    @costs()
    @message(SQUEEZED)
    def every_axis_of_length_1_squeezed(self, context, weights):
        return context.squeeze(), weights

    @called("every axis of length 1 squeezed")
    @costs()
    @message(SQUEEZED)
    def both_squeezed(self, context, weights):
        return context.squeeze(), weights.squeeze()

    @called("axis of length 1 left over")
    @variants("axis", (-1, 1))
    @message(LEFT_OVER)
    def axis_left_over_in_the_weights(self, context, weights, axis):
        return context, weights.unsqueeze(axis)

    @called("axis of length 1 left over")
    @costs(CONTEXT)
    @message(LEFT_OVER)
    def axis_left_over_in_the_context(self, context, weights):
        return context.unsqueeze(1), weights

    @called("axis of length 1 left over")
    @costs(CONTEXT, WEIGHTS_EXACT)
    @variants("axis", (1, -1))
    @message(LEFT_OVER)
    def axis_left_over_in_both(self, context, weights, axis):
        return context.unsqueeze(1), weights.unsqueeze(axis)


@bahdanau.mistakes_in(InSteps.forward, costs=(WEIGHTS_EXACT, CONTEXT))
class BahdanauForward:
    def only_the_first_sentence_used(self, state, annotations, mask=None):
        """Every sentence of the batch gets the result of the first. Is there an index 0, or a shape
        without its first axis, on the way?"""
        first = InSteps.forward(
            self, state[:1], annotations[:1], None if mask is None else mask[:1]
        )
        return tuple(item.expand(len(state), -1) for item in first)

    @costs(NOTHING_VISIBLE)
    def mask_in_the_weights_alone(self, state, annotations, mask=None):
        """Your weights know the mask, but your context does not, so hidden words are in the sum.
        Which weights does your context use?"""
        _, weights = InSteps.forward(self, state, annotations, mask)
        return InSteps.forward(self, state, annotations)[0], weights

    @costs(SHARES, WEIGHTS_EXACT)
    @variants("masked", (False, True))
    def scores_returned_for_weights(self, state, annotations, mask=None, *, masked):
        """The context is right, but what comes with it are the scores before the softmax. Return
        the weights."""
        context, _ = InSteps.forward(self, state, annotations, mask)
        scores = self.score(state, annotations)
        hidden = masked and mask is not None
        return context, scores.masked_fill(~mask, -math.inf) if hidden else scores


SHARE_KEPT = (
    "Hidden weights are zero, but the visible ones no longer sum to one, because hidden words "
    "took part in the softmax and kept their share. At which step must they drop out?"
)


@bahdanau.mistake("mask applied after the softmax", SHARE_KEPT, costs=MASK)
class MaskAfterSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask


@bahdanau.mistake("mask applied after the softmax", SHARE_KEPT, costs=MASK)
class MaskOnTheWeightsAlone(MaskAfterSoftmax):
    def forward(self, state, annotations, mask=None):
        context, _ = super().forward(state, annotations)
        return context, super().forward(state, annotations, mask)[1]


@bahdanau.mistake("mask applied after the softmax", costs=MASK)
class MaskInTheContextAlone(MaskAfterSoftmax):
    """The context leaves the hidden words out, but they took part in the softmax and kept their
    weights. At which step must they drop out?"""

    def forward(self, state, annotations, mask=None):
        _, weights = super().forward(state, annotations)
        return super().forward(state, annotations, mask)[0], weights


NO_WEIGHTS_IN_SUM = (
    "The weights are right, but your context adds up the annotations as they are. How much of each "
    "annotation belongs into the sum?"
)


@bahdanau.mistakes_in(InSteps.average, costs=CONTEXT)
class BahdanauAverage:
    @message(NO_WEIGHTS_IN_SUM)
    def context_sums_without_weights(self, weights, annotations, scores):
        return annotations.sum(dim=1)

    @called("context sums without weights")
    @message(NO_WEIGHTS_IN_SUM)
    def sum_of_the_visible(self, weights, annotations, scores):
        return ((weights != 0).unsqueeze(-1) * annotations).sum(dim=1)

    def context_is_the_plain_mean(self, weights, annotations, scores):
        """The weights are right, but your context is the plain mean of the annotations, in which
        every word counts the same. Where do the weights enter?"""
        return annotations.mean(dim=1)

    def context_from_the_scores(self, weights, annotations, scores):
        """The weights are right, but your context multiplies the annotations by the scores from
        before the softmax."""
        return InSteps.average(self, scores, annotations, scores)

    def context_of_the_projected_annotations(self, weights, annotations, scores):
        """Your context is a sum of U h_j, with the width attention_dim. U serves the score alone;
        what is averaged are the annotations themselves."""
        return InSteps.average(self, weights, self.U(annotations), scores)

    def context_not_summed(self, weights, annotations, scores):
        """Every annotation is multiplied by its weight, but they still stand one by one, (B, S,
        encoder_dim). What remains is the sum over the words."""
        return weights.unsqueeze(-1) * annotations

    def context_divided_by_the_number_of_words(self, weights, annotations, scores):
        """Your context is the weighted sum divided by the number of words. The weights sum to one
        already. Is there a `mean` where a `sum` should be?"""
        return (weights.unsqueeze(-1) * annotations).mean(dim=1)

    @called("the {which} word left out of the context")
    @variants("words, which", ((slice(1, None), "first"), (slice(-1), "last")))
    def one_word_left_out(self, weights, annotations, scores, words, which):
        """The weights are right, but your context adds up all words without the {which} one. Which
        words does your loop go through? `range(S)` counts from 0 to S − 1."""
        return InSteps.average(self, weights[:, words], annotations[:, words], scores)

    def the_last_word_alone_in_the_context(self, weights, annotations, scores):
        """The weights are right, but your context is the last annotation times its weight. If a loop
        should add up, is there a `=` in it where `+=` belongs?"""
        return weights[:, -1:] * annotations[:, -1]

    def context_summed_over_the_sentences(self, weights, annotations, scores):
        """Your context is (S, encoder_dim), because it adds up sentences. What should be added up
        are the words of each sentence. Which axis of (B, S, encoder_dim) is that?"""
        return (weights.unsqueeze(-1) * annotations).sum(dim=0)

    def context_summed_over_the_features(self, weights, annotations, scores):
        """Your context is (B, S), because it adds up the entries of each annotation. What should be
        added up are the words of each sentence. Which axis of (B, S, encoder_dim) is that?"""
        return (weights.unsqueeze(-1) * annotations).sum(dim=-1)

    @called("every sentence's weights on every sentence")
    def matrix_product(self, weights, annotations, scores):
        """Your context is (B, B, encoder_dim), because `weights @ annotations` takes the weights as
        one matrix and multiplies it with every sentence. Which axis must the weights get first, so
        that each row meets its own sentence?"""
        return weights @ annotations

    def context_is_the_best_word_alone(self, weights, annotations, scores):
        """Your context is the annotation with the largest weight. All of them count, each with its
        weight; and through a choice of the largest no gradient would reach the scores."""
        return annotations[torch.arange(len(weights)), weights.argmax(dim=-1)]


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
class EveryAxisSqueezed(InSteps):
    def score(self, state, annotations):
        return super().score(state, annotations).squeeze()

    def average(self, weights, annotations, scores):
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)


@bahdanau.mistake("every axis of length 1 squeezed", SQUEEZED)
class EveryAxisSqueezedAndBroadcast(EveryAxisSqueezed):
    def average(self, weights, annotations, scores):
        return (weights.unsqueeze(-1) * annotations).sum(dim=1)
