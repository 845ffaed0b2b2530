"""The right answers of assignment 2 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch
from torch import Tensor

from assignments.a2_self_attention.rubric import (
    BATCH,
    BESIDE,
    CONTEXT,
    EXACT,
    ONE,
    ROWS,
    TELLS,
    batch,
    context,
    equivariant,
    weights,
)
from autograder.checks.mistakes import Steps, called, costs, costs_more, message, variants
from course_utils import attention

# ------------------------------------------------------------------ what parts have in common

SCALED = (
    "Your numbers match scores divided by √{width} before the softmax. This assignment asks for the "
    "unscaled dot products of lecture 2; the division comes in lecture 3. Leave it out here."
)
RESHAPED = (
    "The shape fits, but `reshape` and `view` keep the numbers in their old order, so words and "
    "features get mixed up. `transpose` (for two axes also `.T`) turns rows into columns."
)


# -------------------------------------------------------------------------- attention_weights


class Weighing(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, x):
        return self.share(self.scale(self.compare(x), x))

    def compare(self, x):
        return x @ x.T

    def scale(self, scores, x):
        return scores

    def share(self, scores):
        return scores.softmax(dim=-1)


@weights.mistakes_in(Weighing.share, costs=ROWS)
class WeightsShare:
    def softmax_over_the_columns(self, scores):
        """Your weights match a softmax over the wrong axis, so their columns sum to one, not their
        rows. Row i holds how word i shares out its attention, so use `dim=-1` (and, if you sum by
        hand, `keepdim=True`)."""
        return scores.softmax(dim=0)

    def scores_returned_for_weights(self, scores):
        """Your numbers are the scores ω = x xᵀ themselves. Turn each row into weights with a
        softmax."""
        return scores

    def divided_by_the_sum_without_exp(self, scores):
        """Your numbers match each score divided by its row's sum. Scores can be negative, so take
        exp of each first, which is what the softmax does."""
        return scores / scores.sum(dim=-1, keepdim=True)

    def exp_without_the_division(self, scores):
        """Your numbers match exp of the scores. Divide each row by its own sum."""
        return scores.exp()

    def softmax_over_all_words_at_once(self, scores):
        """Your weights sum to one over the whole matrix. Each row is a word's own attention and
        sums to one by itself, so use `dim=-1`."""
        return scores.flatten().softmax(dim=0).reshape(scores.shape)

    @costs(EXACT)
    def softmax_taken_twice(self, scores):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        return scores.softmax(dim=-1).softmax(dim=-1)

    def logarithms_of_the_weights(self, scores):
        """Your numbers are the logarithms of the weights, as `log_softmax` gives them. Which
        function gives the weights themselves?"""
        return scores.log_softmax(dim=-1)

    def sigmoid_instead_of_softmax(self, scores):
        """Each of your weights looks at its own score alone, as a sigmoid does, so rows do not sum
        to one. What makes the words of a row compete?"""
        return scores.sigmoid()

    @costs(EXACT)
    @variants("low", (-1e9, -torch.inf))
    def a_word_does_not_attend_to_itself(self, scores, low):
        """The weights on the diagonal are 0, so no word attends to itself. Here each word is
        compared with every word, itself included. Where is the diagonal taken out?"""
        return scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), low).softmax(dim=-1)

    @costs(EXACT)
    def the_future_hidden(self, scores):
        """Your words attend to themselves and to earlier words only. There is no mask here, so
        every word is compared with every word. (The mask over the future comes in lecture 4.)"""
        future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


@weights.mistakes_in(Weighing.scale, costs=EXACT)
class WeightsScale:
    @message(SCALED.format(width="D"))
    def scaled_although_unscaled_was_asked(self, scores, x):
        return scores / x.shape[1] ** 0.5

    def divided_by_D(self, scores, x):
        """Your numbers match scores divided by D, the width of a word. This assignment asks for
        plain dot products. Is there a mean where a sum should be, or a division too much?"""
        return scores / x.shape[1]

    @variants("power", (0.5, 1.0))
    def divided_by_the_number_of_words(self, scores, x, power):
        """Your numbers match scores divided by the number of words, or by its root. Nothing is
        divided before the softmax here; and the softmax does its own division."""
        return scores / len(x) ** power

    @costs(ROWS)
    def scores_negated(self, scores, x):
        """The more similar a word, the less weight it gets, so your scores have the wrong sign. Is
        there a minus in the exponent?"""
        return -scores


@weights.mistakes_in(Weighing.compare, costs=EXACT)
class WeightsCompare:
    def cosine_similarity(self, x):
        """Your numbers match cosine similarity, in which the word vectors are divided by their
        lengths first. Take the plain dot products, because their sizes matter."""
        unit = x / x.norm(dim=-1, keepdim=True)
        return unit @ unit.T

    @variants(
        "distances",
        (
            lambda x: torch.cdist(x, x),  # of many words it rounds, so that none is 0
            lambda x: (x.unsqueeze(1) - x).norm(dim=-1),
            lambda x: (x.unsqueeze(1) - x).square().sum(dim=-1),
        ),
    )
    def distances_for_dot_products(self, x, distances):
        """Your numbers match scores made of distances, which are the larger the nearer two words
        are. The score asked for is the dot product, which also counts how long the vectors are."""
        return -distances(x)

    @message(RESHAPED)
    def reshape_for_transpose(self, x):
        return x @ x.reshape(x.shape[1], x.shape[0])

    def features_compared_instead_of_words(self, x):
        """Your result is (D, D), because it compares columns of x, the features. Rows are words, so
        ω = x xᵀ, not xᵀ x."""
        return x.T @ x


# ----------------------------------------------------------------------- basic_self_attention


class Collecting(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, x):
        weights = self.weigh(x)
        return self.result(self.collect(weights, x), weights, x)

    def weigh(self, x):
        return attention.attention_weights(x)

    def collect(self, weights, x):
        return weights @ x

    def result(self, z, weights, x):
        return z, weights


@context.mistakes_in(Collecting.result, costs=BESIDE)
class ContextResult:
    def results_in_the_wrong_order(self, z, weights, x):
        """You return the weights first. The course returns (output, weights), here `return z,
        weights`."""
        return weights, z

    def z_returned_without_the_weights(self, z, weights, x):
        """z is right, but it comes alone. Return both, with `return z, weights`."""
        return z

    def z_and_weights_joined(self, z, weights, x):
        """z and the weights come in one tensor. Return two, with `return z, weights`."""
        return torch.cat([z, weights], dim=1)

    def scores_returned_for_weights(self, z, weights, x):
        """z is right, but what comes with it are the scores before the softmax. Return the
        weights."""
        return z, x @ x.T


@context.mistakes_in(Collecting.collect, costs=CONTEXT)
class ContextCollect:
    def weights_transposed_before_the_sum(self, weights, x):
        """Your z sums down the columns of the weights. Word i uses row i, so z = weights @ x, with
        no transpose."""
        return weights.T @ x

    def z_transposed(self, weights, x):
        """Your z is (D, T), because rows and columns have changed places. Row i of z belongs to
        word i."""
        return (weights @ x).T

    def summed_with_scores_instead_of_weights(self, weights, x):
        """Your z weighs the words with the raw scores. Use the weights after the softmax."""
        return x @ x.T @ x

    def context_vectors_written_over_the_words(self, weights, x):
        """You store z_i in row i of x while later words still need it. From the second word on, the
        sums use context vectors in place of words, and the caller's x is changed. Collect the
        results in a new tensor."""
        x = x.clone()
        for i in range(len(x)):
            x[i] = weights[i] @ x
        return x

    def plain_mean_of_all_words(self, weights, x):
        """Each row of your z is the mean of all words, in which every word counts the same. Where
        do the weights enter?"""
        return x.mean(dim=0).expand_as(x)

    def the_words_themselves_returned(self, weights, x):
        """Your z holds the words as they came. What has each word collected from the others?"""
        return x.clone()

    def words_added_to_the_context(self, weights, x):
        """Your z is the weighted sum plus the word itself. Each word is in its own sum already,
        with the weight that it gives itself. (Adding the input comes in lecture 8.)"""
        return weights @ x + x

    def each_word_times_one_weight(self, weights, x):
        """Row i of your z is word i times the weight that it gives itself. It should be a sum over
        all words. Which product multiplies and adds up?"""
        return weights.diagonal().unsqueeze(-1) * x

    def weights_used_twice(self, weights, x):
        """Your z weighs words that were weighed before. One product of weights and words is
        enough."""
        return weights @ weights @ x

    def the_best_word_alone(self, weights, x):
        """Row i of your z is the one word with the largest weight. All words count, each with its
        weight."""
        return x[weights.argmax(dim=-1)]


@context.mistakes_in(Collecting.weigh, costs=CONTEXT)
class ContextWeigh:
    @called("{wrong.name}")
    @message("{wrong.message}")
    @variants(
        "wrong",
        (
            *weights.named(
                "softmax over the columns",
                "softmax over all words at once",
                "softmax taken twice",
                "scaled although unscaled was asked",
                "divided by D",
            ),
            weights.named("divided by the number of words")[-1],
            *weights.named(
                "scores negated",
                "a word does not attend to itself",
                "the future hidden",
                "cosine similarity",
            ),
            weights.named("distances for dot products")[-1],
            *weights.named("reshape for transpose"),
        ),
    )
    def weighed_otherwise(self, x, wrong):
        return wrong.answer(x)


# ----------------------------------------------------------------------------- self_attention


class Attending(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, query, key, value):
        weights = self.share(self.scale(self.compare(query, key), query, key, value))
        return self.result(self.collect(weights, value, query, key), weights)

    def compare(self, query, key):
        return query @ key.mT

    def scale(self, scores, query, key, value):
        return scores

    def share(self, scores):
        return scores.softmax(dim=-1)

    def collect(self, weights, value, query, key):
        return torch.bmm(weights, value)

    def result(self, output, weights):
        return output


@batch.mistakes_in(Attending.share, costs=ONE)
class BatchShare:
    def softmax_over_the_queries(self, scores):
        """Your weights match a softmax over the queries. Each query shares out its attention over
        the keys, the last axis of query · keyᵀ, so use `dim=-1`."""
        return scores.softmax(dim=1)

    @costs(BATCH)
    def softmax_over_the_batch(self, scores):
        """Your weights match a softmax over the batch, so sentences compete with each other. The
        keys are the last axis, so use `dim=-1`."""
        return scores.softmax(dim=0)

    def softmax_over_the_whole_matrix(self, scores):
        """Your weights sum to one over all queries and keys of a sentence together. Each query
        shares out an attention of its own over the keys, so use `dim=-1`."""
        return scores.flatten(1).softmax(dim=-1).reshape(scores.shape)

    def exp_without_the_division(self, scores):
        """Your output weighs the values with exp of the scores. Divide each row by its own sum, so
        that it sums to one."""
        return scores.exp()

    def softmax_taken_twice(self, scores):
        """Your weights match a softmax of a softmax, which brings them closer together. Once is
        enough."""
        return scores.softmax(dim=-1).softmax(dim=-1)

    def no_softmax(self, scores):
        """Your output weighs the values with raw scores. Turn each row of scores into weights with
        a softmax first."""
        return scores

    def plain_mean_of_the_values(self, scores):
        """Every query gets the mean of all values, in which every key counts the same. Where do the
        scores enter? And along which axis runs the softmax?"""
        return torch.full_like(scores, 1 / scores.shape[-1])

    def the_best_key_alone(self, scores):
        """Each query gets the value of the one key with the largest score. All values count, each
        with its weight; and through a choice of the largest no gradient reaches the scores."""
        return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)


@batch.mistakes_in(Attending.scale, costs=ONE)
class BatchScale:
    @message(SCALED)
    @variants("width", ("d_k", "d_v"))
    def scaled_although_unscaled_was_asked(self, scores, query, key, value, width):
        return scores / {"d_k": key, "d_v": value}[width].shape[-1] ** 0.5

    @called("divided by {width}")
    @variants("width", ("d_k", "d_v"))
    def batch_divided_by_width(self, scores, query, key, value, width):
        """Your numbers match scores divided by {width}. This assignment asks for unscaled
        scores."""
        return scores / {"d_k": key, "d_v": value}[width].shape[-1]

    @variants("axis_of", (lambda query, key: key.shape[1], lambda query, key: query.shape[1]))
    def scaled_by_the_number_of_words(self, scores, query, key, value, axis_of):
        """Your numbers match scores divided by the root of a number of words. This assignment asks
        for unscaled scores."""
        return scores / axis_of(query, key) ** 0.5

    def scores_negated(self, scores, query, key, value):
        """The better a key matches, the less weight it gets, so your scores have the wrong sign. Is
        there a minus in the exponent?"""
        return -scores


@batch.mistakes_in(Attending.compare, costs=ONE)
class BatchCompare:
    @message(RESHAPED)
    def reshape_for_transpose(self, query, key):
        return query @ key.reshape(len(key), key.shape[2], key.shape[1])

    def query_and_key_swapped(self, query, key):
        """You score keys against queries (key · queryᵀ). Rows of the scores belong to the queries,
        so it is query · keyᵀ, of shape (B, T, S)."""
        return key @ query.mT


@batch.mistakes_in(Attending.collect, costs=ONE)
class BatchCollect:
    def key_used_as_value(self, weights, value, query, key):
        """Your output is a weighted sum of the keys. Weights come from query and key; what they
        weigh is the value."""
        return torch.bmm(weights, key)

    def query_used_as_value(self, weights, value, query, key):
        """Your output is a weighted sum of the queries. What the weights weigh is the value."""
        return torch.bmm(weights, query)

    @costs(BATCH)
    def output_as_wide_as_the_key(self, weights, value, query, key):
        """Your output is cut to the width of the keys. It is as wide as the values, (B, T, d_v).
        Where does your code take d_k for d_v?"""
        return torch.bmm(weights, value)[..., : key.shape[-1]]

    def query_added_to_the_output(self, weights, value, query, key):
        """Your output is the weighted sum plus the query. Nothing is added here. (Adding the input
        comes in lecture 8.)"""
        return torch.bmm(weights, value) + query

    def value_added_to_the_output(self, weights, value, query, key):
        """Your output is the weighted sum plus the values. Nothing is added here. (Adding the input
        comes in lecture 8.)"""
        return torch.bmm(weights, value) + value

    def weights_returned_for_the_output(self, weights, value, query, key):
        """You return the weights. The last step is missing, in which they are multiplied by the
        values."""
        return weights


def with_scores_of(steps, left, right, query, key, value):
    """The answer of some steps, but that ``left`` is compared with ``right``."""
    weights = steps.share(steps.scale(steps.compare(left, right), query, key, value))
    return steps.result(steps.collect(weights, value, query, key), weights)


@batch.mistakes_in(Attending.answer, costs=BATCH)
class BatchAnswer:
    @costs(ONE)
    def query_used_as_key_and_value(self, query, key, value):
        """Your output depends on the query alone. It is compared with the keys, and what is
        collected are the values."""
        return Attending.answer(self, query, query, query)

    @costs(ONE)
    def key_and_value_exchanged(self, query, key, value):
        """You compare with the values and collect the keys. It is the other way round. Compare with
        the key and collect from the value."""
        return Attending.answer(self, query, value, key)

    def sentences_of_a_batch_mixed(self, query, key, value):
        """A word attends to words of other sentences, because the batch was flattened into one long
        sentence. Keep axis 0 apart, as `torch.bmm` does."""
        flat = [item.reshape(1, -1, item.shape[-1]) for item in (query, key, value)]
        return Attending.answer(self, *flat).reshape(*query.shape[:2], value.shape[-1])

    def only_the_first_sentence_used(self, query, key, value):
        """Every sentence of the batch gets the first one's output. Keep axis 0 throughout."""
        return Attending.answer(self, query[:1], key[:1], value[:1]).expand(len(query), -1, -1)

    @called("only the first sentence used")
    def first_sentence_alone(self, query, key, value):
        """Only the output of the first sentence comes back. Keep axis 0 throughout, (B, T, d_v)."""
        return Attending.answer(self, query[:1], key[:1], value[:1])

    @costs(ONE)
    def query_used_as_key(self, query, key, value):
        """You compare the queries with themselves. Compare each query with the keys."""
        return with_scores_of(self, query, query, query, key, value)

    @costs(ONE)
    def key_used_as_query(self, query, key, value):
        """You compare the keys with themselves. Compare each query with the keys."""
        return with_scores_of(self, key, key, query, key, value)

    @costs(ONE)
    @variants("asks", (2, 0))
    def value_used_as_key(self, query, key, value, asks):
        """You compare with the values. What the query is compared with are the keys; the values are
        collected afterwards."""
        return with_scores_of(self, (query, key, value)[asks], value, query, key, value)


@batch.mistakes_in(Attending.result, costs=ONE)
class BatchResult:
    def weights_returned_beside_the_output(self, output, weights):
        """The output is right, but it comes in a tuple. This function returns the output alone."""
        return output, weights

    def output_transposed(self, output, weights):
        """Your output is (B, d_v, T), because its last two axes have changed places. Row i of a
        sentence's output belongs to query i."""
        return output.mT

    @variants("axes", ((0, 1, 2), 0))
    def axes_of_length_1_squeezed(self, output, weights, axes):
        """The numbers are right, but an axis is gone where it has length 1, as with a single
        sentence. The result is always (B, T, d_v). Is there a `squeeze`?"""
        return output.squeeze(axes)


@batch.mistake("axes of length 1 squeezed", costs=BATCH)
class ScoresSqueezed(Attending):
    """All is right until there is a single query or key. On your scores or weights, `squeeze()`
    takes away every axis of length 1, so that the next step takes one axis for another. The scores
    are always (B, T, S)."""

    def share(self, scores):
        return super().share(scores.squeeze())

    def collect(self, weights, value, query, key):
        return weights @ value


# ----------------------------------------------------------------- is_permutation_equivariant


def close(one: Tensor, other: Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=rtol, atol=atol)


class Asking(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, f, x, permutation):
        permutation = self.order(x, permutation)
        return self.compare(self.before(f, x, permutation), self.after(f, x, permutation))

    def order(self, x, permutation):
        return permutation

    def before(self, f, x, permutation):
        return f(x[permutation])

    def after(self, f, x, permutation):
        return f(x)[permutation]

    def compare(self, before, after):
        return close(before, after)


@equivariant.mistakes_in(Asking.after, costs=TELLS)
class EquivariantAfter:
    @called("invariance tested, not equivariance")
    def invariance(self, f, x, permutation):
        """You compare f(x) with f(x[permutation]), which asks whether the order leaves no trace
        (invariance). Equivariance asks whether the output is reordered in the same way."""
        return f(x)

    @called("permutation undone in the wrong direction")
    @costs()
    def reordered_backwards(self, f, x, permutation):
        """On one side of your equation the words are reordered, on the other they are put back.
        Both are the same only for permutations that undo themselves, such as swapping two words.
        Try it by hand with three words moved round."""
        return f(x)[permutation.argsort()]

    def f_left_out_on_one_side(self, f, x, permutation):
        """You compare f(x[permutation]) with the reordered words themselves. The other side needs f
        as well, f(x)[permutation]."""
        return x[permutation]

    def an_output_compared_with_itself_reordered(self, f, x, permutation):
        """You compare an output of f with the same output reordered, which asks whether its rows
        are alike. One side needs f(x[permutation]), the other f(x)[permutation]. If your code says
        `x = x[permutation]`, x is the reordered words from then on, on both sides. Give them a
        name of their own."""
        return f(x[permutation])[permutation]


@equivariant.mistakes_in(Asking.answer)
class EquivariantAnswer:
    @called("permutation undone in the wrong direction")
    def permutation_undone_by_itself(self, f, x, permutation):
        """This holds only for permutations that are their own inverse, such as swapping two words.
        Try it by hand with three words moved round."""
        return self.compare(f(x[permutation])[permutation], f(x))

    @costs(TELLS)
    def f_left_out_on_one_side(self, f, x, permutation):
        """You compare f(x[permutation]) with the reordered words themselves. The other side needs f
        as well, f(x)[permutation]."""
        return torch.allclose(f(x[permutation]), x[permutation], rtol=1e-4, atol=1e-5)


@equivariant.mistakes_in(Asking.compare)
class EquivariantCompare:
    def exact_equality(self, before, after):
        """Sums in another order differ in the last digits of float32, and `torch.equal` forgives
        nothing. Compare with a tolerance, rtol 1e-4, atol 1e-5."""
        return torch.equal(before, after)

    @costs(TELLS)
    def numbers_compared_without_their_places(self, before, after):
        """You compare which numbers come out, wherever they stand. Each row must land exactly where
        the permutation puts it."""
        return close(before.flatten().sort().values, after.flatten().sort().values)

    @costs(TELLS)
    @variants("boil_down", (torch.sum, torch.mean, torch.norm, torch.max))
    def one_number_compared_for_the_whole_output(self, before, after, boil_down):
        """You compare one number of the two sides, such as their sum, mean or norm. Reordering rows
        does not change it, so it says nothing about where each row went. Compare entry by entry."""
        return close(boil_down(before), boil_down(after))

    @costs(TELLS)
    def rows_averaged_before_they_are_compared(self, before, after):
        """You compare the mean over the words. It is the same in any order, so it says nothing
        about where each row went. Compare the two sides row by row."""
        return close(before.mean(dim=0), after.mean(dim=0))

    @costs_more("as good as no answer")
    def always_True(self, before, after):
        """Your answer is True for every f. Do you compare numbers, not shapes? And do your two
        sides differ. Are the words reordered before f on one, f(x[permutation]), and after f on the
        other, f(x)[permutation]?"""
        return before.shape == after.shape

    @called("numbers compared without their places")
    @costs(TELLS)
    def same_columns_anywhere(self, before, after):
        """You sort before you compare, so it does not matter where a row stands. Each row must land
        exactly where the permutation puts it."""
        return close(before.sort(dim=0).values, after.sort(dim=0).values)

    @costs(TELLS)
    def one_agreement_is_enough(self, before, after):
        """Your answer is True as soon as one entry of the two sides agrees. All of them must agree.
        Is it `any` or `all`?"""
        return bool(torch.isclose(before, after, rtol=1e-4, atol=1e-5).any())

    @costs(TELLS)
    def True_and_False_exchanged(self, before, after):
        """Your answer is True where the two sides differ and False where they agree. Is there a
        `not` too much, or a `!=`, or are two returns exchanged?"""
        return not close(before, after)

    def tensor_returned_for_a_bool(self, before, after):
        """The answer is right, but it is a tensor. Wrap it in `bool(…)`."""
        return torch.isclose(before, after, rtol=1e-4, atol=1e-5).all()

    @called("torch.allclose with its own tolerances")
    def default_tolerance(self, before, after):
        """`torch.allclose` without further arguments uses rtol 1e-5 and atol 1e-8. Give it the
        tolerances of the text, rtol 1e-4 and atol 1e-5."""
        return torch.allclose(before, after)

    @variants("rtol, atol", ((1e-4, 0.0), (1e-4, 1e-8)))
    def absolute_tolerance_too_small(self, before, after, rtol, atol):
        """Near 0 a relative tolerance forgives next to nothing, and rounding is not relative to a
        sum that cancels. The text asks for rtol 1e-4 and atol 1e-5. Without `atol`,
        `torch.allclose` takes 1e-8."""
        return torch.allclose(before, after, rtol=rtol, atol=atol)

    @variants("rtol, atol", ((0.0, 1e-5), (1e-5, 1e-5)))
    def relative_tolerance_too_small(self, before, after, rtol, atol):
        """Large numbers are rounded by more than your comparison forgives. The text asks for rtol
        1e-4 and atol 1e-5. Without `rtol`, `torch.allclose` takes 1e-5."""
        return torch.allclose(before, after, rtol=rtol, atol=atol)

    def difference_without_its_absolute_value(self, before, after):
        """You ask whether the difference is small, but a large negative difference is small too.
        Take its absolute value, or use `torch.allclose`."""
        return bool((before - after).max() < 1e-5)

    @called("difference without its absolute value")
    @variants("sign", (1, -1))
    def difference_one_way(self, before, after, sign):
        """You ask whether the difference is small, but a large negative difference is small too.
        Take its absolute value, or use `torch.allclose`."""
        return bool((sign * (before - after) <= 1e-5 + 1e-4 * after.abs()).all())

    @called("too strict with large numbers, too generous with small ones")
    def the_two_tolerances_exchanged(self, before, after):
        """Your comparison is too strict with large numbers and too generous with small ones, as it
        is where the two tolerances are exchanged, or the absolute one stands alone. The text asks
        for both, rtol 1e-4 and atol 1e-5."""
        return close(before, after, rtol=1e-5, atol=1e-4)

    @variants(
        "rtol, atol",
        (
            (0.01, 0.01),
            (1e-4, 1e-3),
            (1e-3, 1e-5),
            (1e-4, 1e-4),
            (1e-3, 1e-4),
            (1e-3, 1e-3),
            (0.0, 1e-3),
        ),
    )
    def tolerance_too_wide(self, before, after, rtol, atol):
        """A small effect of the order goes unnoticed. Use rtol 1e-4 and atol 1e-5."""
        return close(before, after, rtol=rtol, atol=atol)

    def mean_difference_compared(self, before, after):
        """You ask whether the two sides agree on average. A single wrong row is lost in a mean, so
        every entry must agree within the tolerances."""
        return bool((before - after).abs().mean() < 1e-3)

    @called("only the {which} row compared")
    @costs(TELLS)
    @variants("place, which", ((0, "first"), (-1, "last")))
    def one_row_compared(self, before, after, place, which):
        """You look at the {which} row alone. The order may leave its trace in any other row, so
        compare all of them."""
        return close(before[place], after[place])


@equivariant.mistakes_in(Asking.order, costs=TELLS)
class EquivariantOrder:
    @variants("reverse", (lambda x, p: torch.arange(len(x) - 1, -1, -1), lambda x, p: p.flip(0)))
    def another_permutation_than_the_one_given(self, x, permutation, reverse):
        """You reorder the words by a permutation of your own, such as the reverse order. The
        question is about the one that was given, `permutation`."""
        return reverse(x, permutation)


@equivariant.mistakes_in(Asking.before)
class EquivariantBefore:
    @costs_more("as good as no answer")
    def always_False(self, f, x, permutation):
        """Your answer is False for every f. Are the words reordered, the rows of x
        (`x[permutation]`), and not its columns? And does your comparison forgive rounding?"""
        return f(x[:, permutation % x.shape[1]])
