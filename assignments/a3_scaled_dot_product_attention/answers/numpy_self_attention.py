"""Answers to `numpy_self_attention`."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK


def rows_softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@BANK.right("numpy_self_attention")
def sentence_by_matrices(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    weights = rows_softmax(Q @ K.T / np.sqrt(K.shape[-1]))
    return weights @ V, weights


@BANK.right("numpy_self_attention")
def sentence_by_loops(X, Wq, Wk, Wv):
    length, d_k = len(X), Wk.shape[1]
    weights, output = np.zeros((length, length)), np.zeros((length, Wv.shape[1]))
    for i in range(length):
        scores = [np.dot(X[i] @ Wq, X[j] @ Wk) / math.sqrt(d_k) for j in range(length)]
        e = [math.exp(score - max(scores)) for score in scores]
        for j in range(length):
            weights[i, j] = e[j] / sum(e)
            output[i] += weights[i, j] * (X[j] @ Wv)
    return output, weights


@BANK.right("numpy_self_attention")
def sentence_by_einsum(X, Wq, Wk, Wv):
    query = np.einsum("td,dk->tk", X, Wq) * Wq.shape[1] ** -0.5
    weights = rows_softmax(np.einsum("tk,sk->ts", query, np.einsum("sd,dk->sk", X, Wk)))
    return np.einsum("ts,sv->tv", weights, np.dot(X, Wv)), weights


@BANK.right("numpy_self_attention")
def sentence_with_the_maps_joined(X, Wq, Wk, Wv, temperature=1.0):
    scores = X @ (Wq @ Wk.T) @ X.T / (temperature * math.sqrt(Wk.shape[1]))
    weights = rows_softmax(scores)
    return [(weights @ X) @ Wv, weights]


@BANK.right("numpy_self_attention")
def sentence_with_roots_shared(X, Wq, Wk, Wv):
    root = Wk.shape[1] ** 0.25
    scores = np.inner(X.dot(Wq) / root, X.dot(Wk) / root)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    return weights.dot(X.dot(Wv)), weights


@BANK.right("numpy_self_attention")
def sentence_on_columns(X, Wq, Wk, Wv):
    Q, K, V = (Wq.T @ X.T), (Wk.T @ X.T), (Wv.T @ X.T)
    scores = K.T @ Q / np.sqrt(len(K))
    weights = rows_softmax(scores.T)
    return (V @ weights.T).T, weights


@BANK.wrong("numpy_self_attention", named="overflow")
def sentence_as_printed(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    e = np.exp(Q @ K.T / np.sqrt(K.shape[1]))
    weights = e / e.sum(axis=1, keepdims=True)
    return weights @ V, weights


@BANK.wrong("numpy_self_attention", named="one maximum for the whole matrix")
def sentence_with_one_maximum(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    scores = Q @ K.T / np.sqrt(K.shape[1])
    e = np.exp(scores - scores.max())
    weights = e / e.sum(axis=1, keepdims=True)
    return weights @ V, weights


@BANK.wrong("numpy_self_attention", told="stops with ValueError")
def sentence_with_transposed_maps(X, Wq, Wk, Wv):
    return sentence_by_matrices(X, Wq.T, Wk.T, Wv.T)


@BANK.wrong("numpy_self_attention", named="divided by d_k")
def sentence_that_scales_its_input(X, Wq, Wk, Wv):
    X /= np.sqrt(Wk.shape[1])
    output, weights = sentence_by_matrices(X * Wk.shape[1] ** 0.25, Wq, Wk, Wv)
    return output * Wk.shape[1] ** 0.25, weights


@BANK.wrong("numpy_self_attention", named="weights transposed before the sum")
def sentence_with_weights_transposed(X, Wq, Wk, Wv):
    _, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return weights.T @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="values added to the output")
def sentence_plus_the_values(X, Wq, Wk, Wv):
    output, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return output + X @ Wv, weights


@BANK.wrong("numpy_self_attention", named="the future hidden")
def sentence_that_sees_the_past_only(X, Wq, Wk, Wv):
    scores = (X @ Wq) @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    scores = np.where(np.tri(len(X), dtype=bool), scores, -1e9)
    weights = rows_softmax(scores)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named=("not scaled", "cosine similarity"))
def sentence_by_cosine(X, Wq, Wk, Wv):
    Q, K = X @ Wq, X @ Wk
    Q, K = (item / np.linalg.norm(item, axis=1, keepdims=True) for item in (Q, K))
    weights = rows_softmax(Q @ K.T)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="always divided by 2")
def sentence_with_width_four(X, Wq, Wk, Wv):
    weights = rows_softmax((X @ Wq) @ (X @ Wk).T / 2.0)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="scores returned for weights")
def sentence_with_scores_beside_it(X, Wq, Wk, Wv):
    output, _ = sentence_by_matrices(X, Wq, Wk, Wv)
    return output, (X @ Wq) @ (X @ Wk).T / np.sqrt(Wk.shape[1])


@BANK.wrong("numpy_self_attention", named="plain mean of the values")
def sentence_of_equal_weights(X, Wq, Wk, Wv):
    weights = np.full((len(X), len(X)), 1 / len(X))
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", told="always one shape")
def sentence_of_the_example_only(X, Wq, Wk, Wv):
    return np.array([[12.69], [17.31]]), np.array([[0.731, 0.269], [0.269, 0.731]])


@BANK.wrong("numpy_self_attention", named="scores returned for weights")
def sentence_with_scaled_scores_beside_it(X, Wq, Wk, Wv):
    scores = X @ Wq @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    return rows_softmax(scores) @ X @ Wv, scores


@BANK.right("numpy_self_attention")
def sentence_word_by_word(X, Wq, Wk, Wv):
    K, V = X @ Wk, X @ Wv
    rows = []
    for word in X:
        scores = K @ (word @ Wq) / np.sqrt(K.shape[1])
        e = np.exp(scores - scores.max())
        rows.append(e / e.sum())
    weights = np.stack(rows)
    return weights @ V, weights


@BANK.right("numpy_self_attention")
def sentence_through_torch(X, Wq, Wk, Wv):
    X, Wq, Wk, Wv = (torch.as_tensor(item) for item in (X, Wq, Wk, Wv))
    weights = ((X @ Wq) @ (X @ Wk).T / Wk.shape[1] ** 0.5).softmax(dim=1)
    return (weights @ (X @ Wv)).numpy(), weights.numpy()


@BANK.right("numpy_self_attention")
def sentence_by_broadcasting(X, Wq, Wk, Wv):
    Q, K, V = np.matmul(X, Wq), np.matmul(X, Wk), np.matmul(X, Wv)
    scores = (Q[:, None, :] * K[None, :, :]).sum(-1) / np.sqrt(Q.shape[1])
    weights = rows_softmax(scores)
    return (weights[..., None] * V[None]).sum(1), weights


@BANK.right("numpy_self_attention")
def sentence_with_the_scaled_map(X, Wq, Wk, Wv):
    scaled = Wq / np.sqrt(Wq.shape[-1])
    weights = rows_softmax(np.linalg.multi_dot([X, scaled, Wk.T, X.T]))
    return np.linalg.multi_dot([weights, X, Wv]), weights


@BANK.right("numpy_self_attention")
def sentence_in_double(X, Wq, Wk, Wv):
    X, Wq, Wk, Wv = (np.asarray(item, dtype=np.float64) for item in (X, Wq, Wk, Wv))
    scores = (X @ Wq) @ (X @ Wk).T
    scores /= math.sqrt(Wk.shape[1])
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores @ (X @ Wv), scores


@BANK.wrong("numpy_self_attention", named="one map for queries and keys")
def sentence_with_wq_twice(X, Wq, Wk, Wv):
    return sentence_by_matrices(X, Wq, Wq, Wv)


@BANK.wrong("numpy_self_attention", named="words not projected")
def sentence_of_plain_words(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ X.T / np.sqrt(X.shape[1]))
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="no softmax")
def sentence_without_softmax(X, Wq, Wk, Wv):
    scores = X @ Wq @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    return scores @ X @ Wv, scores


@BANK.wrong("numpy_self_attention", named="the sum loses its axis")
def sentence_without_keepdims(X, Wq, Wk, Wv):
    scores = X @ Wq @ (X @ Wk).T / np.sqrt(Wk.shape[1])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = e / e.sum(axis=1)
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention", told="another type")
def sentence_as_tensors(X, Wq, Wk, Wv):
    return tuple(torch.from_numpy(item) for item in sentence_by_matrices(X, Wq, Wk, Wv))


@BANK.wrong("numpy_self_attention", named="divided by the number of words")
def sentence_divided_by_length(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ Wq @ (X @ Wk).T / len(X))
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention", told="another number of axes")
def sentence_with_the_output_added_up(X, Wq, Wk, Wv):
    output, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return output.sum(axis=0), weights


@BANK.wrong("numpy_self_attention", told="axes exchanged")
def sentence_with_output_transposed(X, Wq, Wk, Wv):
    output, weights = sentence_by_matrices(X, Wq, Wk, Wv)
    return output.T, weights


@BANK.wrong("numpy_self_attention", named="divided by d_k")
def sentence_scaled_before_and_after(X, Wq, Wk, Wv):
    root = np.sqrt(Wk.shape[1])
    weights = rows_softmax((X @ Wq / root) @ (X @ Wk / root).T)
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention", named=("softmax over the columns", "not scaled"))
def sentence_unscaled_over_columns(X, Wq, Wk, Wv):
    weights = rows_softmax((X @ Wq @ (X @ Wk).T).T).T
    return weights @ X @ Wv, weights


@BANK.wrong("numpy_self_attention", named=("query and key swapped", "results in the wrong order"))
def sentence_swapped_and_weights_first(X, Wq, Wk, Wv):
    return sentence_by_matrices(X, Wk, Wq, Wv)[::-1]


@BANK.wrong("numpy_self_attention", named=("keys averaged instead of values", "not scaled"))
def sentence_of_keys_unscaled(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ Wq @ (X @ Wk).T)
    return weights @ X @ Wk, weights


@BANK.right("numpy_self_attention")
def sentence_with_weights_in_float32(X, Wq, Wk, Wv):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    weights = rows_softmax(Q @ K.T / np.sqrt(K.shape[-1])).astype(np.float32)
    return weights @ V, weights


@BANK.wrong("numpy_self_attention", named="not scaled")
def sentence_unscaled_with_weights_in_float32(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ Wq @ (X @ Wk).T).astype(np.float32)
    return weights @ (X @ Wv), weights


@BANK.wrong("numpy_self_attention", named="d_k ** 1 / 2 for the root")
def sentence_with_a_root_that_is_none(X, Wq, Wk, Wv):
    weights = rows_softmax(X @ Wq @ (X @ Wk).T / Wk.shape[1] ** 1 / 2)
    return weights @ X @ Wv, weights
