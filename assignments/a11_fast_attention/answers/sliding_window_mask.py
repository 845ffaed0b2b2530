"""Answers to `sliding_window_mask`."""

import numpy as np
import torch

from assignments.a11_fast_attention.answers.bank import BANK
from assignments.a11_fast_attention.rubric import NEWEST, SQUARE, sliding
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import WITHOUT_TENSORS, careless
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, sliding,
    """
    def sliding_window_mask(query_length, key_length, window):
        refused = query_length > key_length or window < 1
        if refused:
            raise ValueError(f"{query_length} queries, {key_length} keys, a window of {window}")
        width = window
        p = torch.arange(key_length - query_length, key_length)[:, None]  # where queries stand
        j = torch.arange(key_length)
        mask = (j > p - width) & (j <= p)
        return mask
    """,
    torch=torch, np=np,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("one word too many", "width = window + 1", SQUARE,
     "Each query sees one word more than `window`. The word itself counts: with a window of 1 it sees nothing else.")
slip("one word too few", "width = window - 1", SQUARE,
     "Each query sees one word less than `window`, and with a window of 1 none at all.")
slip("window not used", "width = 10**6", SQUARE,
     "Your mask is causal, whatever `window` is. A query sees the last `window` words only, itself included.")
slip("half the window", "width = (window + 1) // 2", SQUARE,
     "You share the window out to both sides, or halve it. It reaches back only, and counts the word itself.")
slip("queries taken for the first words", "p = torch.arange(query_length)[:, None]", NEWEST,
     "Your first query stands at place 0. The queries are the *last* words among the keys, so query i stands at place "
     "key_length − query_length + i.",
     published=("Dao-AILab/flash-attention#20",
                "Causal means here that query i sees keys up to i, also where there are more keys than queries."))
slip("queries one place too late",
     "p = torch.arange(key_length - query_length, key_length)[:, None] + int(key_length > query_length)", NEWEST,
     "Your queries stand one place too late. The last one stands at place key_length − 1.")
slip("queries one place too early",
     "p = torch.arange(key_length - query_length, key_length)[:, None] - int(key_length > query_length)", NEWEST,
     "Your queries stand one place too early. The last one stands at place key_length − 1.")
slip("both sides", "mask = (j > p - width) & (j < p + width)", SQUARE,
     "Your queries look as far ahead as back. The window reaches back only: no word after the query is visible.")
slip("not causal", "mask = j > p - width", SQUARE,
     "Your queries see what lies before the window's end, and everything after them. Words after the query are hidden, "
     "too: j ≤ p.")
slip("looking ahead in place of back", "mask = (j >= p) & (j < p + width)", SQUARE,
     "Your window begins at the query and reaches ahead. It ends at the query and reaches back.")
slip("blocks in place of a window", "mask = (p // width == j // width) & (j <= p)", SQUARE,
     "You cut the text into blocks of `window` words, in which each query sees the earlier words of its own block. A "
     "window moves along with the query.")
slip("every window-th word", "mask = ((p - j) % width == 0) & (j <= p)", SQUARE,
     "Your queries see every `window`-th word. A window shows neighbours, without gaps.")
slip("hidden where it should show", "mask = (j <= p - width) | (j > p)", SQUARE,
     "Your mask is the wrong way round. In this course True means *may attend*.")
slip("the word itself hidden", "mask = (j >= p - width) & (j < p)", SQUARE,
     "A query does not see itself. The window counts the word itself and window − 1 words before it.")
slip("early rows empty", "mask = (j > p - width) & (j <= p) & (p >= width - 1)", SQUARE,
     "The first rows show nothing, because a whole window does not fit in front of them. There the query sees what "
     "there is.")
slip("numbers for bool", "return mask.to({kind})", NEWEST,
     "Your mask holds numbers. `torch.bool` is asked for, since 0.0 and 1.0, added to scores, hide nothing.",
     each={"kind": ("torch.float32", "torch.int64", "torch.uint8")})
slip("an additive mask", "return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)", NEWEST,
     "Your mask holds 0 and −∞, to be added to scores. A bool mask is asked for, True where a query may attend.")
slip("keys in the rows", "return mask.T", SQUARE,
     "Your mask has a row for each key. Queries are the rows, (query_length, key_length).")
slip("leading axes of length 1", "return mask[{axes}]", SQUARE,
     "Your mask has leading axes of length 1. It has two axes, (query_length, key_length), and broadcasts as it is.",
     each={"axes": ("None", "None, None")})
slip("always square",
     "return torch.cat([torch.zeros(key_length - len(mask), key_length, dtype=torch.bool), mask])", NEWEST,
     "Your mask has a row for every key. It has one for every query, and these are the last words.")
slip("no ValueError", "refused = False", NEWEST,
     "Where there are more queries than keys, or the window is below 1, no error comes. Raise a ValueError that says "
     "so.")
slip("an assert for the ValueError", "assert query_length <= key_length and window >= 1; refused = False", NEWEST,
     "An `assert` raises an AssertionError, and none at all under `python -O`. Raise a ValueError.")
slip("more queries than keys let through", "refused = window < 1", NEWEST,
     "Where there are more queries than keys, no error comes. The queries are words among the keys, so this is a "
     "mistake of the caller's: raise a ValueError.")
slip("a window below 1 let through", "refused = query_length > key_length", NEWEST,
     "A window of 0 or less shows nothing, and no error comes. Raise a ValueError.")
slip("a window of 0 let through", "refused = query_length > key_length or window < 0", NEWEST,
     "You refuse a window below 0, but not one of 0, which shows nothing either. Raise a ValueError for every window "
     "below 1.")
slip("a negative window let through", "refused = query_length > key_length or window == 0", NEWEST,
     "You refuse a window of 0, but not one below 0, which shows nothing either. Raise a ValueError for every window "
     "below 1.")
slip("window larger than the text refused", "refused = query_length > key_length or not 1 <= window <= key_length",
     NEWEST,
     "You refuse a window that is larger than the text. It is allowed, and the mask is then causal.")

right = ANSWERS.right
right("window_from_two_triangles", """
    offset = key_length - query_length
    ones = torch.ones(query_length, key_length, dtype=torch.bool)
    mask = torch.tril(ones, offset) & ~torch.tril(ones, offset - window)
""")
right("window_by_loops", """
    mask = torch.zeros(query_length, key_length, dtype=torch.bool)
    for i in range(query_length):
        p = key_length - query_length + i
        mask[i, max(0, p - window + 1) : p + 1] = True
    return mask
""")
right("window_from_the_last_rows_of_a_square", """
    places = torch.arange(key_length)
    back = places[:, None] - places[None, :]
    mask = torch.logical_and(back >= 0, back < window)[key_length - query_length :]
""")
right("window_by_numpy", """
    offset = key_length - query_length
    mask = np.tri(query_length, key_length, offset, dtype=bool)
    mask &= ~np.tri(query_length, key_length, offset - window, dtype=bool)
    return torch.from_numpy(mask)
""")
right("window_by_lists", """
    places = range(key_length - query_length, key_length)
    return torch.tensor([[0 <= p - j < window for j in range(key_length)] for p in places])
""")
right("window_counted_from_the_end", """
    from_the_end = torch.arange(query_length).flip(0)[:, None]
    keys = torch.arange(key_length).flip(0)[None, :]
    mask = (keys >= from_the_end) & (keys < from_the_end + window)
""")
right("window_by_diagonals", """
    mask = torch.zeros(key_length, key_length, dtype=torch.bool)
    for back in range(min(window, key_length)):
        mask |= torch.diag(torch.ones(key_length - back, dtype=torch.bool), -back)
    return mask[-query_length:]
""")
right("window_by_scatter", """
    seen = (p - torch.arange(window)).clamp(min=-1) + 1  # 0 is before the text
    mask = torch.zeros(query_length, key_length + 1, dtype=torch.bool).scatter(1, seen, True)[:, 1:]
""")
right("window_by_vmap", "mask = torch.vmap(lambda own: (j <= own) & (j > own - window))(j[-query_length:])")
right("window_place_by_place", """
    mask = torch.zeros(query_length, key_length, dtype=torch.bool)
    for i in range(query_length):
        for j in range(key_length):
            place = key_length - query_length + i
            if place - window < j <= place:
                mask[i, j] = True
    return mask
""", slow=LOOPS)
# whether each key is one of the window's: (query_length, window, key_length)
right("window_by_broadcasting", "mask = (p[:, :, None] - torch.arange(window)[:, None] == j).sum(1) > 0", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("cut_out_of_a_mask_of_128_words", """
    all_p = torch.arange(128)[:, None]
    whole = (torch.arange(128) > all_p - window) & (torch.arange(128) <= all_p)
    mask = whole[key_length - query_length : key_length, :key_length]
""", told="wrong for larger key_length")
wrong("square_of_queries", "return mask[:, key_length - query_length :]")
wrong("square_of_keys", "p = torch.arange(key_length)[:, None]", told="too short or too long")
wrong("numpy_left_as_it_is", "return mask.numpy()", told="another type")
wrong("index_of_the_first_key", "return torch.cat([p - window + 1, p], dim=1).clamp(min=0)")
careless(ANSWERS, detached=None, in_float32=None, zeros=None, **WITHOUT_TENSORS)
