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
from autograder.verdict.check import Steps, taking
from course_utils import attention

# ------------------------------------------------------------------------------ what is drawn

SCALED = (
    "Your numbers match scores divided by √D before the softmax. This assignment asks for the "
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


@weights.mistake("softmax over the columns", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def over_columns(self, scores):
    """Your weights match a softmax over the wrong axis: their columns sum to one, not their rows.
    Row i holds how word i shares out its attention, so use `dim=-1` (and, if you sum by hand,
    `keepdim=True`)."""
    return scores.softmax(dim=0)


@weights.mistake("scaled although unscaled was asked", SCALED, costs=(EXACT,))
@taking(Weighing, Weighing.scale)
def scaled(self, scores, x):
    return scores / x.shape[1] ** 0.5


@weights.mistake("divided by D", costs=(EXACT,))
@taking(Weighing, Weighing.scale)
def divided_by_width(self, scores, x):
    """Your numbers match scores divided by D, the width of a word. This assignment asks for plain
    dot products: is there a mean where a sum should be, or a division too much?"""
    return scores / x.shape[1]


for power in (0.5, 1.0):

    @weights.mistake("divided by the number of words", costs=(EXACT,))
    @taking(Weighing, Weighing.scale)
    def divided_by_length(self, scores, x, power=power):
        """Your numbers match scores divided by the number of words, or by its root. Nothing is
        divided before the softmax here; and the softmax does its own division."""
        return scores / len(x) ** power


@weights.mistake("scores negated", costs=(ROWS,))
@taking(Weighing, Weighing.scale)
def negated(self, scores, x):
    """The more similar a word, the less weight it gets: your scores have the wrong sign. Is there a
    minus in the exponent?"""
    return -scores


@weights.mistake("scores returned for weights", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def scores_for_weights(self, scores):
    """Your numbers are the scores ω = x xᵀ themselves. Turn each row into weights with a
    softmax."""
    return scores


@weights.mistake("divided by the sum without exp", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def shares_without_exp(self, scores):
    """Your numbers match each score divided by its row's sum. Scores can be negative, so take exp
    of each first: that is what the softmax does."""
    return scores / scores.sum(dim=-1, keepdim=True)


@weights.mistake("exp without the division", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def exp_without_sum(self, scores):
    """Your numbers match exp of the scores. Divide each row by its own sum."""
    return scores.exp()


@weights.mistake("softmax over all words at once", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def over_all(self, scores):
    """Your weights sum to one over the whole matrix. Each row is a word's own attention and sums to
    one by itself: use `dim=-1`."""
    return scores.flatten().softmax(dim=0).reshape(scores.shape)


@weights.mistake("softmax taken twice", costs=(EXACT,))
@taking(Weighing, Weighing.share)
def softmax_twice(self, scores):
    """Your weights match a softmax of a softmax, which brings them closer together. Once is
    enough."""
    return scores.softmax(dim=-1).softmax(dim=-1)


@weights.mistake("logarithms of the weights", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def logarithms(self, scores):
    """Your numbers are the logarithms of the weights, as `log_softmax` gives them. Which function
    gives the weights themselves?"""
    return scores.log_softmax(dim=-1)


@weights.mistake("sigmoid instead of softmax", costs=(ROWS,))
@taking(Weighing, Weighing.share)
def sigmoid(self, scores):
    """Each of your weights looks at its own score alone, as a sigmoid does, so rows do not sum to
    one. What makes the words of a row compete?"""
    return scores.sigmoid()


@weights.mistake("a word does not attend to itself", costs=(EXACT,))
@taking(Weighing, Weighing.share)
def without_itself(self, scores):
    """The weights on the diagonal are 0: no word attends to itself. Here each word is compared with
    every word, itself included. Where is the diagonal taken out?"""
    return scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), -1e9).softmax(dim=-1)


@weights.mistake("the future hidden", costs=(EXACT,))
@taking(Weighing, Weighing.share)
def causal(self, scores):
    """Your words attend to themselves and to earlier words only. There is no mask here: every word
    is compared with every word. (The mask over the future comes in lecture 4.)"""
    future = torch.ones(scores.shape, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


@weights.mistake("cosine similarity", costs=(EXACT,))
@taking(Weighing, Weighing.compare)
def cosine(self, x):
    """Your numbers match cosine similarity: the word vectors were divided by their lengths first.
    Take the plain dot products; their sizes matter."""
    unit = x / x.norm(dim=-1, keepdim=True)
    return unit @ unit.T


for power in (1, 2):

    @weights.mistake("distances for dot products", costs=(EXACT,))
    @taking(Weighing, Weighing.compare)
    def distances(self, x, power=power):
        """Your numbers match scores made of distances: the nearer two words, the larger. The score
        asked for is the dot product, which also counts how long the vectors are."""
        return -((x.unsqueeze(1) - x).norm(dim=-1) ** power)


@weights.mistake("reshape for transpose", RESHAPED, costs=(EXACT,))
@taking(Weighing, Weighing.compare)
def reshaped(self, x):
    return x @ x.reshape(x.shape[1], x.shape[0])


@weights.mistake("features compared instead of words", costs=(EXACT,))
@taking(Weighing, Weighing.compare)
def features_for_words(self, x):
    """Your result is (D, D): it compares columns of x, the features. Rows are words: ω = x xᵀ, not
    xᵀ x."""
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


@context.mistake("results in the wrong order", costs=(BESIDE,))
@taking(Collecting, Collecting.result)
def swapped_results(self, z, weights, x):
    """You return the weights first. The course returns (output, weights), here
    `return z, weights`."""
    return weights, z


@context.mistake("z returned without the weights", costs=(BESIDE,))
@taking(Collecting, Collecting.result)
def context_alone(self, z, weights, x):
    """z is right, but it comes alone. Return both: `return z, weights`."""
    return z


@context.mistake("z and weights joined", costs=(BESIDE,))
@taking(Collecting, Collecting.result)
def joined(self, z, weights, x):
    """z and the weights come in one tensor. Return two, side by side: `return z, weights`."""
    return torch.cat([z, weights], dim=1)


@context.mistake("scores returned for weights", costs=(BESIDE,))
@taking(Collecting, Collecting.result)
def scores_beside_context(self, z, weights, x):
    """z is right, but what stands beside it are the scores before the softmax. Return the
    weights."""
    return z, x @ x.T


@context.mistake("weights transposed before the sum", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def weights_transposed(self, weights, x):
    """Your z sums down the columns of the weights. Word i uses row i: z = weights @ x, with no
    transpose."""
    return weights.T @ x


@context.mistake("z transposed", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def z_transposed(self, weights, x):
    """Your z is (D, T): rows and columns have changed places. Row i of z belongs to word i."""
    return (weights @ x).T


@context.mistake("summed with scores instead of weights", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def context_from_scores(self, weights, x):
    """Your z weighs the words with the raw scores. Use the weights after the softmax."""
    return x @ x.T @ x


@context.mistake("context vectors written over the words", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def context_over_inputs(self, weights, x):
    """You store z_i in row i of x while later words still need it: from the second word on, the
    sums use context vectors in place of words, and the caller's x is changed. Collect the results
    in a new tensor."""
    x = x.clone()
    for i in range(len(x)):
        x[i] = weights[i] @ x
    return x


@context.mistake("plain mean of all words", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def plain_mean(self, weights, x):
    """Each row of your z is the mean of all words, in which every word counts the same. Where do
    the weights enter?"""
    return x.mean(dim=0).expand_as(x)


@context.mistake("the words themselves returned", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def words_themselves(self, weights, x):
    """Your z holds the words as they came. What has each word collected from the others?"""
    return x.clone()


@context.mistake("words added to the context", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def plus_the_words(self, weights, x):
    """Your z is the weighted sum plus the word itself. Each word is in its own sum already, with
    the weight that it gives itself. (Adding the input comes in lecture 8.)"""
    return weights @ x + x


@context.mistake("each word times one weight", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def own_weight_alone(self, weights, x):
    """Row i of your z is word i times the weight that it gives itself. It should be a sum over all
    words: which product multiplies and adds up?"""
    return weights.diagonal().unsqueeze(-1) * x


@context.mistake("weights used twice", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def weights_used_twice(self, weights, x):
    """Your z weighs words that were weighed before. One product of weights and words is enough."""
    return weights @ weights @ x


@context.mistake("the best word alone", costs=(CONTEXT,))
@taking(Collecting, Collecting.collect)
def best_word(self, weights, x):
    """Row i of your z is the one word with the largest weight. All words count, each with its
    weight."""
    return x[weights.argmax(dim=-1)]


for wrong in (over_columns, over_all, softmax_twice, scaled, divided_by_width,
              divided_by_length, negated, without_itself, causal, cosine, distances, reshaped):  # fmt: skip

    @taking(Collecting, Collecting.weigh)
    def weighed_otherwise(self, x, wrong=wrong):
        return wrong().answer(x)

    known = next(mistake for mistake in weights.mistakes if mistake.in_steps is wrong)
    context.mistake(known.name, known.says, costs=(CONTEXT,))(weighed_otherwise)


# ----------------------------------------------------------------------------- self_attention


class Attending(Steps):
    """The reference step by step, so that a mistake can take one of them otherwise."""

    def answer(self, query, key, value):
        weights = self.share(self.scale(self.compare(query, key), query, key))
        return self.result(self.collect(weights, value, query, key), weights)

    def compare(self, query, key):
        return query @ key.mT

    def scale(self, scores, query, key):
        return scores

    def share(self, scores):
        return scores.softmax(dim=-1)

    def collect(self, weights, value, query, key):
        return torch.bmm(weights, value)

    def result(self, output, weights):
        return output


@batch.mistake("softmax over the queries", costs=(ONE,))
@taking(Attending, Attending.share)
def over_queries(self, scores):
    """Your weights match a softmax over the queries. Each query shares out its attention over the
    keys, the last axis of query · keyᵀ: use `dim=-1`."""
    return scores.softmax(dim=1)


@batch.mistake("softmax over the batch", costs=(BATCH,))
@taking(Attending, Attending.share)
def over_batch(self, scores):
    """Your weights match a softmax over the batch, so sentences compete with each other. The keys
    are the last axis: use `dim=-1`."""
    return scores.softmax(dim=0)


@batch.mistake("softmax over the whole matrix", costs=(ONE,))
@taking(Attending, Attending.share)
def over_matrix(self, scores):
    """Your weights sum to one over all queries and keys of a sentence together. Each query shares
    out an attention of its own over the keys: use `dim=-1`."""
    return scores.flatten(1).softmax(dim=-1).reshape(scores.shape)


@batch.mistake("exp without the division", costs=(ONE,))
@taking(Attending, Attending.share)
def batch_exp_without_sum(self, scores):
    """Your output weighs the values with exp of the scores. Divide each row by its own sum, so that
    it sums to one."""
    return scores.exp()


@batch.mistake("softmax taken twice", costs=(ONE,))
@taking(Attending, Attending.share)
def batch_softmax_twice(self, scores):
    """Your weights match a softmax of a softmax, which brings them closer together. Once is
    enough."""
    return scores.softmax(dim=-1).softmax(dim=-1)


@batch.mistake("scaled although unscaled was asked", SCALED, costs=(ONE,))
@taking(Attending, Attending.scale)
def scaled_batch(self, scores, query, key):
    return scores / key.shape[-1] ** 0.5


@batch.mistake("reshape for transpose", RESHAPED, costs=(ONE,))
@taking(Attending, Attending.compare)
def key_reshaped(self, query, key):
    return query @ key.reshape(len(key), key.shape[2], key.shape[1])


@batch.mistake("divided by d_k", costs=(ONE,))
@taking(Attending, Attending.scale)
def batch_divided_by_width(self, scores, query, key):
    """Your numbers match scores divided by d_k. This assignment asks for unscaled scores."""
    return scores / key.shape[-1]


for axis_of in (lambda query, key: key.shape[1], lambda query, key: query.shape[1]):

    @batch.mistake("scaled by the number of words", costs=(ONE,))
    @taking(Attending, Attending.scale)
    def scaled_by_length(self, scores, query, key, axis_of=axis_of):
        """Your numbers match scores divided by the root of a number of words. This assignment asks
        for unscaled scores."""
        return scores / axis_of(query, key) ** 0.5


@batch.mistake("scores negated", costs=(ONE,))
@taking(Attending, Attending.scale)
def batch_negated(self, scores, query, key):
    """The better a key matches, the less weight it gets: your scores have the wrong sign. Is there
    a minus in the exponent?"""
    return -scores


@batch.mistake("query and key swapped", costs=(ONE,))
@taking(Attending, Attending.compare)
def swapped_query_and_key(self, query, key):
    """You score keys against queries (key · queryᵀ). Rows of the scores belong to the queries:
    query · keyᵀ, shape (B, T, S)."""
    return key @ query.mT


@batch.mistake("key used as value", costs=(ONE,))
@taking(Attending, Attending.collect)
def key_for_value(self, weights, value, query, key):
    """Your output is a weighted sum of the keys. Weights come from query and key; what they weigh
    is the value."""
    return torch.bmm(weights, key)


@batch.mistake("query used as value", costs=(ONE,))
@taking(Attending, Attending.collect)
def query_for_value(self, weights, value, query, key):
    """Your output is a weighted sum of the queries. What the weights weigh is the value."""
    return torch.bmm(weights, query)


for left, right in (("query", "query"), ("key", "key"), ("value", "value"), ("query", "value")):

    @batch.mistake(
        {"query": "query used as key", "key": "key used as query"}.get(right, "value used as key"),
        {
            "query": "You compare the queries with themselves. Compare each query with the keys.",
            "key": "You compare the keys with themselves. Compare each query with the keys.",
        }.get(right, "You compare with the values. What the query is compared with are the keys; "
              "the values are collected afterwards."),
        costs=(ONE,),
    )  # fmt: skip
    class ComparedWithAnother(Attending):
        def answer(self, query, key, value, left=left, right=right):
            given = {"query": query, "key": key, "value": value}
            scores = self.scale(self.compare(given[left], given[right]), query, key)
            weights = self.share(scores)
            return self.result(self.collect(weights, value, query, key), weights)


@batch.mistake("query used as key and value", costs=(ONE,))
class QueryEverywhere(Attending):
    """Your output depends on the query alone. It is compared with the keys, and what is collected
    are the values."""

    def answer(self, query, key, value):
        return Attending.answer(self, query, query, query)


@batch.mistake("key and value exchanged", costs=(ONE,))
class KeyAndValueExchanged(Attending):
    """You compare with the values and collect the keys. It is the other way round: compared with
    the key, collected from the value."""

    def answer(self, query, key, value):
        return super().answer(query, value, key)


@batch.mistake("sentences of a batch mixed", costs=(BATCH,))
class MixedBatch(Attending):
    """A word attends to words of other sentences: the batch was flattened into one long sentence.
    Keep axis 0 apart, as `torch.bmm` does."""

    def answer(self, query, key, value):
        flat = [item.reshape(1, -1, item.shape[-1]) for item in (query, key, value)]
        return super().answer(*flat).reshape(*query.shape[:2], value.shape[-1])


@batch.mistake("only the first sentence used", costs=(BATCH,))
class FirstSentenceOnly(Attending):
    """Every sentence of the batch gets the first one's output. Keep axis 0 throughout."""

    def answer(self, query, key, value):
        return super().answer(query[:1], key[:1], value[:1]).expand(len(query), -1, -1)


@batch.mistake("only the first sentence used", costs=(BATCH,))
class FirstSentenceAlone(Attending):
    """Only the output of the first sentence comes back. Keep axis 0 throughout, (B, T, d_v)."""

    def answer(self, query, key, value):
        return super().answer(query[:1], key[:1], value[:1])


@batch.mistake("output as wide as the key", costs=(BATCH,))
@taking(Attending, Attending.collect)
def cut_to_width_of_key(self, weights, value, query, key):
    """Your output is cut to the width of the keys. It is as wide as the values, (B, T, d_v): where
    does your code take d_k for d_v?"""
    return torch.bmm(weights, value)[..., : key.shape[-1]]


@batch.mistake("no softmax", costs=(ONE,))
@taking(Attending, Attending.share)
def without_softmax(self, scores):
    """Your output weighs the values with raw scores. Turn each row of scores into weights with a
    softmax first."""
    return scores


@batch.mistake("plain mean of the values", costs=(ONE,))
@taking(Attending, Attending.share)
def plain_mean_of_values(self, scores):
    """Every query gets the mean of all values, in which every key counts the same. Where do the
    scores enter? And along which axis runs the softmax?"""
    return torch.full_like(scores, 1 / scores.shape[-1])


@batch.mistake("the best key alone", costs=(ONE,))
@taking(Attending, Attending.share)
def best_key(self, scores):
    """Each query gets the value of the one key with the largest score. All values count, each with
    its weight; and through a choice of the largest no gradient reaches the scores."""
    return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)


@batch.mistake("query added to the output", costs=(ONE,))
@taking(Attending, Attending.collect)
def plus_query(self, weights, value, query, key):
    """Your output is the weighted sum plus the query. Nothing is added here. (Adding the input
    comes in lecture 8.)"""
    return torch.bmm(weights, value) + query


@batch.mistake("value added to the output", costs=(ONE,))
@taking(Attending, Attending.collect)
def plus_value(self, weights, value, query, key):
    """Your output is the weighted sum plus the values. Nothing is added here. (Adding the input
    comes in lecture 8.)"""
    return torch.bmm(weights, value) + value


@batch.mistake("weights returned for the output", costs=(ONE,))
@taking(Attending, Attending.collect)
def weights_for_output(self, weights, value, query, key):
    """You return the weights. The last step is missing: multiply them with the values."""
    return weights


@batch.mistake("weights returned beside the output", costs=(ONE,))
@taking(Attending, Attending.result)
def output_and_weights(self, output, weights):
    """The output is right, but it comes in a tuple. This function returns the output alone."""
    return output, weights


@batch.mistake("output transposed", costs=(ONE,))
@taking(Attending, Attending.result)
def output_transposed(self, output, weights):
    """Your output is (B, d_v, T): its last two axes have changed places. Row i of a sentence's
    output belongs to query i."""
    return output.mT


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


@equivariant.mistake("invariance tested, not equivariance", costs=(TELLS,))
@taking(Asking, Asking.after)
def invariance(self, f, x, permutation):
    """You compare f(x) with f(x[permutation]): that asks whether the order leaves no trace
    (invariance). Equivariance asks whether the output is reordered in the same way."""
    return f(x)


@equivariant.mistake("permutation undone in the wrong direction")
class InversePermutation(Asking):
    """This holds only for permutations that are their own inverse, such as swapping two words. Try
    it by hand with three words moved round."""

    def answer(self, f, x, permutation):
        return self.compare(f(x[permutation])[permutation], f(x))


@equivariant.mistake("permutation undone in the wrong direction")
@taking(Asking, Asking.after)
def reordered_backwards(self, f, x, permutation):
    """On one side of your equation the words are reordered, on the other they are put back. Both
    are the same only for permutations that undo themselves, such as swapping two words. Try it by
    hand with three words moved round."""
    return f(x)[permutation.argsort()]


@equivariant.mistake("exact equality")
@taking(Asking, Asking.compare)
def exact_equality(self, before, after):
    """Sums in another order differ in the last digits of float32, and `torch.equal` forgives
    nothing. Compare with a tolerance: rtol 1e-4, atol 1e-5."""
    return torch.equal(before, after)


@equivariant.mistake("numbers compared without their places", costs=(TELLS,))
@taking(Asking, Asking.compare)
def same_numbers_anywhere(self, before, after):
    """You compare which numbers come out, wherever they stand. Each row must land exactly where the
    permutation puts it."""
    return close(before.flatten().sort().values, after.flatten().sort().values)


for boil_down in (torch.sum, torch.mean, torch.norm, torch.max):

    @equivariant.mistake("one number compared for the whole output", costs=(TELLS,))
    @taking(Asking, Asking.compare)
    def totals(self, before, after, boil_down=boil_down):
        """You compare one number of the two sides, such as their sum, mean or norm. Reordering rows
        does not change it, so it says nothing about where each row went. Compare entry by entry."""
        return close(boil_down(before), boil_down(after))


@equivariant.mistake("rows averaged before they are compared", costs=(TELLS,))
@taking(Asking, Asking.compare)
def mean_rows(self, before, after):
    """You compare the mean over the words. It is the same in any order, so it says nothing about
    where each row went. Compare the two sides row by row."""
    return close(before.mean(dim=0), after.mean(dim=0))


@equivariant.mistake("always True")
@taking(Asking, Asking.compare)
def always_true(self, before, after):
    """Your answer is True for every f. Do you compare numbers, not shapes? And do your two sides
    differ: are the words reordered before f on one, f(x[permutation]), and after f on the other,
    f(x)[permutation]?"""
    return before.shape == after.shape


for place, which in ((0, "first"), (-1, "last")):

    @equivariant.mistake(
        f"only the {which} row compared",
        says=f"You look at the {which} row alone. The order may leave its trace in any other row: "
        "compare all of them.",
        costs=(TELLS,),
    )
    @taking(Asking, Asking.compare)
    def one_row(self, before, after, place=place):
        return close(before[place], after[place])


@equivariant.mistake("numbers compared without their places", costs=(TELLS,))
@taking(Asking, Asking.compare)
def same_columns_anywhere(self, before, after):
    """You sort before you compare, so it does not matter where a row stands. Each row must land
    exactly where the permutation puts it."""
    return close(before.sort(dim=0).values, after.sort(dim=0).values)


@equivariant.mistake("one agreement is enough", costs=(TELLS,))
@taking(Asking, Asking.compare)
def any_entry(self, before, after):
    """Your answer is True as soon as one entry of the two sides agrees. All of them must: `any` or
    `all`?"""
    return bool(torch.isclose(before, after, rtol=1e-4, atol=1e-5).any())


@equivariant.mistake("True and False exchanged", costs=(TELLS,))
@taking(Asking, Asking.compare)
def turned_round(self, before, after):
    """Your answer is True where the two sides differ and False where they agree. Is there a `not`
    too much, or a `!=`, or are two returns exchanged?"""
    return not close(before, after)


for reverse in (lambda x, p: torch.arange(len(x) - 1, -1, -1), lambda x, p: p.flip(0)):

    @equivariant.mistake("another permutation than the one given", costs=(TELLS,))
    @taking(Asking, Asking.order)
    def own_permutation(self, x, permutation, reverse=reverse):
        """You reorder the words by a permutation of your own, such as the reverse order. The
        question is about the one that was given: `permutation`."""
        return reverse(x, permutation)


@equivariant.mistake("always False")
@taking(Asking, Asking.before)
def columns_reordered(self, f, x, permutation):
    """Your answer is False for every f. Are the words reordered, the rows of x (`x[permutation]`),
    and not its columns? And does your comparison forgive rounding?"""
    return f(x[:, permutation % x.shape[1]])


@equivariant.mistake("f left out on one side", costs=(TELLS,))
@taking(Asking, Asking.after)
def f_left_out(self, f, x, permutation):
    """You compare f(x[permutation]) with the reordered words themselves. On the other side stands
    f, too: f(x)[permutation]."""
    return x[permutation]


@equivariant.mistake("f left out on one side", costs=(TELLS,))
class FLeftOut(Asking):
    """You compare f(x[permutation]) with the reordered words themselves. On the other side stands
    f, too: f(x)[permutation]."""

    def answer(self, f, x, permutation):
        return torch.allclose(f(x[permutation]), x[permutation], rtol=1e-4, atol=1e-5)


@equivariant.mistake("tensor returned for a bool")
@taking(Asking, Asking.compare)
def tensor_for_bool(self, before, after):
    """The answer is right, but it is a tensor. Wrap it in `bool(…)`."""
    return torch.isclose(before, after, rtol=1e-4, atol=1e-5).all()


@equivariant.mistake("torch.allclose with its own tolerances")
@taking(Asking, Asking.compare)
def default_tolerance(self, before, after):
    """`torch.allclose` without further arguments uses rtol 1e-5 and atol 1e-8. Give it the
    tolerances of the text: rtol 1e-4 and atol 1e-5."""
    return torch.allclose(before, after)


for rtol, atol in ((1e-4, 0.0), (1e-4, 1e-8)):

    @equivariant.mistake("relative tolerance only")
    @taking(Asking, Asking.compare)
    def relative_alone(self, before, after, rtol=rtol, atol=atol):
        """Near 0 a relative tolerance forgives next to nothing, and rounding is not relative to a
        sum that cancels. The text asks for both: rtol 1e-4 and atol 1e-5."""
        return torch.allclose(before, after, rtol=rtol, atol=atol)


for rtol, atol in ((0.0, 1e-5), (1e-5, 1e-5)):

    @equivariant.mistake("absolute tolerance only")
    @taking(Asking, Asking.compare)
    def absolute_alone(self, before, after, rtol=rtol, atol=atol):
        """Large numbers are rounded by more than 1e-5. The text asks for both tolerances: rtol 1e-4
        and atol 1e-5."""
        return torch.allclose(before, after, rtol=rtol, atol=atol)


@equivariant.mistake("difference without its absolute value")
@taking(Asking, Asking.compare)
def difference_with_sign(self, before, after):
    """You ask whether the difference is small, but a large negative difference is small too. Take
    its absolute value, or use `torch.allclose`."""
    return bool((before - after).max() < 1e-5)


for sign in (1, -1):

    @equivariant.mistake("difference without its absolute value")
    @taking(Asking, Asking.compare)
    def difference_one_way(self, before, after, sign=sign):
        """You ask whether the difference is small, but a large negative difference is small too.
        Take its absolute value, or use `torch.allclose`."""
        return bool((sign * (before - after) <= 1e-5 + 1e-4 * after.abs()).all())


@equivariant.mistake("the two tolerances exchanged")
@taking(Asking, Asking.compare)
def tolerances_exchanged(self, before, after):
    """Your relative tolerance is 1e-5 and your absolute one 1e-4. The text has them the other way
    round: rtol 1e-4 and atol 1e-5."""
    return close(before, after, rtol=1e-5, atol=1e-4)


for rtol, atol in (
    (0.01, 0.01),
    (1e-4, 1e-3),
    (1e-3, 1e-5),
    (1e-4, 1e-4),
    (1e-3, 1e-4),
    (1e-3, 1e-3),
    (0.0, 1e-3),
):

    @equivariant.mistake("tolerance too wide")
    @taking(Asking, Asking.compare)
    def loose_tolerance(self, before, after, rtol=rtol, atol=atol):
        """A small effect of the order goes unnoticed. Use rtol 1e-4 and atol 1e-5."""
        return close(before, after, rtol=rtol, atol=atol)


@equivariant.mistake("mean difference compared")
@taking(Asking, Asking.compare)
def mean_difference(self, before, after):
    """You ask whether the two sides agree on average. A single wrong row is lost in a mean: every
    entry must agree within the tolerances."""
    return bool((before - after).abs().mean() < 1e-3)
