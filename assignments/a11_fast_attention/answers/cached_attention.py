"""Answers to `cached_attention`."""

import torch
from torch.nn import functional as F

from assignments.a11_fast_attention.answers.bank import BANK
from assignments.a11_fast_attention.rubric import CACHE_MANNERS, CONTINUED, PROMPT, cached
from assignments.common.slow import weighed, weighed_at_once
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils.attention import masked_softmax

SCALED_KEYS = (
    "The keys in your cache are divided by √d_k, and the next call takes them for keys as they came. Keep keys as they "
    "came, and divide the scores."
)

ANSWERS = Answers(
    __name__, BANK, cached,
    """
    def cached_attention(query, key, value, cache=None):
        old_keys, old_values = cache or (key[..., :0, :], value[..., :0, :])
        keys = torch.cat([old_keys, key], dim=-2)  # (B, H, P + T, d_k)
        values = torch.cat([old_values, value], dim=-2)
        divisor = query.shape[-1] ** 0.5
        scores = query @ keys.mT / divisor  # (B, H, T, P + T)
        T, P = query.shape[-2], old_keys.shape[-2]
        mask = torch.ones(T, P + T, dtype=torch.bool).tril(P)
        weights = masked_softmax(scores, mask)
        output = weights @ values  # (B, H, T, d_v)
        return output, (keys, values)
    """,
    torch=torch, F=F, masked_softmax=masked_softmax, weighed=weighed, weighed_at_once=weighed_at_once, memory={},
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("mask from the top left", "mask = torch.ones(T, P + T, dtype=torch.bool).tril()", CONTINUED,
     "Your triangle begins at the first key, as if there were no cache, so new words hardly see the words before them. "
     "With P words in the cache, new word i stands at place P + i and sees the keys 0 to P + i: `tril(diagonal=P)`.",
     published=("pytorch/pytorch#103082",
                "The causal mask of an oblong matrix begins at the top left, so a new word sees key 0 alone."))
slip("no mask", "mask = torch.ones(T, P + T, dtype=torch.bool)", PROMPT,
     "There is no mask, so the first of several new words sees those after it. New word i sees all cached words and "
     "the new words 0 to i.")
slip("no mask once there is a cache", "mask = torch.ones(T, P + T, dtype=torch.bool).tril(P + T if P else 0)",
     CONTINUED,
     "As soon as there is a cache, your new words see each other in both directions. That is right for a single new "
     "word only: with several, word i sees the new words 0 to i.")
slip("mask leaks by one", "mask = torch.ones(T, P + T, dtype=torch.bool).tril(P + 1)", PROMPT,
     "Each new word sees one word more than it should, the one after it. New word i sees up to place P + i.")
slip("word itself hidden", "mask = torch.ones(T, P + T, dtype=torch.bool).tril(P - 1)", PROMPT,
     "A new word does not see itself. It sees the cached words and the new words 0 to i, itself included.")
slip("past hidden", "mask = torch.ones(T, P + T, dtype=torch.bool).tril(P) & (torch.arange(P + T) >= P)", CONTINUED,
     "The new words do not see the cached ones. The past is what a cache is kept for: all cached words are visible.")
slip("a window over cache and new words", "mask = torch.ones(T, P + T, dtype=torch.bool).tril(P).triu({first})",
     CONTINUED,
     "Each new word sees a number of last words alone, so that earlier ones drop out of sight. New word i sees all "
     "cached words and the new words 0 to i.",
     each={"first": ("0", "P - T + 1")})
slip("only the word itself of the new ones",
     "new = torch.arange(P + T) - P; mask = (new < 0) | (new == torch.arange(T)[:, None])", CONTINUED,
     "Of the new words, each sees only itself. New word i sees the new words 0 to i, beside all cached ones.")
slip("new words first", "keys = torch.cat([key, old_keys], dim=-2); values = torch.cat([value, old_values], dim=-2)",
     CONTINUED,
     "You put new keys and values in front of the old ones. The words of a text stay in their order: old ones first.")
slip("cached words not used", "cache = None", CONTINUED,
     "What you compute with, and give back, holds the new words only. Put the cached keys and values in front of the "
     "new ones.")
slip("only the last cached word kept", "cache = cache and [old[..., -1:, :] for old in cache]", CONTINUED,
     "Of the cache you keep the last word alone. All of its words are still looked at.")
slip("values not extended", "values = torch.cat([value, value[..., :1, :].expand_as(old_values)], dim=-2)", CONTINUED,
     "You extend the keys with the cache and not the values, so weights and values have different lengths, or the "
     "wrong words are mixed. Both grow alike.")
slip("an empty cache refused", """
    if cache and cache[0].shape[-2] == 0:
        raise ValueError("the cache is empty")
    cache = cache
""", CACHE_MANNERS,
     "A cache with no words in it stops your function. P may be 0, as before the first word.")
slip("not scaled", "divisor = 1.0", PROMPT,
     "Your scores are not divided by √d_k.")
slip("divided by the root of another width", "divisor = {width} ** 0.5", PROMPT,
     "You divide by the root of another number than d_k, such as the width of the values, the number of words or the "
     "width of all heads together. d_k is the last axis of the query.",
     each={"width": ("value.shape[-1]", "query.shape[1]", "query.shape[2]", "(query.shape[1] * query.shape[3])")})
slip("divided by d_k itself", "divisor = query.shape[-1]", PROMPT,
     "You divide the scores by d_k. It is divided by its root.")
slip("softmax over the queries",
     "weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-2).nan_to_num(0.0)", PROMPT,
     "Your softmax runs over the words that ask, so a row of weights does not sum to one. Take it over the keys, "
     "`dim=-1`.")
slip("mask after the softmax", "weights = scores.softmax(dim=-1) * mask", PROMPT,
     "Hidden words are taken out after the softmax, so the rest no longer sums to one. Hide scores before it, with −∞.")
slip("a softmax for the cache and one for the new words", """
    new = masked_softmax(scores[..., P:], mask[..., P:])
    weights = torch.cat([scores[..., :P].softmax(dim=-1), new], dim=-1) / {shares}
""", CONTINUED,
     "You take one softmax over the cached words and another one over the new words. A row of weights sums to one over "
     "all words: join the scores first, then take a single softmax of them.",
     each={"shares": ("(2 if P else 1)", "1")})
slip("exponentials that overflow",
     "powers = scores.exp() * mask; weights = powers / powers.sum(dim=-1, keepdim=True)", CACHE_MANNERS,
     "Large scores turn into infinity or NaN, because the exponentials are taken as they are. `softmax` first takes "
     "off the largest score of a row.")
CACHE_OF = (
    "What you give back as the cache is not what the next call needs. It should be all keys and all values, {}."
)
slip("(values, keys) for (keys, values)", "{before}; return output, (values, keys)", PROMPT,
     CACHE_OF.format("in this order"),
     each={"before": ("cache = cache and cache[::-1]", "cache = cache")})
slip("scaled keys kept", "key = key / query.shape[-1] ** 0.5; divisor = 1.0", PROMPT, SCALED_KEYS)
slip("only the new words given back", "return output, (key, value)", CONTINUED,
     CACHE_OF.format("the old words' as well as the new ones'"))
slip("only the old cache given back", "return output, cache or (key, value)", CONTINUED,
     CACHE_OF.format("the new words' included"))
slip("scaled keys kept", "return output, (keys / query.shape[-1] ** 0.5, values)", PROMPT, SCALED_KEYS)
slip("no cache given back", "return output", PROMPT,
     "You return the output alone. The result is the pair (output, cache), where the cache is the pair (keys, values).")
slip("three results side by side", "return output, keys, values", PROMPT,
     "You return output, keys and values side by side. The result is a pair, whose second entry is the pair (keys, "
     "values).")
slip("output for all words", "return torch.cat([old_values, output], dim=-2), (keys, values)", CONTINUED,
     "Your output has a row for every word, the cached ones too. It has a row for each new word.")
slip("cached tensors changed", """
    with torch.no_grad():
        old_keys *= 0
        old_values *= 0
    return output, (keys, values)
""", CACHE_MANNERS,
     "Your function writes into the cache that it was given, so a second continuation of the same beginning finds "
     "something else in it. Make new tensors, as `torch.cat` does.")
slip("a memory outside the function", """
    if cache is None:
        memory.clear()
    cache = memory.get("cache", cache)
    memory["cache"] = keys, values
    return output, (keys, values)
""", CACHE_MANNERS,
     "Your function remembers words by itself, in a variable outside, and not in the cache that it is given. Two texts "
     "in turns, or two continuations, then get mixed up.")

right = ANSWERS.right
right("cached_by_einsum", """
    scores = torch.einsum("bhtd,bhsd->bhts", query, keys) / query.shape[-1] ** 0.5
    hidden = torch.arange(P + T) > torch.arange(P, P + T)[:, None]
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    output = torch.einsum("bhts,bhsd->bhtd", weights, values)
""")
right("cached_word_by_word", """
    rows = []
    for i in range(T):
        seen = slice(0, P + i + 1)
        scores = (query[:, :, i : i + 1] @ keys[:, :, seen].mT) * query.shape[-1] ** -0.5
        rows.append(F.softmax(scores, dim=-1) @ values[:, :, seen])
    return torch.cat(rows, dim=2), [keys, values]
""")
right("cached_with_the_courses_softmax", """
    past = (key[:, :, :0], value[:, :, :0]) if cache is None else cache
    key, value = (torch.cat(pair, dim=-2) for pair in zip(past, (key, value), strict=True))
    T, S = query.size(-2), key.size(-2)
    seen = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = masked_softmax(query / key.size(-1) ** 0.5 @ key.transpose(-1, -2), seen)
    return weights @ value, (key, value)
""")
right("cached_with_an_additive_mask", """
    future = torch.full((T, P + T), -torch.inf, dtype=query.dtype).triu(P + 1)
    weights = (scores + future).softmax(-1)
""")
right("cached_in_two_halves", """
    root = query.shape[-1] ** 0.5
    T = query.shape[-2]
    new = (query @ key.mT / root).masked_fill(~torch.ones(T, T).tril().bool(), -torch.inf)
    if cache is None:
        return new.softmax(-1) @ value, (key, value)
    both = torch.cat([query @ cache[0].mT / root, new], dim=-1).softmax(-1)
    P = cache[0].shape[-2]
    output = both[..., :P] @ cache[1] + both[..., P:] @ value
    return output, (torch.cat([cache[0], key], -2), torch.cat([cache[1], value], -2))
""")
right("cached_by_logsumexp", """
    hidden = scores.masked_fill(~mask, -torch.inf)
    weights = (hidden - hidden.logsumexp(-1, keepdim=True)).exp()
""")
right("cached_with_a_padded_query", """
    query = F.pad(query, (0, 0, 0 if cache is None else cache[0].shape[-2], 0))
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    return output[..., P:, :], (keys, values)
""")
right("cached_by_heads", """
    heads = [masked_softmax(scores[:, h], mask) @ values[:, h] for h in range(query.shape[1])]
    output = torch.stack(heads, dim=1)
""")
# scores with old and new keys apart, and one softmax over both
right("cached_with_past_and_new_apart", """
    T, P, root = query.shape[2], old_keys.shape[2], query.shape[-1] ** 0.5
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    new = (query @ key.mT / root).masked_fill(later, -torch.inf)
    weights = torch.cat([query @ old_keys.mT / root, new], dim=-1).softmax(-1)
    output = weights[..., :P] @ old_values + weights[..., P:] @ value
    return output, (torch.cat([old_keys, key], 2), torch.cat([old_values, value], 2))
""")
right("cached_with_vmap", """
    head = lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v
    output = torch.vmap(torch.vmap(head))(query, keys, values)
""")
right("cached_number_by_number", """
    mask = torch.zeros(T, P + T, dtype=torch.bool)
    for t in range(T):
        for s in range(P + t + 1):
            mask[t, s] = True
    B, H = query.shape[:2]
    heads = [[weighed(query[b, h], keys[b, h], values[b, h], mask)[0] for h in range(H)] for b in range(B)]
    output = torch.stack([torch.stack(one) for one in heads])
""", slow=LOOPS)
right("cached_by_broadcasting", """
    mask = torch.arange(P + T) <= torch.arange(P, P + T).unsqueeze(1)
    output = weighed_at_once(query, keys, values, mask)[0]
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("keys_up_to_the_place_within_the_chunk", "mask = torch.arange(P + T) <= torch.arange(T)[:, None]",
      named="mask from the top left",
      published=("gittensor-ai-lab/sparkinfer#3",
                 "The last key of a query is counted within its chunk, and the cached words before are left out."))
wrong("masked_in_the_prompt_alone", "weights = masked_softmax(scores, mask if cache is None else None)",
      named="no mask once there is a cache")
wrong("at_most_a_hundred_words_back", "mask = torch.ones(T, P + T, dtype=torch.bool).tril(P).triu(P - 99)",
      told=("the keys right, the output wrong", "some rows right"))
wrong("a_hundred_below_for_minus_infinity", "weights = scores.masked_fill(~mask, -100.0).softmax(-1)",
      told=("right in part", "some rows right"))
wrong("scores_held_below_fifty",
      "powers = scores.clamp(-50, 50).exp() * mask; weights = powers / powers.sum(-1, keepdim=True)",
      told="right in part")
wrong("cached_with_a_mask_of_a_fixed_size", """
    seen = torch.ones(1024, 1024, dtype=torch.bool).tril()[P : P + T, : P + T]
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
""", told="stops with RuntimeError")
wrong("detached_cache", "cache = cache and [old.detach() for old in cache]", told="wrong about gradients")
wrong("cache_given_back_detached", "return output, (keys.detach(), values.detach())",
      told=("wrong about gradients", "wrong gradient"))
wrong("cache_of_a_hundred_words", "return output, (keys[..., -100:, :], values[..., -100:, :])",
      told="the output right, the keys wrong")
wrong("last_query_alone", "return output if cache is None else output[:, :, -1:], (keys, values)",
      told="too short or too long")
wrong("in_float32_throughout", "return output.float().to(query.dtype), (keys, values)",
      told=("rounded", "wrong in float64"))
wrong("a_dict_for_a_pair", """
    cache = (cache["keys"], cache["values"]) if isinstance(cache, dict) else cache
    return output, {"keys": keys, "values": values}
""", told="the output right, the keys wrong")
careless(
    ANSWERS,
    a_hundred_words=None,  # its second axis are heads
    one_sentence=("right in part", "wrong with several sentences"),
    printed="stops with TypeError", one_shape="stops with RuntimeError",  # where the next call is given such a cache
)
