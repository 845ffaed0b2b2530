"""Answers to `basic_self_attention`."""

import torch

from assignments.a2_self_attention.answers.attention_weights import weights_in_loops
from assignments.a2_self_attention.answers.bank import BANK
from assignments.a2_self_attention.rubric import BESIDE, CONTEXT, context, weights
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers


def sums_in_loops(weights, values):
    """(T, S) and (S, d) -> (T, d), number by number."""
    rows = []
    for i in range(len(weights)):
        row = []
        for k in range(values.shape[1]):
            total = 0.0
            for j in range(len(values)):
                total = total + weights[i, j] * values[j, k]
            row.append(total)
        rows.append(torch.stack(row))
    return torch.stack(rows)


class Attended:
    def __init__(self, x):
        self.x = x

    @property
    def weights(self):
        return torch.mm(self.x, self.x.t()).softmax(dim=1)

    @property
    def z(self):
        return torch.mm(self.weights, self.x)


ANSWERS = Answers(
    __name__, BANK, context,
    """
    def basic_self_attention(x):
        scores = x @ x.T
        scaled = scores
        weights = scaled.softmax(dim=-1)
        z = weights @ x
        return z, weights
    """,
    torch=torch, Attended=Attended, weights_in_loops=weights_in_loops, sums_in_loops=sums_in_loops,
    **{given.code.__name__: given.code for given in BANK.answers if given.right},
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("results in the wrong order", "return weights, z", BESIDE,
     "You return the weights first. The course returns (output, weights), here `return z, weights`.")
slip("z returned without the weights", "return z", BESIDE,
     "z is right, but it comes alone. Return both, with `return z, weights`.")
slip("z and weights joined", "return torch.cat([z, weights], dim=1)", BESIDE,
     "z and the weights come in one tensor. Return two, with `return z, weights`.")
slip("scores returned for weights", "return z, x @ x.T", BESIDE,
     "z is right, but what comes with it are the scores before the softmax. Return the weights.")
slip("weights transposed before the sum", "z = weights.T @ x", CONTEXT,
     "Your z sums down the columns of the weights. Word i uses row i, so z = weights @ x, with no transpose.")
slip("z transposed", "z = (weights @ x).T", CONTEXT,
     "Your z is (D, T), because rows and columns have changed places. Row i of z belongs to word i.")
slip("summed with scores instead of weights", "z = x @ x.T @ x", CONTEXT,
     "Your z weighs the words with the raw scores. Use the weights after the softmax.")
slip("context vectors written over the words", """
    rows = x.clone()
    for i in range(len(x)):
        rows[i] = weights[i] @ rows
    z = rows
""", CONTEXT,
     "You store z_i in row i of x while later words still need it. From the second word on, the sums use context "
     "vectors in place of words, and the caller's x is changed. Collect the results in a new tensor.")
slip("plain mean of all words", "z = x.mean(dim=0).expand_as(x)", CONTEXT,
     "Each row of your z is the mean of all words, in which every word counts the same. Where do the weights enter?")
slip("the {which} word left out of the sum", "z = weights[:, {words}] @ x[{words}]", CONTEXT,
     "Your z adds up all words without the {which} one. Which words does your loop go through? `range(T)` counts "
     "from 0 to T − 1.",
     each={"words": ("1:", ":-1"), "which": ("first", "last")})
slip("the last word alone", "z = weights[:, -1:] * x[-1]", CONTEXT,
     "Row i of your z is the last word times its weight. If a loop should add up, is there a `=` in it where `+=` "
     "belongs?")
slip("divided by the number of words", "z = weights @ x / len(x)", CONTEXT,
     "Your z is the weighted sum divided by the number of words. The weights sum to one already. Is there a `mean` "
     "where a `sum` should be?")
slip("a softmax of the context vectors", "z = (weights @ x).softmax(dim=-1)", CONTEXT,
     "You take a softmax of the weighted sums. There is one softmax here, and it makes the weights. A context vector "
     "is the sum as it is.")
slip("the words themselves returned", "z = x.clone()", CONTEXT,
     "Your z holds the words as they came. What has each word collected from the others?")
slip("words added to the context", "z = weights @ x + x", CONTEXT,
     "Your z is the weighted sum plus the word itself. Each word is in its own sum already, with the weight that it "
     "gives itself. (Adding the input comes in lecture 8.)")
slip("each word times one weight", "z = weights.diagonal().unsqueeze(-1) * x", CONTEXT,
     "Row i of your z is word i times the weight that it gives itself. It should be a sum over all words. Which "
     "product multiplies and adds up?")
slip("weights used twice", "z = weights @ weights @ x", CONTEXT,
     "Your z weighs words that were weighed before. One product of weights and words is enough.")
slip("the best word alone", "z = x[weights.argmax(dim=-1)]", CONTEXT,
     "Row i of your z is the one word with the largest weight. All words count, each with its weight.")
# what makes other weights does so here
for shared in (
    *weights.named("softmax over the columns", "softmax over all words at once", "softmax taken twice",
                   "scaled although unscaled was asked", "divided by D"),
    weights.named("divided by the number of words")[-1],
    *weights.named("scores negated", "a word does not attend to itself", "the future hidden", "cosine similarity"),
    weights.named("distances for dot products")[-1],
    *weights.named("reshape for transpose"),
):
    ANSWERS.again(shared, CONTEXT)

right = ANSWERS.right
right("context_by_loops", """
    weights = weights_by_loops(x)
    return torch.stack([sum(weights[i, j] * x[j] for j in range(len(x))) for i in range(len(x))]), weights
""")
right("context_by_einsum", "weights = weights_by_einsum(x); return torch.einsum('ij,jd->id', weights, x), weights")
right("context_as_a_list_of_two", "weights = weights_by_exp_and_sum(x); return [torch.matmul(weights, x), weights]")
right("context_with_a_batch_of_one",
      "weights = weights_by_logarithms(x); return torch.bmm(weights[None], x[None])[0], weights")
right("context_transposed_twice", "weights = weights_by_broadcasting(x); return (x.T @ weights.T).T, weights")
right("context_by_filling", """
    weights = weights_by_logarithms(x)
    rows = torch.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            rows[i] = rows[i] + weights[i, j] * x[j]
    return rows, weights
""")
right("context_by_broadcasting", "z = (weights.unsqueeze(-1) * x.unsqueeze(0)).sum(dim=1)")
right("context_by_tensordot", "weights = weights_by_symmetry(x); z = torch.tensordot(weights, x, dims=1)")
right("context_word_by_word", "z = torch.vstack([(row[:, None] * x).sum(0) for row in weights])")
right("context_divided_late", """
    powers = scores.exp()
    total = powers.sum(dim=-1, keepdim=True)
    return powers @ x / total, powers / total
""")
right("context_in_properties", "attended = Attended(x); return attended.z, attended.weights")
right("context_number_by_number", "weights = weights_in_loops(x, x); z = sums_in_loops(weights, x)", slow=LOOPS)
right("context_by_products_of_all_with_all", """
    scores = (x[:, None] * x[None]).sum(dim=-1)  # (T, T, D) before the sum
    z = (weights[:, :, None] * x[None]).sum(dim=1)  # (T, T, D) before the sum
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("context_with_the_softmax_along_the_queries", "weights = scaled.softmax(dim=0)", named="softmax over the columns",
      published=("nerminnuraydogan/vision-transformer#1",
                 "The softmax runs along the words that ask, not along those that are looked at."))
wrong("context_detached", "z = (weights @ x).detach()", told=("wrong gradient", "wrong about gradients"))
wrong("context_with_detached_weights", "weights = scaled.softmax(dim=-1).detach()",
      told=("wrong gradient", "wrong about gradients"))
wrong("context_in_a_dict", "return {'z': z, 'weights': weights}", told="results in a dict")
wrong("context_of_equal_weights", "z = torch.full((len(x), len(x)), 1 / len(x)).to(x) @ x",
      named="plain mean of all words")
wrong("context_of_the_last_word", "z = weights[-1:] @ x", told="too short or too long")
wrong("context_added_up", "z = (weights @ x).sum(dim=0)", told="another number of axes")
wrong("context_on_the_wrong_side", "z = x @ weights", told="stops with RuntimeError")
wrong("context_and_scaled_weights", "return z, (scores / x.shape[1] ** 0.5).softmax(-1)",
      told="the z right, the weights wrong")
wrong("context_three_results", "return z, weights, x", told="another number of results")
wrong("context_as_arrays", "return z.detach().numpy(), weights.detach().numpy()", told="another type")
wrong("context_transposed_and_swapped", "z = weights.T @ x; return weights, z",
      named=("results in the wrong order", "weights transposed before the sum"))
wrong("context_scaled_and_alone", "scaled = scores / x.shape[1] ** 0.5; return z",
      named=("z returned without the weights", "scaled although unscaled was asked"))
wrong("context_of_a_hundred_words", "x = x[:100]")
careless(ANSWERS, one_sentence="always one shape", a_hundred_words=None, zeros="weights that are no shares")
# fmt: on
