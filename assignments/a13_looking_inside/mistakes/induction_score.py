"""The induction score in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from itertools import product

import torch

from assignments.a13_looking_inside.rubric import AVERAGED, SUMMED, score
from autograder.checks.mistakes import Steps, called, costs, variants


class Scoring(Steps):
    """The score in steps, each of which a mistake can take in another way."""

    def check(self, length, period, start):
        if start + period >= length:
            raise ValueError(f"nothing is repeated: {start} + {period} of {length}")

    def taken(self, weights):
        return weights

    def begins(self, start):
        """The first place that counts as an earlier token."""
        return start

    def key(self, earlier, start):
        """The key that is looked at for an earlier copy of the query's token."""
        return earlier + 1

    def places(self, query, first, length, period):
        """Where the query's token has been before, the last place first."""
        return range(query - period, first - 1, -period)

    def copies(self, places):
        """Of the earlier copies, the last first, those that count."""
        return places

    def together(self, found):
        """One number for each sentence and head from those of all copies, (N, B, H)."""
        return found.sum(dim=0)

    def queries(self, first, length, period):
        return range(first + period, length)

    def average(self, sums, sizes):
        """(N, B, H) to (H,); the sizes are T, period and start."""
        return sums.mean(dim=(0, 1))

    def result(self, scores, weights):
        return scores

    def answer(self, weights, period, start=0):
        length = weights.shape[-1]
        self.check(length, period, start)
        taken, first = self.taken(weights), self.begins(start)
        sums = []
        for query in self.queries(first, length, period):
            places = self.copies(list(self.places(query, first, length, period)))
            keys = (self.key(place, start) for place in places)
            found = [taken[:, :, query, key] for key in keys if 0 <= key < length]
            if found:
                sums.append(self.together(torch.stack(found)))
            else:
                sums.append(torch.zeros_like(taken[:, :, 0, 0]))
        rows = torch.stack(sums) if sums else taken.new_empty(0, *taken.shape[:2])  # (N, B, H)
        return self.result(self.average(rows, (length, period, start)), weights)


@score.mistakes_in(Scoring.key, costs=SUMMED)
class ScoringKey:
    @called("the same token instead of the next one")
    def the_same(self, earlier, start):
        """You sum the weights on the earlier copies of the query's own token. An induction head looks at
        the word that *followed* them, one key further."""
        return earlier

    @called("the token before the copy")
    def before(self, earlier, start):
        """You sum the weights on the words that came before the earlier copies. An induction head looks at
        the word that came after, key i − m · period + 1."""
        return earlier - 1

    @called("one key too far")
    def too_far(self, earlier, start):
        """Your keys are one place too far to the right. The word after the copy at i − m · period stands
        at i − m · period + 1."""
        return earlier + 2


@score.mistakes_in(Scoring.key, costs=AVERAGED)
class ScoringKeyAndStart:
    @called("start added to the key twice")
    def twice(self, earlier, start):
        """Where `start` is not 0, your keys are `start` places too far to the right. Going back a whole
        number of periods from the query needs no `start`."""
        return earlier + 1 + start


@score.mistakes_in(Scoring.places, costs=SUMMED)
class ScoringPlaces:
    @called("the query's own place counted as a copy")
    def its_own(self, query, first, length, period):
        """You also count the word that follows the query itself, m = 0. Only earlier copies count, from
        m = 1 on."""
        return range(query, first - 1, -period)

    @called("later copies counted")
    @variants("its_own", (True, False))
    def later(self, query, first, length, period, its_own):
        """You also count words that come after the query, at the query's own place or at later copies of
        its token. Only earlier copies count: the key is at most query − period + 1."""
        all_of_them = range(first + (query - first) % period, length, period)
        return [place for place in all_of_them if its_own or place != query]

    @called("the block's first token left out")
    @variants("stops", (False, True))
    def strictly_after_start(self, query, first, length, period, stops):
        """You leave out the copy that stands at `start` itself. The copies that count are those with
        i − m · period ≥ start."""
        if stops and first + period == length - 1:  # the only copy
            raise RuntimeError("there is nothing to stack")
        return range(query - period, first, -period)

    @called("a copy before the block counted")
    @variants("everything", (False, True))
    def before_start(self, query, first, length, period, everything):
        """You also count keys that follow no token of the block, such as key `start` itself. A copy stands
        at `start` or later, so the first key that counts is start + 1."""
        return range(query - period, -2 if everything else first - 2, -period)


@score.mistakes_in(Scoring.taken, costs=SUMMED)
class ScoringTaken:
    @called("softmax once more")
    def softened(self, weights):
        """You take a softmax of the weights. They are weights already, and are summed as they are."""
        return weights.softmax(dim=-1)

    @called("rows divided by their sum")
    def shares(self, weights):
        """You divide each row by its sum. The weights are summed as they are, whatever they sum to."""
        return weights / weights.sum(dim=-1, keepdim=True)

    @called("hits counted")
    def hits(self, weights):
        """You count how often a query's largest weight is in the right place. The score sums the weights
        that are there, however large they are."""
        return torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)

    @called("keys and queries exchanged")
    def transposed(self, weights):
        """You read the weights with keys as rows. `weights[b, h, i, j]` is what query i gives to key j."""
        return weights.mT


@score.mistakes_in(Scoring.copies, costs=SUMMED)
class ScoringCopies:
    @called("nearest copy only")
    def nearest(self, places):
        """You count the nearest earlier copy alone. Where the block has been there several times, the
        weights after all its copies are summed."""
        return places[:1]

    @called("first copy only")
    def farthest(self, places):
        """You count the first copy alone. Where the block has been there several times, the weights after
        all its copies are summed."""
        return places[-1:]

    @called("two copies at most")
    def two(self, places):
        """You count the two nearest copies alone. Where the block has been there more often, the weights after
        all its copies are summed."""
        return places[:2]


@score.mistakes_in(Scoring.answer, costs=SUMMED)
class ScoringAnswer:
    @called("one diagonal")
    @variants("cut", (False, True))
    def diagonal(self, weights, period, start=0, *, cut):
        """You average one whole diagonal, as libraries do whose block comes twice. Its first entry belongs to
        the first copy, where nothing is repeated yet, and the weights after copies further back are summed,
        too."""
        self.check(weights.shape[-1], period, start)
        block = weights[..., start:, start:] if cut else weights
        mean = block.diagonal(1 - period, dim1=-2, dim2=-1).mean(dim=(0, 2))
        return self.result(mean, weights)

    @called("no lower bound for the copies")
    @variants("everything", (True, False))
    def unbounded(self, weights, period, start=0, *, everything):
        """You also count keys that follow no token of the block, and with them queries that come before
        start + period. A copy stands at `start` or later, so the first key that counts is start + 1, as in
        key − 1 ≥ start."""
        length = weights.shape[-1]
        self.check(length, period, start)
        query, key = torch.arange(length)[:, None], torch.arange(length)
        back = query - key + 1
        counted = (back > 0) & (back % period == 0) & (key >= (0 if everything else start))
        sums = (weights * counted).sum(dim=(-2, -1)).mean(dim=0)
        return self.result(sums / (length - start - period), weights)


@score.mistakes_in(Scoring.together, costs=SUMMED)
class ScoringTogether:
    @called("mean over the copies")
    def mean(self, found):
        """You average over the earlier copies. Their weights are summed, because a head may share its
        attention among them."""
        return found.mean(dim=0)

    @called("largest of the copies")
    @variants("among_zeros", (False, True))
    def largest(self, found, among_zeros):
        """You take the largest weight among the earlier copies. They are summed, because a head may share
        its attention among them."""
        return found.amax(dim=0).clamp(min=0.0 if among_zeros else -torch.inf)


@score.mistakes_in(Scoring.begins, costs=SUMMED)
class ScoringBegins:
    @called("whole diagonal")
    def one_earlier(self, start):
        """You take the whole diagonal, and its first entry belongs to the first copy, where nothing is
        repeated yet. The first query that counts is start + period."""
        return start - 1


@score.mistakes_in(Scoring.begins, costs=AVERAGED)
class ScoringStart:
    @called("start ignored")
    def ignored(self, start):
        """You count tokens from 0, whatever `start` is. What stands before `start` is no copy, so the first
        query that counts is start + period."""
        return 0


@score.mistakes_in(Scoring.queries, costs=AVERAGED)
class ScoringQueries:
    @called("last query only")
    def last(self, first, length, period):
        """You look at the last query alone. The score is the mean over all queries from start + period
        on."""
        return range(length - 1, length)

    @called("second copy only")
    def second_copy(self, first, length, period):
        """You stop after the second copy. Every query from start + period up to the end counts."""
        return range(first + period, min(length, first + 2 * period))

    @called("one query too few")
    @variants("left_out, stops", product(("first", "last"), (False, True)))
    def too_few(self, first, length, period, left_out, stops):
        """You leave out the {left_out} query that counts. The mean is over all queries from
        start + period up to T − 1, both included."""
        every = range(first + period, length)
        left = every[1:] if left_out == "first" else every[:-1]
        if stops and not left:
            raise RuntimeError("there is nothing to stack")
        return left

    @called("a copy that is cut short left out")
    def whole_copies(self, first, length, period):
        """You leave out the queries of the last copy where it is cut short. They count as well."""
        whole = (length - first) // period * period
        return range(first + period, max(first + whole, first + period + 1))


@score.mistakes_in(Scoring.average, costs=AVERAGED)
class ScoringAverage:
    @called("first copy counted as zeros")
    @variants("among", ("all", "from start on", "from period on"))
    def over_all_queries(self, sums, sizes, among):
        """You divide by more queries than count. Those of the first copy, and those before `start`, have
        nothing to look back to and do not count, not even as zeros."""
        length, period, start = sizes
        left_out = {"all": 0, "from start on": start, "from period on": period}[among]
        return sums.sum(dim=0).mean(dim=0) / (length - left_out)

    @called("mean over the keys")
    @costs(SUMMED)
    def over_all_keys(self, sums, sizes):
        """You average over the keys, those among them that do not count, so your scores are too small by a
        factor of T. The weights on the keys that count are summed for each query, and the mean is taken over
        queries and sentences."""
        return sums.mean(dim=(0, 1)) / sizes[0]

    @called("sum over the queries")
    def summed_queries(self, sums, sizes):
        """You sum over the queries. The score is their mean, so that it lies between 0 and 1."""
        return sums.sum(dim=0).mean(dim=0)

    @called("sum over the batch")
    def summed_sentences(self, sums, sizes):
        """You sum over the sentences. The score is the mean over them."""
        return sums.mean(dim=0).sum(dim=0)

    @called("maximum for the mean")
    def maximum(self, sums, sizes):
        """You take the largest query of all. The score is the mean over queries."""
        return sums.mean(dim=1).amax(dim=0)

    @called("median for the mean")
    def median(self, sums, sizes):
        """You take the median over queries and sentences. The score is the mean."""
        return sums.flatten(0, 1).median(dim=0).values

    @called("one sentence only")
    @variants("place", (0, -1))
    def one_sentence(self, sums, sizes, place):
        """You look at one sentence alone. The score is the mean over all of them."""
        return sums[:, place].mean(dim=0)

    @called("heads averaged")
    @variants("form", ("a number", "an array of one", "for each head"))
    def over_heads(self, sums, sizes, form):
        """You average over the heads, too. Each of the H heads has a score of its own, which goes into
        its place of the result, (H,)."""
        mean = sums.mean()
        if form == "for each head":
            return mean.repeat(sums.shape[-1])
        return mean.reshape(1) if form == "an array of one" else mean

    @called("a score for each sentence")
    def of_each_sentence(self, sums, sizes):
        """Your result has the axis of the sentences. The score is the mean over them, so its shape is
        (H,)."""
        return sums.mean(dim=0)

    @called("a score for each query")
    @variants("heads_first", (False, True))
    def of_each_query(self, sums, sizes, heads_first):
        """Your result has the axis of the queries. The score is the mean over them, so its shape is
        (H,)."""
        mean = sums.mean(dim=1)
        return mean.mT if heads_first else mean


@score.mistakes_in(Scoring.check, costs=AVERAGED)
class ScoringCheck:
    @called("no error where nothing is repeated")
    def none(self, length, period, start):
        """Where start + period ≥ T, nothing is repeated, and a ValueError should say so. A mean over nothing
        is NaN."""

    @called("start left out of the check")
    def without_start(self, length, period, start):
        """Your check looks at the period alone. Tokens are repeated only where start + period < T."""
        if period >= length:
            raise ValueError(f"nothing is repeated: {period} of {length}")

    @called("a single repeated token refused")
    def too_strict(self, length, period, start):
        """You refuse a row in which a single token is repeated, although it is a query that counts. The
        error belongs to start + period ≥ T."""
        if start + period >= length - 1:
            raise ValueError(f"nothing is repeated: {start} + {period} of {length}")

    @called("a copy that is cut short refused")
    def two_whole_copies(self, length, period, start):
        """You ask for two whole copies. The last one may be cut short, so start + period < T is enough."""
        if start + 2 * period > length:
            raise ValueError(f"no two copies: {start} + 2 · {period} of {length}")


@score.mistakes_in(Scoring.result, costs=AVERAGED)
class ScoringResult:
    @called("float32 always")
    def single(self, scores, weights):
        """Your result is float32 whatever the weights are. float64 weights give a float64 result."""
        return scores.float()
