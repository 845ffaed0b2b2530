"""Answers to `self_attention`."""

import torch
import torch.nn.functional as F

from assignments.a2_self_attention.answers.attention_weights import (
    RESHAPED,
    SCALED,
    weights_in_loops,
)
from assignments.a2_self_attention.answers.bank import BANK
from assignments.a2_self_attention.answers.basic_self_attention import sums_in_loops
from assignments.a2_self_attention.rubric import BATCH, ONE, batch
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, batch,
    """
    def self_attention(query, key, value):
        scores = query @ key.mT  # (B, T, S)
        scaled = scores
        weights = scaled.softmax(dim=-1)
        output = torch.bmm(weights, value)  # (B, T, d_v)
        return output
    """,
    torch=torch, F=F, weights_in_loops=weights_in_loops, sums_in_loops=sums_in_loops,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("softmax over the queries", "weights = scaled.softmax(dim=1)", ONE,
     "Your weights match a softmax over the queries. Each query shares out its attention over the keys, the last axis "
     "of query · keyᵀ, so use `dim=-1`.",
     published=("labmlai/annotated_deep_learning_paper_implementations#146",
                "The softmax runs along the axis of the queries."))
slip("softmax over the batch", "weights = scaled.softmax(dim=0)", BATCH,
     "Your weights match a softmax over the batch, so sentences compete with each other. The keys are the last axis, "
     "so use `dim=-1`.")
slip("softmax over the whole matrix", "weights = scaled.flatten(1).softmax(dim=-1).reshape(scaled.shape)", ONE,
     "Your weights sum to one over all queries and keys of a sentence together. Each query shares out an attention of "
     "its own over the keys, so use `dim=-1`.")
slip("the future hidden",
     "weights = scaled.masked_fill(torch.ones_like(scaled, dtype=torch.bool).triu(1), -torch.inf).softmax(dim=-1)", ONE,
     "Your queries attend to keys up to their own place only. There is no mask here, so every query is compared with "
     "every key. (The mask over the future comes in lecture 4.)")
slip("exp without the division", "weights = scaled.exp()", ONE,
     "Your output weighs the values with exp of the scores. Divide each row by its own sum, so that it sums to one.")
slip("the sum loses its axis", "weights = scaled.exp() / scaled.exp().sum(dim=-1)", ONE,
     "You divide by a sum that has lost its axis, (B, T), so it is spread along the keys, or stops with an error. "
     "Which argument of `sum` keeps the axis, with length 1?")
slip("softmax taken twice", "weights = scaled.softmax(dim=-1).softmax(dim=-1)", ONE,
     "Your weights match a softmax of a softmax, which brings them closer together. Once is enough.")
slip("no softmax", "weights = scaled", ONE,
     "Your output weighs the values with raw scores. Turn each row of scores into weights with a softmax first.")
slip("plain mean of the values", "weights = torch.full_like(scaled, 1 / scaled.shape[-1])", (),
     "Every query gets the mean of all values, in which every key counts the same. Where do the scores enter? And "
     "along which axis runs the softmax?",
     costs_more="as good as no answer: neither queries nor keys are read")
slip("the best key alone", "weights = F.one_hot(scaled.argmax(dim=-1), scaled.shape[-1]).to(scaled.dtype)", ONE,
     "Each query gets the value of the one key with the largest score. All values count, each with its weight; and "
     "through a choice of the largest no gradient reaches the scores.")
slip("scaled although unscaled was asked", "scaled = scores / {of}.shape[-1] ** 0.5", ONE,
     SCALED,
     each={"of": ("key", "value"), "width": ("d_k", "d_v")})
slip("multiplied by √d_k", "scaled = scores * key.shape[-1] ** 0.5", ONE,
     "Your numbers match scores multiplied by √d_k. This assignment asks for unscaled scores, and the scale of lecture "
     "3 divides.")
slip("divided by {width}", "scaled = scores / {of}.shape[-1]", ONE,
     "Your numbers match scores divided by {width}. This assignment asks for unscaled scores.",
     each={"of": ("key", "value"), "width": ("d_k", "d_v")})
slip("scaled by the number of words", "scaled = scores / {of}.shape[1] ** 0.5", ONE,
     "Your numbers match scores divided by the root of a number of words. This assignment asks for unscaled scores.",
     each={"of": ("key", "query")})
slip("scores negated", "scaled = -scores", ONE,
     "The better a key matches, the less weight it gets, so your scores have the wrong sign. Is there a minus in the "
     "exponent?")
slip("reshape for transpose", "scores = query @ key.reshape(len(key), key.shape[2], key.shape[1])", ONE,
     RESHAPED)
slip("query and key swapped", "scores = key @ query.mT", ONE,
     "You score keys against queries (key · queryᵀ). Rows of the scores belong to the queries, so it is query · keyᵀ, "
     "of shape (B, T, S).")
slip("key used as value", "output = torch.bmm(weights, key)", ONE,
     "Your output is a weighted sum of the keys. Weights come from query and key; what they weigh is the value.")
slip("query used as value", "output = torch.bmm(weights, query)", ONE,
     "Your output is a weighted sum of the queries. What the weights weigh is the value.")
slip("output as wide as the key", "output = torch.bmm(weights, value)[..., : key.shape[-1]]", BATCH,
     "Your output is cut to the width of the keys. It is as wide as the values, (B, T, d_v). Where does your code take "
     "d_k for d_v?")
slip("weights transposed before the sum", "output = torch.bmm(weights.mT, value)", ONE,
     "Your output sums down the columns of the weights. Each query uses its own row. Is there a transpose too much?")
slip("query added to the output", "output = torch.bmm(weights, value) + query", ONE,
     "Your output is the weighted sum plus the query. Nothing is added here. (Adding the input comes in lecture 8.)")
slip("value added to the output", "output = torch.bmm(weights, value) + value", ONE,
     "Your output is the weighted sum plus the values. Nothing is added here. (Adding the input comes in lecture 8.)")
slip("weights returned for the output", "output = weights", ONE,
     "You return the weights. The last step is missing, in which they are multiplied by the values.")
slip("query used as key and value", "key, value = query, query", ONE,
     "Your output depends on the query alone. It is compared with the keys, and what is collected are the values.")
slip("key and value exchanged", "key, value = value, key", ONE,
     "You compare with the values and collect the keys. It is the other way round. Compare with the key and collect "
     "from the value.")
slip("sentences of a batch mixed", """
    shape = *query.shape[:2], value.shape[-1]
    query, key, value = (one.reshape(1, -1, one.shape[-1]) for one in (query, key, value))
    return output.reshape(shape)
""", BATCH,
     "A word attends to words of other sentences, because the batch was flattened into one long sentence. Keep axis 0 "
     "apart, as `torch.bmm` does.")
slip("only the first sentence used", "return output[:1].expand(len(query), -1, -1)", BATCH,
     "Every sentence of the batch gets the first one's output. Keep axis 0 throughout.")
slip("only the first sentence used", "return output[:1]", BATCH,
     "Only the output of the first sentence comes back. Keep axis 0 throughout, (B, T, d_v).")
slip("only the {which} sentence used", "return output[{place}]", BATCH,
     "Only the output of the {which} sentence comes back, (T, d_v). All of them are asked for, (B, T, d_v). "
     "In a loop over sentences, what becomes of each result, and where does `return` stand?",
     each={"place": (0, -1), "which": ("first", "last")})
slip("sentences of a batch added up", "return output.{way}(dim=0)", BATCH,
     "The outputs of all sentences are added up or averaged, which leaves (T, d_v). Each sentence keeps its own, (B, "
     "T, d_v). Over which axis do you sum, and does a `stack` belong there?",
     each={"way": ("sum", "mean")})
slip("sentences joined end to end", "return output.flatten(0, 1)", BATCH,
     "Each sentence is right, but they are joined to one long one, (B · T, d_v). The sentences keep an axis of their "
     "own, (B, T, d_v). `torch.stack` makes one, and `torch.cat` does not.")
slip("query used as key", "scores = query @ query.mT", ONE,
     "You compare the queries with themselves. Compare each query with the keys.")
slip("key used as query", "scores = key @ key.mT", ONE,
     "You compare the keys with themselves. Compare each query with the keys.")
slip("value used as key", "scores = {asks} @ value.mT", ONE,
     "You compare with the values. What the query is compared with are the keys; the values are collected afterwards.",
     each={"asks": ("value", "query")})
slip("weights returned beside the output", "return output, weights", ONE,
     "The output is right, but it comes in a tuple. This function returns the output alone.")
slip("a list of sentences", "return tuple(output)", ONE,
     "The output is right, but it comes in a list, with a tensor for each sentence. Which function makes one tensor of "
     "them, with a new axis in front?")
slip("output transposed", "return output.mT", ONE,
     "Your output is (B, d_v, T), because its last two axes have changed places. Row i of a sentence's output belongs "
     "to query i.")
slip("axes of length 1 squeezed", "return output.squeeze({axes})", ONE,
     "The numbers are right, but an axis is gone where it has length 1, as with a single sentence. The result is "
     "always (B, T, d_v). Is there a `squeeze`?",
     each={"axes": ("(0, 1, 2)", "0")})
slip("axes of length 1 squeezed", "weights = scaled.squeeze().softmax(dim=-1); output = weights @ value", BATCH,
     "All is right until there is a single query or key. On your scores or weights, `squeeze()` takes away every axis "
     "of length 1, so that the next step takes one axis for another. The scores are always (B, T, S).")

right = ANSWERS.right
right("batch_by_einsum", """
    scores = torch.einsum("btd,bsd->bts", query, key)
    return torch.einsum("bts,bsv->btv", scores.softmax(-1), value)
""")
right("batch_by_a_loop", """
    results = []
    for q, k, v in zip(query, key, value, strict=True):
        results.append(torch.softmax(q @ k.T, dim=1) @ v)
    return torch.stack(results)
""")
right("batch_by_matmul", "return F.softmax(query @ key.mT, dim=2) @ value")
right("batch_by_hand_written_softmax", """
    e = torch.exp(query.matmul(key.permute(0, 2, 1)))
    return e.matmul(value) / e.sum(dim=-1, keepdim=True)
""")
right("batch_by_baddbmm", """
    empty = query.new_zeros(query.shape[0], query.shape[1], key.shape[1])
    scores = torch.baddbmm(empty, query, key.swapaxes(-1, -2))
    return torch.matmul(torch.nn.Softmax(dim=-1)(scores), value)
""")
right("batch_by_broadcasting", """
    scores = (query.unsqueeze(2) * key.unsqueeze(1)).sum(-1)
    return (scores.softmax(-1).unsqueeze(-1) * value.unsqueeze(1)).sum(2)
""")
right("batch_transposed_throughout", """
    scores = key @ query.mT  # (B, S, T)
    return (value.mT @ scores.softmax(dim=1)).mT
""")
right("batch_by_vmap", """
    def one(q, k, v):
        return (q @ k.T).softmax(-1) @ v

    return torch.vmap(one)(query, key, value)
""")
right("batch_by_log_sum_exp", """
    scores = torch.bmm(query, key.permute(0, 2, 1))
    weights = (scores - scores.logsumexp(2, keepdim=True)).exp()
""")
right("batch_filled_in", """
    filled = value.new_zeros(query.shape[0], query.shape[1], value.shape[2])
    for b in range(len(query)):
        filled[b] = torch.softmax(torch.mm(query[b], key[b].t()), dim=-1).mm(value[b])
    return filled
""")
right("batch_by_a_map_over_triples", """
    def one_sentence(triple):
        q, k, v = triple
        return torch.softmax(q @ k.T, dim=1) @ v

    return torch.stack(list(map(one_sentence, zip(query, key, value, strict=True))))
""")
right("attention_number_by_number", """
    triples = zip(query, key, value, strict=True)
    return torch.stack([sums_in_loops(weights_in_loops(q, k), v) for q, k, v in triples])
""", slow=LOOPS)
right("attention_by_products_of_all_with_all", """
    scores = (query[:, :, None] * key[:, None]).sum(dim=-1)  # (B, T, S, d_k) before the sum
    output = (weights[..., None] * value[:, None]).sum(dim=2)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("batch_of_ten", "query, key, value = query[:10], key[:10], value[:10]", told="too short or too long")
wrong("batch_with_a_hundred_keys", "key, value = key[:, :100], value[:, :100]")
wrong("batch_only_when_lengths_agree", "key, value = key[:, : query.shape[1]], value[:, : query.shape[1]]",
      told="wrong with T ≠ S")
wrong("batch_with_the_keys_reversed", "key = key.flip(1)")
wrong("batch_without_gradient_for_the_keys", "key = key.detach()", told=("no gradient", "wrong about gradients"))
wrong("batch_in_place", "value = value.mul_(1.0 + 1e-3)", told="wrong by a constant factor")
wrong("batch_added_up", "return output.sum(dim=1)", told="another number of axes")
wrong("batch_scaled_and_over_queries", "scaled = scores / key.shape[-1] ** 0.5; weights = scaled.softmax(1)",
      named=("softmax over the queries", "scaled although unscaled was asked"))
wrong("batch_key_for_value_and_weights", "output = weights @ key; return output, weights",
      named=("key used as value", "weights returned beside the output"))
wrong("batch_reshaped_and_scaled", """
    scores = query @ key.reshape(key.shape[0], key.shape[2], key.shape[1])
    scaled = scores / key.shape[-1] ** 0.5
""", named=("scaled although unscaled was asked", "reshape for transpose"))
wrong("batch_by_cosine", "scores = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT")
wrong("batch_with_weights_detached", "weights = scaled.softmax(-1).detach()",
      told=("no gradient", "wrong about gradients"))
wrong("batch_by_the_last_sentence", "return output[-1:]",
      told=("too short or too long", "wrong with several sentences"))
careless(ANSWERS, one_sentence="right in part", a_hundred_words=None)
# fmt: on


@BANK.right("self_attention")
def batch_by_three_loops(query, key, value, dropout=None):
    output = []
    for b in range(query.shape[0]):
        rows = []
        for t in range(query.shape[1]):
            scores = torch.stack([query[b, t] @ key[b, s] for s in range(key.shape[1])])
            rows.append(scores.softmax(0) @ value[b])
        output.append(torch.stack(rows))
    return torch.stack(output)
