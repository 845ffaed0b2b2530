"""Answers to `attention_weights`."""

import torch
import torch.nn.functional as F

from assignments.a2_self_attention.answers.bank import BANK
from assignments.a2_self_attention.rubric import EXACT, ROWS, weights
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

SCALED = (
    "Your numbers match scores divided by √{width} before the softmax. This assignment asks for the "
    "unscaled dot products of lecture 2; the division comes in lecture 3. Leave it out here."
)
RESHAPED = (
    "The shape fits, but `reshape` and `view` keep the numbers in their old order, so words and "
    "features get mixed up. `transpose` (for two axes also `.T`) turns rows into columns."
)


def weights_in_loops(queries, keys):
    """As lecture 2 begins: (T, d) and (S, d) -> (T, S), number by number."""
    T, S = len(queries), len(keys)
    rows = []
    for i in range(T):
        scores = []
        for j in range(S):
            total = 0.0
            for k in range(queries.shape[1]):
                total = total + queries[i, k] * keys[j, k]
            scores.append(total)
        whole = 0.0
        for j in range(S):
            whole = whole + torch.exp(scores[j])
        rows.append(torch.stack([torch.exp(scores[j]) / whole for j in range(S)]))
    return torch.stack(rows)


ANSWERS = Answers(
    __name__, BANK, weights,
    """
    def attention_weights(x):
        scores = x @ x.T
        scaled = scores
        weights = scaled.softmax(dim=-1)
        return weights
    """,
    torch=torch, F=F, weights_in_loops=weights_in_loops,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("softmax over the columns", "weights = scaled.softmax(dim=0)", ROWS,
     "Your weights match a softmax over the wrong axis, so their columns sum to one, not their rows. Row i holds how "
     "word i shares out its attention, so use `dim=-1` (and, if you sum by hand, `keepdim=True`).",
     published=("nerdai/llms-from-scratch-rs#30", "The softmax runs over the first axis of the scores."))
slip("scores returned for weights", "weights = scaled", ROWS,
     "Your numbers are the scores ω = x xᵀ themselves. Turn each row into weights with a softmax.")
slip("divided by the sum without exp", "weights = scaled / scaled.sum(dim=-1, keepdim=True)", ROWS,
     "Your numbers match each score divided by its row's sum. Scores can be negative, so take exp of each first, which "
     "is what the softmax does.")
slip("exp without the division", "weights = scaled.exp()", ROWS,
     "Your numbers match exp of the scores. Divide each row by its own sum.")
slip("softmax over all words at once", "weights = scaled.flatten().softmax(dim=0).reshape(scaled.shape)", ROWS,
     "Your weights sum to one over the whole matrix. Each row is a word's own attention and sums to one by itself, so "
     "use `dim=-1`.")
slip("softmax taken twice", "weights = scaled.softmax(dim=-1).softmax(dim=-1)", EXACT,
     "Your weights match a softmax of a softmax, which brings them closer together. Once is enough.")
slip("logarithms of the weights", "weights = scaled.log_softmax(dim=-1)", ROWS,
     "Your numbers are the logarithms of the weights, as `log_softmax` gives them. Which function gives the weights "
     "themselves?")
slip("sigmoid instead of softmax", "weights = scaled.sigmoid()", ROWS,
     "Each of your weights looks at its own score alone, as a sigmoid does, so rows do not sum to one. What makes the "
     "words of a row compete?")
slip("a word does not attend to itself",
     "weights = scaled.masked_fill(torch.eye(len(scaled), dtype=torch.bool), {low}).softmax(dim=-1)", EXACT,
     "The weights on the diagonal are 0, so no word attends to itself. Here each word is compared with every word, "
     "itself included. Where is the diagonal taken out?",
     each={"low": (-1e9, "-torch.inf")})
slip("a word does not attend to itself",
     "weights = scaled.masked_fill(torch.eye(len(scaled), dtype=torch.bool), 0.0).softmax(dim=-1)", EXACT,
     "The scores on the diagonal are 0, as they are where a loop leaves out j = i. Each word is compared with every "
     "word, itself included, and its own score is rarely 0.")
slip("a word does not attend to itself",
     "weights = scaled.softmax(dim=-1).masked_fill(torch.eye(len(scaled), dtype=torch.bool), 0.0)", EXACT,
     "The weights on the diagonal are 0, and what is left of a row does not sum to one. Here each word is compared "
     "with every word, itself included. Where is the diagonal taken out?")
slip("scores {where} the diagonal left at 0", "weights = scaled.{half}().softmax(dim=-1)", EXACT,
     "Your scores {where} the diagonal are 0, as they are where a loop fills one half of the matrix. "
     "Each word is compared with every word, with those before it and those after it.",
     each={"half": ("triu", "tril"), "where": ("below", "above")})
slip("the future hidden",
     "weights = scaled.masked_fill(torch.ones_like(scaled).triu(1) == 1, -torch.inf).softmax(dim=-1)", EXACT,
     "Your words attend to themselves and to earlier words only. There is no mask here, so every word is compared with "
     "every word. (The mask over the future comes in lecture 4.)")
slip("scaled although unscaled was asked", "scaled = scores / x.shape[1] ** 0.5", EXACT,
     SCALED.format(width="D"))
slip("multiplied by √D", "scaled = scores * x.shape[1] ** 0.5", EXACT,
     "Your numbers match scores multiplied by √D. This assignment asks for plain dot products, and the scale of "
     "lecture 3 divides.")
slip("divided by D", "scaled = scores / x.shape[1]", EXACT,
     "Your numbers match scores divided by D, the width of a word. This assignment asks for plain dot products. Is "
     "there a mean where a sum should be, or a division too much?")
slip("divided by the number of words", "scaled = scores / len(x) ** {power}", EXACT,
     "Your numbers match scores divided by the number of words, or by its root. Nothing is divided before the softmax "
     "here; and the softmax does its own division.",
     each={"power": (0.5, 1.0)})
slip("scores negated", "scaled = -scores", ROWS,
     "The more similar a word, the less weight it gets, so your scores have the wrong sign. Is there a minus in the "
     "exponent?")
slip("cosine similarity", "unit = x / x.norm(dim=-1, keepdim=True); scores = unit @ unit.T", EXACT,
     "Your numbers match cosine similarity, in which the word vectors are divided by their lengths first. Take the "
     "plain dot products, because their sizes matter.")
# of many words, `cdist` rounds, so that no distance is 0
slip("distances for dot products", "scores = -{distances}", EXACT,
     "Your numbers match scores made of distances, which are the larger the nearer two words are. The score asked for "
     "is the dot product, which also counts how long the vectors are.",
     each={"distances": ("torch.cdist(x, x)", "(x.unsqueeze(1) - x).norm(dim=-1)",
                         "(x.unsqueeze(1) - x).square().sum(dim=-1)")})
slip("reshape for transpose", "scores = x @ x.reshape(x.shape[1], x.shape[0])", EXACT,
     RESHAPED)
slip("features compared instead of words", "scores = x.T @ x", EXACT,
     "Your result is (D, D), because it compares columns of x, the features. Rows are words, so ω = x xᵀ, not xᵀ x.")

right = ANSWERS.right
right("weights_by_loops", """
    rows = []
    for i in range(len(x)):
        products = torch.stack([torch.dot(x[i], x[j]) for j in range(len(x))])
        rows.append(torch.exp(products) / torch.exp(products).sum())
    return torch.stack(rows)
""")
right("weights_by_einsum", "return F.softmax(torch.einsum('id,jd->ij', x, x), dim=1)")
right("weights_by_broadcasting", """
    scores = (x[:, None, :] * x[None, :, :]).sum(-1)
    return torch.softmax(scores - scores.max(dim=-1, keepdim=True).values, dim=-1)
""")
# the scores are symmetric, so a softmax down the columns, turned round, is one along the rows
right("weights_by_symmetry", "weights = (x @ x.mT).softmax(dim=0).mT")
right("weights_by_logarithms", """
    scores = torch.mm(x, x.t())
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
""")
right("weights_by_inner_products", """
    scores = torch.inner(x, x)
    powers = scores.sub(scores.amax(1, keepdim=True)).exp()
    return powers.div(powers.sum(1).unsqueeze(1))
""")
right("weights_by_columns", "powers = scores.exp(); return (powers / powers.sum(0)).T")
right("weights_as_a_layer", "return torch.nn.Softmax(dim=1)(torch.tensordot(x, x, dims=([1], [1])))")
right("weights_as_a_batch_of_one", "return torch.bmm(x[None], x[None].transpose(1, 2)).softmax(2)[0]")
right("weights_filled_in_place", """
    rows = x.new_zeros(len(x), len(x))
    for i, word in enumerate(x):
        rows[i] = torch.softmax(x.mv(word), 0)
    return rows
""")
right("weights_by_nested_vmap", """
    def scores_of(word):
        return torch.vmap(lambda other: word @ other)(x)

    scores = torch.vmap(scores_of)(x)
""")
right("weights_number_by_number", "return weights_in_loops(x, x)", slow=LOOPS)
right("weights_by_products_of_four", """
    eye = torch.eye(x.shape[1], dtype=x.dtype)
    scores = torch.einsum("td,dk,ek,se->ts", x, eye, eye, x)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("weights_that_change_their_input", "x -= x.mean(); x += x.mean(); scores = x @ x.T",
      told="stops with RuntimeError")
wrong("weights_as_numpy", "return weights.detach().numpy()", told="another type")
wrong("weights_as_a_list", "return weights.tolist()", told="a list of numbers")
wrong("weights_for_two_words_only", """
    if x.shape == (2, 2):
        return torch.tensor([[0.9526, 0.0474], [0.7311, 0.2689]])
    return torch.full((len(x), len(x)), 1 / len(x))
""", told="weights that are no shares")
wrong("weights_rounded", "return weights.mul(100).round().div(100)", told="rounded")
wrong("weights_by_elementwise_product", "scores = x * x", told="too short or too long")
wrong("weights_symmetrised", "return (weights + weights.T) / 2", told="weights that are no shares")
wrong("weights_of_the_first_word", "scores = x[0] @ x.T", told="right numbers in another shape")
wrong("weights_scaled_over_columns", "scaled = scores / x.shape[-1] ** 0.5; weights = scaled.softmax(dim=0)",
      named=("softmax over the columns", "scaled although unscaled was asked"))
wrong("cosine_scores_alone", "return F.cosine_similarity(x[:, None], x[None], dim=-1)",
      named=("scores returned for weights", "cosine similarity"))
wrong("weights_plus_the_identity", "return weights + torch.eye(len(x))", told="weights that are no shares")
wrong("weights_of_centred_words", "centred = x - x.mean(dim=0); scores = centred @ centred.T")
wrong("weights_of_a_hundred_words", "x = x[:100]")
careless(ANSWERS, one_sentence="always one shape", a_hundred_words=None, zeros="weights that are no shares")
# fmt: on


@BANK.right("attention_weights")
def weights_by_exp_and_sum(x, eps=0.0):
    exponentials = torch.exp(x @ x.transpose(0, 1))
    return exponentials / (exponentials.sum(dim=1, keepdim=True) + eps)
