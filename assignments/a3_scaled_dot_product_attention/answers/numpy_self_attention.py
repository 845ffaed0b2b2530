"""Answers to `numpy_self_attention`."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK
from assignments.a3_scaled_dot_product_attention.answers.scaled_dot_product_attention import (
    ROOT_OF_LENGTH,
)
from assignments.a3_scaled_dot_product_attention.rubric import (
    EXACT,
    LARGE,
    ROWS,
    in_numpy,
    scaled,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers


def rows_softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def product(a, b):
    """(n, m) and (m, l) -> (n, l), number by number."""
    result = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(b.shape[0]):
                result[i, j] += a[i, k] * b[k, j]
    return result


ANSWERS = Answers(
    __name__, BANK, in_numpy,
    """
    def numpy_self_attention(X, Wq, Wk, Wv):
        Q, K, V = X @ Wq, X @ Wk, X @ Wv
        compared = Q @ K.T
        divisor = np.sqrt(K.shape[1])
        scores = compared / divisor
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        whole = powers.sum(axis=1, keepdims=True)
        weights = powers / whole
        output = weights @ V
        return output, weights
    """,
    math=math, np=np, torch=torch, rows_softmax=rows_softmax, unit=unit, product=product,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("√ of the length", "divisor = np.sqrt(len(X))", EXACT, ROOT_OF_LENGTH)
slip("divided by the number of words", "divisor = len(X)", EXACT,
     "Your numbers match scores divided by the number of words. It is the root of the width of a key, √d_k. Which axis "
     "of `key` is that?")
slip("always divided by 2", "divisor = 2.0", EXACT,
     "You divide by 2, as in the example, where d_k is 4. With another width it is another root.")
slip("√ of the word vectors' width", "divisor = np.sqrt(X.shape[1])", EXACT,
     "Your numbers match scores divided by √D, the width of the words in X. What counts is the width of queries and "
     "keys, after the projection.")
slip("softmax over the columns", "weights = rows_softmax(scores.T).T", ROWS,
     "Your columns sum to one, and it should be your rows, because row i says how word i shares out its attention.")
slip("softmax over the whole matrix", "weights = rows_softmax(scores.reshape(1, -1)).reshape(scores.shape)", ROWS,
     "Your weights sum to one over the whole matrix. Each row is one word's attention and sums to one by itself.")
slip("the sum loses its axis", "whole = powers.sum(axis=1)", ROWS,
     "Each row should be divided by its own sum, but your sums are spread along the other axis. The matrix is square, "
     "so NumPy does not complain. Which argument of `sum` helps?")
slip("one maximum for the whole matrix", "powers = np.exp(scores - scores.max())", LARGE,
     "You subtract the largest score of the whole matrix. In a row far below it all exponentials are 0, and 0 divided "
     "by 0 is NaN. Each row needs a maximum of its own.")
slip("query and key swapped", "Q, K, V = X @ Wk, X @ Wq, X @ Wv", ROWS,
     "You score keys against queries. Row i of the scores belongs to the query of word i.")
slip("words averaged instead of values", "Q, K, V = X @ Wq, X @ Wk, X", EXACT,
     "Your weights are right, but what you average are the words in X. What are Wv and V for?")
slip("keys averaged instead of values", "Q, K, V = X @ Wq, X @ Wk, X @ Wk", EXACT,
     "Your weights are right, but what you average are the keys. What are Wv and V for?")
slip("one map for queries and keys", "Q, K, V = X @ {map}, X @ {map}, X @ Wv", ROWS,
     "Queries and keys are made by the same map, so your scores are symmetric. Which map makes the queries, which the "
     "keys?",
     each={"map": ("Wq", "Wk")})
slip("words not projected", "Q, K, V = X, X, X @ Wv", ROWS,
     "You compare the words in X themselves. Which maps make queries and keys of them?")
slip("the future hidden", "scores = np.where(np.tri(len(X), dtype=bool), compared / divisor, -np.inf)", ROWS,
     "Your words attend to themselves and to earlier words only. There is no mask here, so every word is compared with "
     "every word. (The mask over the future comes in lecture 4.)")
# what the same mistakes say with any number of axes
for costs, called, edits in (
    (LARGE, "overflow", ["powers = np.exp(scores); whole = powers.sum(axis=1, keepdims=True) + 1e-9"]),
    (EXACT, "not scaled", ["divisor = 1.0"]),
    (EXACT, "divided by d_k", ["divisor = K.shape[1]"]),
    (EXACT, "multiplied by √d_k", ["divisor = K.shape[1] ** -0.5"]),
    (EXACT, "√ of the value's width", ["divisor = np.sqrt(V.shape[1])"]),
    (EXACT, "d_k ** 1 / 2 for the root", ["divisor = K.shape[1] / 2", "divisor = 2 * K.shape[1]"]),
    (EXACT, "softmax taken twice", ["weights = rows_softmax(powers / whole)"]),
    (EXACT, "weights transposed before the sum", ["output = weights.T @ V"]),
    (EXACT, "values added to the output", ["output = weights @ V + V"]),
    (ROWS, "scaled after the softmax", ["scores = compared; weights = powers / whole / divisor"]),
    (ROWS, "scores returned for weights", ["return output, scores"]),
    (ROWS, "results in the wrong order", ["return weights, output"]),
    (ROWS, "output returned without the weights", ["return output"]),
    (ROWS, "scores negated", ["divisor = -np.sqrt(K.shape[1])"]),
    (ROWS, "no softmax", ["weights = scores"]),
    (ROWS, "exp without the division", ["weights = np.exp(scores)"]),
    (ROWS, "plain mean of the values", ["weights = np.full_like(scores, 1 / len(X))"]),
    (ROWS, "cosine similarity", ["compared = unit(Q) @ unit(K).T"]),
):
    for mistake, edit in zip(scaled.named(called)[-len(edits):], edits, strict=True):
        slip(called, edit, costs, mistake.message)

right = ANSWERS.right
right("sentence_by_matrices", "weights = rows_softmax(scores)")
right("sentence_by_loops", """
    length, d_k = len(X), Wk.shape[1]
    shares, sums = np.zeros((length, length)), np.zeros((length, Wv.shape[1]))
    for i in range(length):
        row = [np.dot(X[i] @ Wq, X[j] @ Wk) / math.sqrt(d_k) for j in range(length)]
        e = [math.exp(score - max(row)) for score in row]
        for j in range(length):
            shares[i, j] = e[j] / sum(e)
            sums[i] += shares[i, j] * (X[j] @ Wv)
    return sums, shares
""")
right("sentence_by_einsum", """
    query = np.einsum("td,dk->tk", X, Wq) * Wq.shape[1] ** -0.5
    weights = rows_softmax(np.einsum("tk,sk->ts", query, np.einsum("sd,dk->sk", X, Wk)))
    output = np.einsum("ts,sv->tv", weights, np.dot(X, Wv))
""")
right("sentence_with_roots_shared", """
    root = Wk.shape[1] ** 0.25
    scores = np.inner(X.dot(Wq) / root, X.dot(Wk) / root)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    output = weights.dot(X.dot(Wv))
""")
right("sentence_on_columns", """
    Q, K, V = (Wq.T @ X.T), (Wk.T @ X.T), (Wv.T @ X.T)
    weights = rows_softmax((K.T @ Q / np.sqrt(len(K))).T)
    output = (V @ weights.T).T
""")
right("sentence_word_by_word", """
    rows = []
    for word in X:
        row = K @ (word @ Wq) / np.sqrt(K.shape[1])
        e = np.exp(row - row.max())
        rows.append(e / e.sum())
    weights = np.stack(rows)
""")
right("sentence_through_torch", """
    X, Wq, Wk, Wv = (torch.as_tensor(item) for item in (X, Wq, Wk, Wv))
    shares = ((X @ Wq) @ (X @ Wk).T / Wk.shape[1] ** 0.5).softmax(dim=1)
    return (shares @ (X @ Wv)).numpy(), shares.numpy()
""")
right("sentence_by_broadcasting", """
    Q, K, V = np.matmul(X, Wq), np.matmul(X, Wk), np.matmul(X, Wv)
    scores = (Q[:, None, :] * K[None, :, :]).sum(-1) / np.sqrt(Q.shape[1])
    output = (weights[..., None] * V[None]).sum(1)
""")
right("sentence_with_the_scaled_map", """
    scores = np.linalg.multi_dot([X, Wq / np.sqrt(Wq.shape[-1]), Wk.T, X.T])
    output = np.linalg.multi_dot([weights, X, Wv])
""")
right("sentence_in_double", """
    X, Wq, Wk, Wv = (np.asarray(item, dtype=np.float64) for item in (X, Wq, Wk, Wv))
    shares = (X @ Wq) @ (X @ Wk).T
    shares /= math.sqrt(Wk.shape[1])
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares @ (X @ Wv), shares
""")
right("sentence_with_weights_in_float32", "weights = (powers / whole).astype(np.float32)")
right("attention_number_by_number", """
    scores = product(product(X, Wq), product(X, Wk).T)
    weights = np.zeros_like(scores)
    for i in range(len(X)):
        largest, total = max(scores[i]), 0.0
        for j in range(len(X)):
            total = total + math.exp((scores[i, j] - largest) / math.sqrt(Wk.shape[1]))
        for j in range(len(X)):
            weights[i, j] = math.exp((scores[i, j] - largest) / math.sqrt(Wk.shape[1])) / total
    return product(weights, product(X, Wv)), weights
""", slow=LOOPS)
right("attention_by_products_of_four", """
    scores = np.einsum("td,dk,ek,se->ts", X, Wq, Wk, X) / np.sqrt(Wk.shape[1])
    output = np.einsum("ts,sd,dk->tk", weights, X, Wv)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("sentence_with_transposed_maps", "X, Wq, Wk, Wv = X, Wq.T, Wk.T, Wv.T", told="stops with ValueError")
wrong("sentence_that_scales_its_input", """
    X /= np.sqrt(Wk.shape[1])
    X = X * Wk.shape[1] ** 0.25
    return output * Wk.shape[1] ** 0.25, weights
""", named="divided by d_k")
wrong("sentence_by_cosine", "scores = unit(Q) @ unit(K).T", named=("not scaled", "cosine similarity"))
wrong("sentence_of_the_example_only", "return np.array([[12.69], [17.31]]), np.array([[0.731, 0.269], [0.269, 0.731]])",
      told="always one shape")
wrong("sentence_as_tensors", "return torch.from_numpy(output), torch.from_numpy(weights)", told="another type")
wrong("sentence_with_the_output_added_up", "return output.sum(axis=0), weights", told="another number of axes")
wrong("sentence_with_output_transposed", "return output.T, weights", told="axes exchanged")
wrong("sentence_unscaled_over_columns", "weights = rows_softmax(compared.T).T",
      named=("softmax over the columns", "not scaled"))
wrong("sentence_swapped_and_weights_first", "Q, K, V = X @ Wk, X @ Wq, X @ Wv; return weights, output",
      named=("query and key swapped", "results in the wrong order"))
wrong("sentence_of_keys_unscaled", "Q, K, V = X @ Wq, X @ Wk, X @ Wk; divisor = 1.0",
      named=("keys averaged instead of values", "not scaled"))
wrong("sentence_unscaled_with_weights_in_float32", "divisor = 1.0; weights = (powers / whole).astype(np.float32)",
      named="not scaled")
wrong("sentence_of_a_hundred_words", "X = X[:100]")
# fmt: on


@BANK.right("numpy_self_attention")
def sentence_with_the_maps_joined(X, Wq, Wk, Wv, temperature=1.0):
    scores = X @ (Wq @ Wk.T) @ X.T / (temperature * math.sqrt(Wk.shape[1]))
    weights = rows_softmax(scores)
    return [(weights @ X) @ Wv, weights]
