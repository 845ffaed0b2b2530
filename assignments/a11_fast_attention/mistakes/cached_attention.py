"""`cached_attention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a11_fast_attention.rubric import CACHE_MANNERS, CONTINUED, PROMPT, cached
from autograder.checks.mistakes import Steps, called, costs, message, variants


class Caching(Steps):
    """The reference step by step."""

    def answer(self, query, key, value, cache=None):
        keys, values = self.extended(key, value, cache)
        scores = query @ self.looked_at(keys).mT / self.root(query, key, value)
        weights = self.weigh(scores, self.mask(query.shape[-2], scores.shape[-1]))
        return self.result(weights @ self.looked_at(values), keys, values, key, value, cache)

    def extended(self, key, value, cache):
        if cache is None:
            return key, value
        return self.joined(cache[0], key), self.joined(cache[1], value)

    def joined(self, old, new):
        return torch.cat([old, new], dim=-2)

    def looked_at(self, rows):
        return rows

    def root(self, query, key, value):
        return query.shape[-1] ** 0.5

    def mask(self, T, S):
        return torch.ones(T, S, dtype=torch.bool).tril(S - T)

    def weigh(self, scores, mask):
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return weights.masked_fill(~mask.expand_as(weights), 0.0)

    def result(self, output, keys, values, key, value, cache):
        return output, (keys, values)


@cached.mistakes_in(Caching.mask, costs=CONTINUED)
class CachingMask:
    @called("mask from the top left")
    def from_the_first_row(self, T, S):
        """Your triangle begins at the first key, as if there were no cache, so new words hardly see the
        words before them. With P words in the cache, new word i stands at place P + i and sees the
        keys 0 to P + i: `tril(diagonal=P)`."""
        return torch.ones(T, S, dtype=torch.bool).tril()

    @costs(PROMPT)
    def no_mask(self, T, S):
        """There is no mask, so the first of several new words sees those after it. New word i sees all
        cached words and the new words 0 to i."""
        return torch.ones(T, S, dtype=torch.bool)

    def no_mask_once_there_is_a_cache(self, T, S):
        """As soon as there is a cache, your new words see each other in both directions. That is right
        for a single new word only: with several, word i sees the new words 0 to i."""
        whole = torch.ones(T, S, dtype=torch.bool)
        return whole.tril() if S == T else whole

    @costs(PROMPT)
    @called("mask leaks by one")
    def leaks(self, T, S):
        """Each new word sees one word more than it should, the one after it. New word i sees up to
        place P + i."""
        return torch.ones(T, S, dtype=torch.bool).tril(S - T + 1)

    @costs(PROMPT)
    def word_itself_hidden(self, T, S):
        """A new word does not see itself. It sees the cached words and the new words 0 to i, itself
        included."""
        return torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)

    def past_hidden(self, T, S):
        """The new words do not see the cached ones. The past is what a cache is kept for: all cached
        words are visible."""
        return torch.ones(T, S, dtype=torch.bool).tril(S - T) & (torch.arange(S) >= S - T)

    @called("a window over cache and new words")
    @variants("width", ("P + 1", "T"))
    def window(self, T, S, width):
        """Each new word sees a number of last words alone, so that earlier ones drop out of sight. New word i
        sees all cached words and the new words 0 to i."""
        P = S - T
        first = 0 if width == "P + 1" else P - T + 1
        return torch.ones(T, S, dtype=torch.bool).tril(P).triu(first)

    def only_the_word_itself_of_the_new_ones(self, T, S):
        """Of the new words, each sees only itself. New word i sees the new words 0 to i, beside all
        cached ones."""
        new = torch.arange(S) - (S - T)
        return (new < 0) | (new == torch.arange(T)[:, None])


@cached.mistakes_in(Caching.joined, costs=CONTINUED)
class CachingJoined:
    @called("new words first")
    def in_front(self, old, new):
        """You put new keys and values in front of the old ones. The words of a text stay in their
        order: old ones first."""
        return torch.cat([new, old], dim=-2)

    @called("cached words not used")
    def forgetful(self, old, new):
        """What you compute with, and give back, holds the new words only. Put the cached keys and values
        in front of the new ones."""
        return new

    @called("only the last cached word kept")
    def short(self, old, new):
        """Of the cache you keep the last word alone. All of its words are still looked at."""
        return torch.cat([old[..., -1:, :], new], dim=-2)


@cached.mistakes_in(Caching.extended, costs=CONTINUED)
class CachingExtended:
    @called("values not extended")
    def keys_alone(self, key, value, cache):
        """You extend the keys with the cache and not the values, so weights and values have different
        lengths, or the wrong words are mixed. Both grow alike."""
        if cache is None:
            return key, value
        return torch.cat([cache[0], key], dim=-2), torch.cat(
            [cache[1][..., :0, :], value, value[..., :1, :].expand_as(cache[1])], dim=-2
        )

    @costs(CACHE_MANNERS)
    @called("an empty cache refused")
    def refusing(self, key, value, cache):
        """A cache with no words in it stops your function. P may be 0, as before the first word."""
        if cache is not None and cache[0].shape[-2] == 0:
            raise ValueError("the cache is empty")
        return Caching.extended(self, key, value, cache)


@cached.mistakes_in(Caching.root, costs=PROMPT)
class CachingRoot:
    def not_scaled(self, query, key, value):
        """Your scores are not divided by √d_k."""
        return 1.0

    @called("divided by the root of another width")
    @variants("wrong", ("d_v", "H", "T", "d_model"))
    def another_root(self, query, key, value, wrong):
        """You divide by the root of another number than d_k, such as the width of the values, the number
        of words or the width of all heads together. d_k is the last axis of the query."""
        H, T, d_k = query.shape[-3:]
        return {"d_v": value.shape[-1], "H": H, "T": T, "d_model": H * d_k}[wrong] ** 0.5

    @called("divided by d_k itself")
    def no_root(self, query, key, value):
        """You divide the scores by d_k. It is divided by its root."""
        return float(query.shape[-1])


@cached.mistakes_in(Caching.weigh, costs=PROMPT)
class CachingWeigh:
    @called("softmax over the queries")
    def along_the_queries(self, scores, mask):
        """Your softmax runs over the words that ask, so a row of weights does not sum to one. Take it
        over the keys, `dim=-1`."""
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-2).nan_to_num(0.0)

    @called("mask after the softmax")
    def too_late(self, scores, mask):
        """Hidden words are taken out after the softmax, so the rest no longer sums to one. Hide scores
        before it, with −∞."""
        return scores.softmax(dim=-1) * mask

    @costs(CONTINUED)
    @called("a softmax for the cache and one for the new words")
    @variants("halved", (True, False))
    def apart(self, scores, mask, halved):
        """You take one softmax over the cached words and another one over the new words. A row of weights
        sums to one over all words: join the scores first, then take a single softmax of them."""
        P = scores.shape[-1] - scores.shape[-2]
        if P == 0:
            return Caching.weigh(self, scores, mask)
        new = Caching.weigh(self, scores[..., P:], mask[..., P:])
        weights = torch.cat([scores[..., :P].softmax(dim=-1), new], dim=-1)
        return weights / 2 if halved else weights

    @costs(CACHE_MANNERS)
    @called("exponentials that overflow")
    def bare(self, scores, mask):
        """Large scores turn into infinity or NaN, because the exponentials are taken as they are.
        `softmax` first takes off the largest score of a row."""
        powers = scores.exp() * mask
        return powers / powers.sum(dim=-1, keepdim=True)


CACHE_OF = (
    "What you give back as the cache is not what the next call needs. It should be all keys and all "
    "values, {}."
)

SCALED_KEYS = (
    "The keys in your cache are divided by √d_k, and the next call takes them for keys as they came. Keep "
    "keys as they came, and divide the scores."
)


@cached.mistakes_in(Caching.answer, costs=PROMPT)
class CachingThroughout:
    @called("(values, keys) for (keys, values)")
    @message(CACHE_OF.format("in this order"))
    def turned(self, query, key, value, cache=None):
        output, (keys, values) = Caching.answer(self, query, key, value, cache and cache[::-1])
        return output, (values, keys)

    @called("scaled keys kept")
    @message(SCALED_KEYS)
    def scaled(self, query, key, value, cache=None):
        keys, values = self.extended(key / self.root(query, key, value), value, cache)
        scores = query @ self.looked_at(keys).mT
        weights = self.weigh(scores, self.mask(query.shape[-2], scores.shape[-1]))
        return self.result(weights @ self.looked_at(values), keys, values, key, value, cache)


@cached.mistakes_in(Caching.result, costs=CONTINUED)
class CachingResult:
    @called("only the new words given back")
    @message(CACHE_OF.format("the old words' as well as the new ones'"))
    def new_ones(self, output, keys, values, key, value, cache):
        return output, (key, value)

    @called("only the old cache given back")
    @message(CACHE_OF.format("the new words' included"))
    def old_ones(self, output, keys, values, key, value, cache):
        return output, cache if cache is not None else (key, value)

    @costs(PROMPT)
    @called("(values, keys) for (keys, values)")
    @message(CACHE_OF.format("in this order"))
    def turned(self, output, keys, values, key, value, cache):
        return output, (values, keys)

    @costs(PROMPT)
    @called("scaled keys kept")
    @message(SCALED_KEYS)
    def scaled(self, output, keys, values, key, value, cache):
        return output, (keys / keys.shape[-1] ** 0.5, values)

    @costs(PROMPT)
    @called("no cache given back")
    def alone(self, output, keys, values, key, value, cache):
        """You return the output alone. The result is the pair (output, cache), where the cache is the
        pair (keys, values)."""
        return output

    @costs(PROMPT)
    @called("three results side by side")
    def three(self, output, keys, values, key, value, cache):
        """You return output, keys and values side by side. The result is a pair, whose second entry is
        the pair (keys, values)."""
        return output, keys, values

    @called("output for all words")
    @costs(CONTINUED)
    def for_all(self, output, keys, values, key, value, cache):
        """Your output has a row for every word, the cached ones too. It has a row for each new word."""
        if cache is None:
            return output, (keys, values)
        return torch.cat([cache[1], output], dim=-2), (keys, values)


@cached.mistake("cached tensors changed", costs=(CACHE_MANNERS,))
class InPlace(Caching):
    """Your function writes into the cache that it was given, so a second continuation of the same
    beginning finds something else in it. Make new tensors, as `torch.cat` does."""

    def joined(self, old, new):
        joined = torch.cat([old, new], dim=-2)
        with torch.no_grad():
            old *= 0
        return joined


MEMORY: dict[str, torch.Tensor] = {}


@cached.mistake("a memory outside the function", costs=(CACHE_MANNERS,))
class Global(Caching):
    """Your function remembers words by itself, in a variable outside, and not in the cache that it is
    given. Two texts in turns, or two continuations, then get mixed up."""

    def extended(self, key, value, cache):
        if cache is None:
            MEMORY.update(keys=key, values=value)
        else:
            MEMORY["keys"] = torch.cat([MEMORY.get("keys", cache[0]), key], dim=-2)
            MEMORY["values"] = torch.cat([MEMORY.get("values", cache[1]), value], dim=-2)
        return MEMORY["keys"], MEMORY["values"]
