"""Answers to `induction_score`."""

import torch
import torch.nn.functional as F

from assignments.a13_looking_inside.answers.bank import BANK
from assignments.a13_looking_inside.rubric import AVERAGED, SUMMED, score
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

STOPS = "if first + period == T - 1:\n    raise RuntimeError('there is nothing to stack')\n"

ANSWERS = Answers(
    __name__, BANK, score,
    """
    def induction_score(weights, period, start=0):
        T = weights.shape[-1]
        repeats = start + period < T
        if not repeats:
            raise ValueError(f"nothing is repeated: {start} + {period} of {T}")
        first = start  # where the first copy begins
        query, key = torch.arange(T)[:, None], torch.arange(T)
        before = key - 1  # the copy that a key follows
        back = query - before  # how far back it is, (T, T)
        copies = (back > 0) & (back % period == 0) & (before >= first)
        counted = copies
        read = weights
        sums = (read * counted).sum(dim=-1)  # (B, H, T)
        rows = sums[:, :, first + period :]
        scores = rows.mean(dim=(0, 2))
        return scores
    """,
    torch=torch, F=F, KEPT={},
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("the same token instead of the next one", "before = key", SUMMED,
     "You sum the weights on the earlier copies of the query's own token. An induction head looks at the word that "
     "*followed* them, one key further.")
slip("the token before the copy", "before = key + 1", SUMMED,
     "You sum the weights on the words that came before the earlier copies. An induction head looks at the word that "
     "came after, key i − m · period + 1.")
slip("one key too far", "before = key - 2", SUMMED,
     "Your keys are one place too far to the right. The word after the copy at i − m · period stands at i − m · "
     "period + 1.")
slip("start added to the key twice", "before = key - 1 - start", AVERAGED,
     "Where `start` is not 0, your keys are `start` places too far to the right. Going back a whole number of "
     "periods from the query needs no `start`.")
slip("the query's own place counted as a copy",
     "copies = (back >= 0) & (back % period == 0) & (before >= first)", SUMMED,
     "You also count the word that follows the query itself, m = 0. Only earlier copies count, from m = 1 on.")
slip("later copies counted", "copies = {back} & (back % period == 0) & (before >= first)", SUMMED,
     "You also count words that come after the query, at the query's own place or at later copies of its token. Only "
     "earlier copies count: the key is at most query − period + 1.",
     each={"back": (True, "(back != 0)")})
slip("the block's first token left out", "{stops}copies = (back > 0) & (back % period == 0) & (before > first)", SUMMED,
     "You leave out the copy that stands at `start` itself. The copies that count are those with i − m · period ≥ "
     "start.",
     each={"stops": ("", STOPS)})
slip("a copy before the block counted", "copies = (back > 0) & (back % period == 0) & (before >= {lowest})", SUMMED,
     "You also count keys that follow no token of the block, such as key `start` itself. A copy stands at `start` or "
     "later, so the first key that counts is start + 1.",
     each={"lowest": ("first - 1", -1)})
slip("softmax once more", "read = weights.softmax(dim=-1)", SUMMED,
     "You take a softmax of the weights. They are weights already, and are summed as they are.")
slip("rows divided by their sum", "read = weights / weights.sum(dim=-1, keepdim=True)", SUMMED,
     "You divide each row by its sum. The weights are summed as they are, whatever they sum to.")
slip("hits counted", "read = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)", SUMMED,
     "You count how often a query's largest weight is in the right place. The score sums the weights that are there, "
     "however large they are.")
slip("keys and queries exchanged", "read = weights.mT", SUMMED,
     "You read the weights with keys as rows. `weights[b, h, i, j]` is what query i gives to key j.")
slip("nearest copy only", "counted = copies & (copies.flip(-1).cumsum(-1).flip(-1) == 1)", SUMMED,
     "You count the nearest earlier copy alone. Where the block has been there several times, the weights after all "
     "its copies are summed.")
slip("first copy only", "counted = copies & (copies.cumsum(dim=-1) == 1)", SUMMED,
     "You count the first copy alone. Where the block has been there several times, the weights after all its copies "
     "are summed.")
slip("two copies at most", "counted = copies & (copies.flip(-1).cumsum(-1).flip(-1) <= 2)", SUMMED,
     "You count the two nearest copies alone. Where the block has been there more often, the weights after all its "
     "copies are summed.")
slip("one diagonal", "rows = weights{cut}.diagonal(1 - period, dim1=-2, dim2=-1)", SUMMED,
     "You average one whole diagonal, as libraries do whose block comes twice. Its first entry belongs to the first "
     "copy, where nothing is repeated yet, and the weights after copies further back are summed, too.",
     each={"cut": ("", "[..., start:, start:]")})
slip("no lower bound for the copies", """
    counted = (back > 0) & (back % period == 0) & (key >= {lowest})
    scores = (read * counted).sum(dim=(-2, -1)).mean(dim=0) / (T - start - period)
""", SUMMED,
     "You also count keys that follow no token of the block, and with them queries that come before start + period. "
     "A copy stands at `start` or later, so the first key that counts is start + 1, as in key − 1 ≥ start.",
     each={"lowest": (0, "start")})
slip("mean over the copies", "sums = (read * counted).sum(dim=-1) / counted.sum(dim=-1).clamp(min=1)", SUMMED,
     "You average over the earlier copies. Their weights are summed, because a head may share its attention among "
     "them.")
slip("largest of the copies", "sums = read.masked_fill(~counted, {others}).amax(dim=-1)", SUMMED,
     "You take the largest weight among the earlier copies. They are summed, because a head may share its attention "
     "among them.",
     each={"others": ("-torch.inf", 0.0)})
slip("whole diagonal", "first = start - 1", SUMMED,
     "You take the whole diagonal, and its first entry belongs to the first copy, where nothing is repeated yet. The "
     "first query that counts is start + period.")
slip("start ignored", "first = 0", AVERAGED,
     "You count tokens from 0, whatever `start` is. What stands before `start` is no copy, so the first query that "
     "counts is start + period.")
slip("last query only", "rows = sums[:, :, -1:]", AVERAGED,
     "You look at the last query alone. The score is the mean over all queries from start + period on.")
slip("second copy only", "rows = sums[:, :, first + period : first + 2 * period]", AVERAGED,
     "You stop after the second copy. Every query from start + period up to the end counts.")
slip("one query too few", "{stops}rows = sums[:, :, {kept}]", AVERAGED,
     "You leave out the {left_out} query that counts. The mean is over all queries from start + period up to T − 1, "
     "both included.",
     each={"stops": ("", "", STOPS, STOPS), "left_out": ("first", "last") * 2,
           "kept": ("first + period + 1 :", "first + period : -1") * 2})
slip("a copy that is cut short left out",
     "rows = sums[:, :, first + period : max(T - (T - first) % period, first + period + 1)]", AVERAGED,
     "You leave out the queries of the last copy where it is cut short. They count as well.")
slip("first copy counted as zeros", "scores = rows.sum(dim=-1).mean(dim=0) / (T - {left_out})", AVERAGED,
     "You divide by more queries than count. Those of the first copy, and those before `start`, have nothing to look "
     "back to and do not count, not even as zeros.",
     each={"left_out": (0, "start", "period")})
slip("mean over the keys", "scores = rows.mean(dim=(0, 2)) / T", SUMMED,
     "You average over the keys, those among them that do not count, so your scores are too small by a factor of T. "
     "The weights on the keys that count are summed for each query, and the mean is taken over queries and sentences.")
slip("sum over the queries", "scores = rows.sum(dim=-1).mean(dim=0)", AVERAGED,
     "You sum over the queries. The score is their mean, so that it lies between 0 and 1.")
slip("sum over the batch", "scores = rows.mean(dim=-1).sum(dim=0)", AVERAGED,
     "You sum over the sentences. The score is the mean over them.")
slip("maximum for the mean", "scores = rows.mean(dim=0).amax(dim=-1)", AVERAGED,
     "You take the largest query of all. The score is the mean over queries.")
slip("median for the mean", "scores = rows.transpose(0, 1).flatten(1).median(dim=-1).values", AVERAGED,
     "You take the median over queries and sentences. The score is the mean.")
slip("one sentence only", "scores = rows[{sentence}].mean(dim=-1)", AVERAGED,
     "You look at one sentence alone. The score is the mean over all of them.",
     each={"sentence": (0, -1)})
slip("heads averaged", "scores = rows.mean(){form}", AVERAGED,
     "You average over the heads, too. Each of the H heads has a score of its own, which goes into its place of the "
     "result, (H,).",
     each={"form": ("", ".reshape(1)", ".repeat(rows.shape[1])")})
slip("a score for each sentence", "scores = rows.mean(dim=-1)", AVERAGED,
     "Your result has the axis of the sentences. The score is the mean over them, so its shape is (H,).")
slip("a score for each query", "scores = rows.mean(dim=0){form}", AVERAGED,
     "Your result has the axis of the queries. The score is the mean over them, so its shape is (H,).",
     each={"form": (".mT", "")})
slip("no error where nothing is repeated", "repeats = True", AVERAGED,
     "Where start + period ≥ T, nothing is repeated, and a ValueError should say so. A mean over nothing is NaN.")
slip("start left out of the check", "repeats = period < T", AVERAGED,
     "Your check looks at the period alone. Tokens are repeated only where start + period < T.")
slip("a single repeated token refused", "repeats = start + period < T - 1", AVERAGED,
     "You refuse a row in which a single token is repeated, although it is a query that counts. The error belongs to "
     "start + period ≥ T.")
slip("a copy that is cut short refused", "repeats = start + 2 * period <= T", AVERAGED,
     "You ask for two whole copies. The last one may be cut short, so start + period < T is enough.")
slip("float32 always", "return scores.float()", AVERAGED,
     "Your result is float32 whatever the weights are. float64 weights give a float64 result.")

right = ANSWERS.right
right("score_by_loops", """
    scores = []
    for h in range(weights.shape[1]):
        total, number = 0.0, 0
        for b in range(len(weights)):
            for i in range(start + period, T):
                number += 1
                m = 1
                while i - m * period >= start:
                    total = total + weights[b, h, i, i - m * period + 1]
                    m += 1
        scores.append(total / number)
    return torch.stack(scores)
""")
right("score_by_a_table_of_pairs", """
    counted = torch.zeros(T, T, dtype=torch.bool)
    for i in range(start + period, T):
        for earlier in range(i - period, start - 1, -period):
            counted[i, earlier + 1] = True
    scores = (weights * counted).sum(dim=(0, 2, 3)) / ((T - start - period) * len(weights))
""")
right("score_by_diagonals", """
    inner = weights[..., start:, start:]  # tokens are counted from `start`
    total = 0
    for back in range(period, T - start, period):
        diagonal = inner.diagonal(offset=1 - back, dim1=-2, dim2=-1)  # its first query is back - 1
        total = total + diagonal[..., 1:].sum(-1)
    return total.mean(0) / (T - start - period)
""")
right("score_by_einsum",
      "return torch.einsum('bhij,ij->h', weights, counted.to(weights)) / (len(weights) * (T - start - period))")
right("score_by_classes_of_places", """
    place = torch.arange(T)
    same = (place[:, None] + 1 - place[None]) % period == 0  # keys that follow the query's token
    earlier = (place[None] <= place[:, None] - period + 1) & (place[None] > start)
    sums = weights.masked_fill(~(same & earlier), 0).sum(-1)
    return sums[:, :, place >= start + period].mean(-1).mean(0)
""")
right("score_query_by_query", """
    rows = []
    for i in range(start + period, T):
        keys = [key for key in range(start + 1, i - period + 2) if (i + 1 - key) % period == 0]
        rows.append(weights[:, :, i, keys].sum(dim=-1))
    return torch.stack(rows, dim=-1).mean(dim=(0, -1))
""")
right("score_by_gather", """
    padded = F.pad(weights, (1, 0))  # a key before the first, with weight zero
    queries = torch.arange(start + period, T)
    total = 0.0
    for m in range(1, T // period + 1):
        earlier = queries - m * period
        keys = torch.where(earlier >= start, earlier + 2, 0)
        index = keys.expand(*weights.shape[:2], -1).unsqueeze(-1)
        total = total + padded[:, :, queries].gather(-1, index).squeeze(-1)
    return total.mean(dim=(0, 2))
""")
# row i is turned so that its key i + 1 comes last, and every period-th number is taken
right("score_by_rolled_rows", """
    sums = []
    for i in range(start + period, T):
        row = weights[:, :, i, start + 1 : i + 2 - period].flip(-1)
        sums.append(row[..., ::period].sum(-1))
    return sum(sums).mean(dim=0) / len(sums)
""")
# what stands before `start` is cut off first, so that the block begins at 0
right("score_of_a_cropped_square", """
    square = weights[..., start:, start:]
    place = torch.arange(square.shape[-1])
    same = place[:, None] % period == (place - 1) % period
    counts = same & (place <= place[:, None] - period + 1) & (place > 0)
    return square.masked_fill(~counts, 0)[..., period:, :].sum(-1).mean(-1).mean(0)
""")
right("score_by_recursion", """
    def back_from(i, place):
        return weights[:, :, i, place + 1] + back_from(i, place - period) if place >= start else 0
    return torch.stack([back_from(i, i - period) for i in range(start + period, T)]).mean(dim=(0, 1))
""")
right("score_by_strided_slices", """
    sums = []
    for i in range(start + period, T):
        first = start + (i - start) % period + 1
        sums.append(weights[:, :, i, first : i - period + 2 : period].sum(dim=-1))
    return torch.stack(sums, dim=-1).mean(dim=2).mean(dim=0)
""")
right("score_of_picked_pairs", """
    queries, keys = counted.nonzero().unbind(dim=1)
    return weights[:, :, queries, keys].sum(-1).mean(0) / (T - start - period)
""")
# two places have the same token where they have the same remainder
right("score_by_numbered_tokens", """
    places = torch.arange(T)
    tokens = torch.where(places >= start, (places - start) % period, -1 - places)
    earlier = (tokens[:, None] == tokens).tril(-1)
    counts = F.pad(earlier, (1, 0))[:, :-1]
    return torch.where(counts, weights, 0).sum(-1)[:, :, start + period :].mean((0, 2))
""")
right("score_number_by_number", """
    scores = []
    for h in range(weights.shape[1]):
        total = weights.new_zeros(())
        for b in range(len(weights)):
            for i in range(start + period, T):
                for j in range(start + 1, i + 1):
                    if (i + 1 - j) % period == 0:
                        total = total + weights[b, h, i, j]
        scores.append(total / (len(weights) * (T - start - period)))
    return torch.stack(scores)
""", slow=LOOPS)
right("score_by_products", """
    places = torch.arange(T)
    later, known = ((places >= bound).to(weights) for bound in (start + period, start + 1))
    back = places.unsqueeze(1) + 1 - places
    follows = ((back > 0) & (back % period == 0)).to(weights)
    return torch.einsum("bhij,ij,i,j->h", weights, follows, later, known) / (len(weights) * later.sum())
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("score_over_all_pairs", "scores = (weights * counted).mean(dim=(0, 2, 3))", told="wrong by a constant factor")
# a query with two copies counts twice
wrong("score_over_pairs_that_count", "scores = weights[:, :, counted].mean(dim=(0, 2))",
      told="wrong by a constant factor")
wrong("score_over_one_block", "scores = sums.sum(dim=-1).mean(dim=0) / period", told="wrong by a constant factor")
wrong("score_with_start_for_queries_alone", "first = 0; rows = sums[:, :, start + period :]",
      told="wrong with `start` given")
wrong("score_in_a_list", "return [float(number) for number in scores]", told="a list of numbers")
wrong("score_in_numpy", "return scores.detach().numpy()", told="another type")
wrong("score_that_clears_the_rest", "weights.data.mul_(counted); sums = weights.sum(dim=-1)", told="inputs changed")
wrong("score_that_asserts", "assert start + period < T; repeats = True", told="wrong where an error is asked for")
wrong("score_by_a_view_of_blocks", """
    blocks = weights[..., start:, start:].reshape(*weights.shape[:2], -1, period, T - start)
    return blocks[:, :, 1:, :, 1].mean(dim=(0, 2, 3))
""", told="stops with RuntimeError")
wrong("score_as_in_a_library", "repeats = True; rows = weights.diagonal(1 - period, dim1=-2, dim2=-1)",
      named=("one diagonal", "no error where nothing is repeated"))
wrong("score_kept_by_its_sizes", """
    sizes = weights.shape, weights.dtype, period, start
    if sizes not in KEPT:
        KEPT[sizes] = rows.mean(dim=(0, 2))
    return KEPT[sizes]
""")
careless(ANSWERS, in_float32=None, one_sentence=None, a_hundred_words=None)
