"""Assignment 10: a causal language model, its loss, drawing words, hiding words, learning merges."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from assignments.a10_language_models.hidden_words import (
    hidden_again_and_again,
    hidden_twice,
    hidden_words,
    words_that_stay,
)
from assignments.common.draws import a_generator, again_or_not, twice
from assignments.common.layers import EVERYTHING, drops_together, words_agree
from autograder.checks.cases import Build, Call, Case, Chance, Randn
from autograder.checks.check import Part
from autograder.checks.compare import (
    dropped,
    kind_of,
    strict_differences,
    two_results_differ,
    values_agree,
)
from autograder.checks.problem import Judgement
from course_utils import language_models

LECTURE = "../../lectures/09_one_half_alone.ipynb"
VOCABULARY, D_MODEL, HEADS, D_FF = 11, 12, 3, 10


# ------------------------------------------------------------------------- what is drawn: a model


def model(
    B: int,
    T: int,
    num_layers: int = 2,
    *,
    sizes: tuple[int, int, int, int] = (VOCABULARY, D_MODEL, HEADS, D_FF),
    before: int = 0,
    training: bool = False,
    **keywords: Any,
) -> Case:
    """A causal language model of these sizes and token ids (B, T), whose first column is the word 0.

    Args:
        sizes: vocab_size, d_model, num_heads, d_ff.
        before: length of other sentences that it has read already.
    """
    V, d_model, heads, d_ff = sizes
    usual = sizes == (VOCABULARY, D_MODEL, HEADS, D_FF)

    def draw(randn: Randn) -> Build:
        ids = torch.randint(V, (B, T), generator=randn.generator)
        ids[:, 0] = 0
        others = [torch.randint(V, (B, before), generator=randn.generator)] if before else []
        construct = V, d_model, heads, num_layers, d_ff
        return Build(construct, keywords, [ids], training=training, before=others)

    notes = [f"{B=}, {T=}, {num_layers=}"]
    notes += [f"vocab_size={V}, {d_model=}, num_heads={heads}, {d_ff=}"] * (not usual)
    notes += [f"{name}={value}" for name, value in keywords.items()]
    notes += [f"after other sentences of length {before}"] * (before > 0)
    return Case(", ".join(notes + ["train mode"] * training), draw)


def one_word_changed(T: int, num_layers: int) -> Case:
    """T + 1 sentences: the first, and T more in which word 0, 1, … is another one."""

    def draw(randn: Randn) -> Build:
        ids = torch.randint(VOCABULARY, (T,), generator=randn.generator).repeat(T + 1, 1)
        for t in range(T):
            step = int(torch.randint(1, VOCABULARY, (), generator=randn.generator))
            ids[t + 1, t] = (ids[t + 1, t] + step) % VOCABULARY
        construct = VOCABULARY, D_MODEL, HEADS, num_layers, D_FF
        return Build(construct, {"dropout": 0.0}, [ids])

    return Case(f"sentences that differ in one word, {T=}, {num_layers=}", draw)


WIDE = 8


def bare_dropout() -> Case:
    """No layers, and E the identity: the logits are the sum after its dropout, given twice."""
    state = {"embedding.weight": torch.eye(WIDE)}

    def draw(randn: Randn) -> Build:
        ids = torch.randint(WIDE, (3, 100), generator=randn.generator)
        state["position_embedding.weight"] = randn(128, WIDE) + 3
        return Build((WIDE, WIDE, 4, 0, 8), {}, [ids], state=state, training=True, times=2)

    return Case("train mode, the default dropout, no layers, E the identity", draw, random=True)


NEW = Case(
    "what a new model holds",
    lambda randn: Build((VOCABULARY, D_MODEL, HEADS, 1, D_FF), method=None),
    random=True,
)


# --------------------------------------------------------------- what is drawn: logits and targets


def scored(
    B: int,
    T: int,
    V: int,
    *,
    pad_id: int | None = None,
    padded: str = "",
    size: float = 1.0,
) -> Case:
    """logits (B, T, V) of this size and ids (B, T).

    Padding is nowhere, at the "end" of sentences, "anywhere", or a whole "sentence".
    """

    def draw(randn: Randn) -> list[Any]:
        pad = 0 if pad_id is None else pad_id
        ids = torch.randint(V - 1, (B, T), generator=randn.generator)
        ids = ids + (ids >= pad)
        if padded == "end":
            for row in range(B):
                ids[row, T - row :] = pad
        if padded == "anywhere":
            hit = torch.rand(B, T, generator=randn.generator) < 0.4
            hit[:, 1], hit[:, 2], hit[0, 0] = True, False, True
            ids[hit] = pad
        if padded == "sentence":
            ids[0] = pad
            ids[1, 2:] = pad
        logits = size * randn(B, T, V)
        return [logits, ids] if pad_id is None else [logits, ids, pad_id]

    notes = [f"{B=}, {T=}, {V=}"] + [f"{pad_id=}"] * (pad_id is not None)
    where = {"end": "at the end", "anywhere": "anywhere", "sentence": "a whole sentence of it"}
    notes += [f"padding {where[padded]}"] if padded else ["no padding"]
    notes += [f"logits of size {size:g}"] * (size != 1)
    return Case(", ".join(notes), draw)


# ----------------------------------------------------------- what is drawn: next-word distributions

KINDS, ROWS = 3, 4000  # different rows of logits, and how often each stands in the batch
LADDER = torch.tensor([2.3, 1.5, 0.8, 0.1, -0.7, -1.6, -2.2])


def next_words(
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    *,
    seeded: bool = False,
    size: float = 1.0,
    apart: float = 0.0,
    hidden: int = 0,
) -> Case:
    """Many rows of logits (B, V) of `KINDS` kinds that take turns, to draw a word for each.

    The logits of each kind lie higher by ``apart`` than those of the one before, around 0. The
    likeliest ``hidden`` words of each kind have a logit of −∞.
    """
    V = len(LADDER)

    def draw(randn: Randn) -> Call:
        kinds = torch.stack(
            [_ladder(randn, kind, temperature, top_k, top_p, hidden) for kind in range(KINDS)]
        )
        height = apart * (torch.arange(KINDS).unsqueeze(1) - KINDS // 2)
        logits = (size * kinds + height).to(randn.dtype).repeat(ROWS, 1)
        given: list[Any] = [logits, temperature * size, top_k, top_p]
        while given[-1] is None:
            given.pop()
        if seeded:
            given += [None] * (4 - len(given))
            given.append(a_generator(randn))
        return Call(given)

    options = {"temperature": temperature * size, "top_k": top_k, "top_p": top_p}
    notes = [f"{KINDS * ROWS} rows, {V=}"]
    notes += [f"{name}={value:g}" for name, value in options.items() if value not in (None, 1.0)]
    notes += [f"logits of size {2 * size:g}"] * (size != 1)
    notes += [f"rows around −{apart:g}, 0 and {apart:g}"] * (apart != 0)
    notes += [f"{hidden} words with a logit of −∞"] * (hidden > 0) + ["with a generator"] * seeded
    return Case(", ".join(notes), draw, random=True, chance=words_by_kind(V))


def _ladder(
    randn: Randn, kind: int, temperature: float, top_k: int | None, top_p: float | None, hidden: int
) -> Tensor:
    """One row of logits, in an order of its own; no set that is cut is near to another one."""
    V = len(LADDER)
    while True:
        steps = (0.7 + 0.25 * kind) * LADDER + 0.12 * torch.randn(V, generator=randn.generator)
        if hidden:
            steps[:hidden] = -torch.inf
        falling = steps.sort(descending=True).values
        left = (falling[:top_k] / temperature).softmax(dim=0).cumsum(dim=0)
        whole = (falling / temperature).softmax(dim=0).cumsum(dim=0)
        cut = 2.0 if top_p in (None, 1.0) else top_p
        apart = min(float((sums - cut).abs().min()) for sums in (left, whole))
        if apart > 0.01 and (falling[: V - hidden].diff().abs() > 0.1).all():
            order = torch.randperm(V, generator=randn.generator)
            return 0.4 * kind + steps[order]


def words_by_kind(V: int) -> Chance:
    """How often each word came in the rows of each kind, and how often twice running."""

    def expects(
        logits: Tensor, temperature: float = 1.0, top_k: Any = None, top_p: Any = None, *_: Any
    ) -> Tensor:
        kinds, rows = logits[:KINDS].double(), len(logits) // KINDS
        chances = language_models.next_token_probabilities(kinds, temperature, top_k, top_p)
        again = (rows - 1) * chances.square().sum(dim=1)
        counts = torch.nn.functional.pad(rows * chances, (0, 1))
        return torch.cat([counts, again.unsqueeze(1)], dim=1).flatten()

    def tally(ids: Tensor) -> Tensor:
        known = torch.where((ids >= 0) & (ids < V), ids, V).reshape(-1, KINDS)
        counts = torch.stack([torch.bincount(kind, minlength=V + 1) for kind in known.T])
        again = (known[1:] == known[:-1]).sum(dim=0)
        return torch.cat([counts, again.unsqueeze(1)], dim=1).flatten()

    what = [f"word {word}" for word in range(V)] + ["an id that is no word"]
    what += ["a word that came in the row before, too,"]
    names = tuple(f"{one} (in rows of kind {kind})" for kind in range(KINDS) for one in what)
    return Chance(expects, tally, names)


def many_words(B: int, V: int, top_k: int, share: int) -> Case:
    """logits (B, V) that rise from word to word; counted are shares of the vocabulary of this size."""

    def expects(logits: Tensor, temperature: float, top_k: int) -> Tensor:
        chances = language_models.next_token_probabilities(logits.double(), temperature, top_k)
        return torch.nn.functional.pad(chances.sum(dim=0).unflatten(0, (-1, share)).sum(1), (0, 1))

    def tally(ids: Tensor) -> Tensor:
        known = torch.where((ids >= 0) & (ids < V), ids // share, V // share)
        return torch.bincount(known.flatten(), minlength=V // share + 1)

    def draw(randn: Randn) -> list[Any]:
        logits = torch.linspace(-1, 1, V) + 0.001 * torch.rand(B, V, generator=randn.generator)
        return [logits.to(randn.dtype), 1.0, top_k]

    names = [f"a word from {first} to {first + share - 1}" for first in range(0, V, share)]
    chance = Chance(expects, tally, (*names, "an id that is no word"))
    return Case(f"{B=}, {V=}, {top_k=}", draw, random=True, chance=chance)


def likeliest(B: int, temperature: float = 1.0, *cuts: Any, size: float = 1.0) -> Case:
    """logits (B, V) from which nothing but the likeliest word can be drawn."""

    def draw(randn: Randn) -> list[Any]:
        logits = torch.stack(
            [LADDER[torch.randperm(len(LADDER), generator=randn.generator)] for _ in range(B)]
        )
        logits = size * (logits + 0.1 * torch.rand(logits.shape, generator=randn.generator))
        return [logits.to(randn.dtype), temperature, *cuts]

    named = "".join(f", {name}={cut}" for name, cut in zip(("top_k", "top_p"), cuts, strict=False))
    return Case(f"{B=}, {temperature=:g}{named}, logits of size {2 * size:g}", draw)


def drawn_twice(anew: bool, seeded: bool = True) -> Case:
    return twice(lambda randn: [randn(300, 9), 1.0, None, None], anew, seeded)


def refused(**given: Any) -> Case:
    """A ValueError is right: logits (2, 5) with these arguments."""
    options = {"temperature": 1.0, "top_k": None, "top_p": None, **given}
    case = Case(
        "not to be had: " + ", ".join(f"{name}={value}" for name, value in given.items()),
        lambda randn: [randn(2, 5), *options.values()],
    )
    return replace(case, raises=("ValueError",))


# -------------------------------------------------------------------- what is drawn: counted words


def counted(words: int, letters: str, num_merges: int) -> Case:
    """Random words of these letters with counts, in which no two pairs are ever equally frequent.

    No pair overlaps itself, and every merge that is asked for is to be had.
    """

    def draw(randn: Randn) -> list[Any]:
        while True:
            counts = {
                _word(randn, letters): int(torch.randint(1, 40, (), generator=randn.generator))
                for _ in range(words)
            }
            rounds = list(_rounds(counts, num_merges))
            if len(rounds) == num_merges and all(_clear(*one) for one in rounds):
                return [counts, num_merges]

    return Case(f"{words} random words of the letters {letters}, {num_merges=}", draw)


def _word(randn: Randn, letters: str, length: int = 0) -> str:
    length = length or int(torch.randint(2, 8, (), generator=randn.generator))
    picked = torch.randint(len(letters), (length,), generator=randn.generator)
    return "".join(letters[place] for place in picked.tolist())


def _rounds(
    counts: dict[str, int], num_merges: int
) -> Iterator[tuple[Counter[tuple[str, str]], list[list[str]]]]:
    """Of each round, how often every pair stands, and the words as symbols."""
    merges = language_models.learn_merges(counts, num_merges)
    for done in range(len(merges)):
        symbols = [language_models.apply_merges(word, merges[:done]) for word in counts]
        pairs: Counter[tuple[str, str]] = Counter()
        for word, number in zip(symbols, counts.values(), strict=True):
            for pair in pairwise(word):
                pairs[pair] += number
        yield pairs, symbols


def _clear(pairs: Counter[tuple[str, str]], symbols: list[list[str]]) -> bool:
    """Whether one pair is the most frequent, and does not overlap itself."""
    (first, most), *rest = pairs.most_common(2)
    return first[0] != first[1] and all(number < most for _, number in rest)


def any_words(words: int, letters: str, num_merges: int, longest: int) -> Case:
    """Random words of these letters, one of them long, with counts of 1 to 4, so with many ties."""

    def draw(randn: Randn) -> list[Any]:
        made = [_word(randn, letters) for _ in range(words)] + [_word(randn, letters, longest)]
        numbers = torch.randint(1, 5, (len(made),), generator=randn.generator).tolist()
        return [dict(zip(made, numbers, strict=True)), num_merges]

    label = f"{words} random words of {len(letters)} letters and one of length {longest}"
    return Case(f"{label}, {num_merges=}", draw)


def these(label: str, num_merges: int, *words: str, most: int = 1) -> Case:
    """These words with random counts up to ``most``, in random order."""

    def draw(randn: Randn) -> list[Any]:
        order = torch.randperm(len(words), generator=randn.generator).tolist()
        numbers = torch.randint(1, most + 1, (len(words),), generator=randn.generator).tolist()
        return [{words[place]: numbers[place] for place in order}, num_merges]

    return Case(f"{label}, {num_merges=}", draw)


def weighed(label: str, num_merges: int, **counts: int) -> Case:
    """These words of the letters a, b and c, in other letters of the same order, and as often."""

    def draw(randn: Randn) -> list[Any]:
        picked = torch.randperm(26, generator=randn.generator)[:3].sort().values.tolist()
        letters = str.maketrans("abc", "".join(chr(ord("a") + place) for place in picked))
        times = int(torch.randint(1, 9, (), generator=randn.generator))
        words = {word.translate(letters): times * number for word, number in counts.items()}
        return [words, num_merges]

    return Case(f"{label}, {num_merges=}", draw)


# ------------------------------------------------------------------------------ what decides


def knows_its_beginning(expected: Tensor, got: Any) -> Judgement:
    """Which rows of logits another word changes: its own and those after it, and none before it."""
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return "the result should be finite, but it holds NaN or infinity"
    same = words_agree(got[:1], got[1:])  # (T, T): changed word, row
    for word, row in ((same != words_agree(expected[:1], expected[1:])).nonzero()).tolist():
        if row < word:
            return (
                f"another word at place {word} (counting from 0) changes row {row} of the logits, which "
                "stands before it: a row may know the words up to its own, and none after it"
            )
        return (
            f"another word at place {word} (counting from 0) should change row {row} of the logits, "
            "but it does not: a row knows all words up to its own, and itself"
        )
    return None


def model_drops(expected: Any, got: Any) -> Judgement:
    """Numbers, what a new model holds, or two results that were left to chance."""
    if isinstance(expected, dict):
        return _holdings(expected, got)
    if isinstance(expected, list):
        problem: Judgement = two_results_differ(expected, got)
        for right, found in [] if problem else zip(expected, got, strict=True):
            problem = problem or dropped(0.1)(right, found) or drops_together(found == 0)
        return problem
    return values_agree(expected, got)


def _holdings(expected: dict[str, Any], got: Any) -> str | None:
    own = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(own, dict):
        return f"expected a module, got {kind_of(got)}"
    missing = [f"`{name}`" for name in expected["parameters"] if name not in own]
    if missing:
        return f"a new model should hold {', '.join(missing)}, and does not"
    if got.get("distinct") == expected["distinct"]:
        return None
    surplus = [f"`{name}`" for name in own if name not in expected["parameters"]]
    return (
        f"the model has parameters that the text does not name: {', '.join(surplus)}. The logits are "
        "made with `embedding.weight` itself, so nothing else is learned for them"
    )


def ids_agree(expected: Tensor | list, got: Any) -> Judgement:
    """Compare ids, also in their dtype."""
    return values_agree(expected, got) or strict_differences(expected, got)


as_asked = again_or_not(ids_agree)


# ----------------------------------------------------------------------- CausalLanguageModel

language_model = Part(
    "CausalLanguageModel(vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, "
    "max_len=128), forward(token_ids (B, T)) -> logits (B, T, vocab_size)",
    language_models.CausalLanguageModel,
    reads=("lecture 9, on the decoder alone", f"{LECTURE}#1.-Two-halves"),
)
KNOWS = language_model.step(
    "each row of the logits knows its own word and those before it, and nothing after it",
    1,
    one_word_changed(T=5, num_layers=1),
    one_word_changed(T=3, num_layers=2),
    one_word_changed(T=2, num_layers=3),
    judge=knows_its_beginning,
)
LOGITS = language_model.step(
    "logits with given weights, for any number of layers",
    1,
    model(B=2, T=3, num_layers=0),
    model(B=1, T=4, num_layers=1),
    model(B=3, T=5, num_layers=2),
    model(B=2, T=1, num_layers=2),
    model(B=9, T=3, num_layers=1),
    model(B=1, T=3, num_layers=4),
    model(B=1, T=2, num_layers=1, sizes=(300, 24, 8, 50)),
)
LENGTHS = language_model.step(
    "lengths up to max_len, dropout, no parameter beside those named, float64, gradients",
    1,
    model(B=2, T=7, num_layers=1, max_len=7),
    model(B=1, T=128, num_layers=0),
    # longer than a mask as large as the default max_len
    model(B=1, T=129, num_layers=1, sizes=(3, 1, 1, 1), max_len=129),
    model(B=1, T=133, num_layers=0, max_len=135),
    replace(model(B=2, T=8, num_layers=1, max_len=7), raises=("ValueError",)),
    model(B=2, T=5, dropout=0.0, training=True),
    model(B=2, T=5, dropout=0.7),
    model(B=2, T=4, dropout=EVERYTHING, training=True),
    model(B=2, T=4, num_layers=0, dropout=EVERYTHING, training=True),
    bare_dropout(),
    NEW,
    model(B=3, T=5, sizes=(VOCABULARY, 6, 3, 4), before=5),
    model(B=3, T=5, sizes=(VOCABULARY, 6, 3, 4), before=3),
    model(B=3, T=5).in_float64(),
    model(B=3, T=5).with_gaps(),
    model(B=2, T=4, num_layers=1).in_float64().with_gradients(),
    judge=model_drops,
)


# -------------------------------------------------------------------------- next_token_loss

loss = Part(
    "next_token_loss(logits (B, T, V), token_ids (B, T), pad_id=0) -> ()",
    language_models.next_token_loss,
    reads=("lecture 9, on the loss of the next token", f"{LECTURE}#2.-The-loss-of-the-next-token"),
)
SHIFTED = loss.step(
    "each row is compared with the next token; the mean over all of them, in nats",
    1,
    scored(B=1, T=2, V=5),
    scored(B=3, T=5, V=7),
    scored(B=2, T=6, V=4),
    scored(B=4, T=4, V=4),
    scored(B=12, T=40, V=7),
    scored(B=2, T=5, V=300),
)
PADDING = loss.step(
    "padding is never asked for, logits of any size, float64, inputs as they were, gradients",
    1,
    scored(B=3, T=5, V=7, padded="end"),
    scored(B=3, T=5, V=9, pad_id=4),
    scored(B=3, T=6, V=300, pad_id=250, padded="end"),
    scored(B=4, T=7, V=6, pad_id=2, padded="anywhere"),
    scored(B=2, T=5, V=8, padded="sentence"),
    scored(B=2, T=4, V=6, size=30),
    scored(B=3, T=4, V=5, size=400, pad_id=3, padded="end"),
    scored(B=3, T=5, V=7, padded="end").in_float64(),
    scored(B=3, T=5, V=7, padded="end").with_gaps(),
    scored(B=3, T=5, V=7, pad_id=1, padded="anywhere").in_float64().with_gradients(),
    scored(B=2, T=5, V=8, size=400, padded="sentence").with_gradients(),
    strict=True,
)


# ------------------------------------------------------------------------------ sample_next

sampling = Part(
    "sample_next(logits (B, V), temperature=1.0, top_k=None, top_p=None, generator=None) -> (B,)",
    language_models.sample_next,
    reads=("lecture 9, on generating text", f"{LECTURE}#3.-Generating-text"),
)
COOLED = sampling.step(
    "temperature and top_k: which words come, and how often",
    1,
    next_words(),
    next_words(size=0.05),
    next_words(1.8, apart=120.0),
    next_words(top_k=3),
    next_words(1.5, top_k=4),
    next_words(0.7, top_k=50),
    next_words(size=10.0),
    next_words(size=0.05, top_k=3, apart=300.0),  # −∞ alone lies far enough below
    many_words(B=200, V=400, top_k=250, share=25),
)
NUCLEUS = sampling.step(
    "top_p, alone and after temperature and top_k",
    1,
    next_words(top_p=0.7),
    next_words(top_p=0.9),
    next_words(top_p=1.0),
    next_words(top_p=0.8, apart=300.0),
    next_words(2.4, top_p=0.8),
    next_words(0.5, top_p=0.9),
    next_words(2.0, top_k=4, top_p=0.75),
    next_words(0.8, top_k=5, top_p=0.9),
    next_words(1.5, top_k=3, top_p=0.8),
)
DRAWN = sampling.step(
    "the generator, temperature 0, logits of −∞, ids of shape (B,), errors",
    1,
    likeliest(B=6, temperature=0, size=0.01),
    likeliest(B=600, temperature=0, size=0.0001),
    likeliest(5, 0, 3, 0.6),
    likeliest(4, 1.3, 1),
    likeliest(3, 0.9, None, 0.02),
    likeliest(1, 0, size=200),
    likeliest(6, 0.05, size=2.0),
    likeliest(1, 1.0, 1),
    likeliest(B=6, temperature=0, size=0.01).in_float64(),
    likeliest(4, 1.3, 1).with_gaps(),
    next_words(seeded=True),
    next_words(1.3, top_k=4, top_p=0.8, seeded=True),
    next_words(hidden=2, top_p=0.9),
    next_words(0.8, top_k=6, hidden=3),
    drawn_twice(anew=True),
    drawn_twice(anew=False),
    drawn_twice(anew=False, seeded=False),
    refused(temperature=-1.0),
    refused(top_k=0),
    refused(top_p=0.0),
    refused(top_p=1.5),
    refused(temperature=0, top_k=-2),
    refused(temperature=0, top_p=-0.5),
    judge=as_asked,
    strict=True,
)


# ------------------------------------------------------------------------------- mask_words

masking = Part(
    "mask_words(token_ids (B, T), mask_id, vocab_size, special_ids, share=0.15, generator=None) -> "
    "(inputs (B, T), targets (B, T))",
    language_models.mask_words,
    reads=("lecture 9, on the encoder alone", f"{LECTURE}#4.-The-encoder-alone"),
)
CHOSEN = masking.step(
    "which words are chosen, each by itself, and what is asked for",
    1,
    hidden_words(None, V=300),
    hidden_words(0.5, V=41, mask_id=7, special=(39, 2, 0)),
    hidden_again_and_again(48, (6, 40), share=0.3),
    hidden_again_and_again(400, (2, 4), share=0.1),  # mostly too few words for one to be chosen
    hidden_words(1.0, V=31, mask_id=0, special=(0, 30)),
)
REPLACED = masking.step(
    "what chosen words become, ids as they were, the generator",
    1,
    hidden_words(1.0, V=730, fates=True),
    hidden_words(0.6, V=29, mask_id=28, special=(2, 28, 0, 1), fates=True, seeded=True),
    hidden_words(1.0, V=37, mask_id=3, special=(6, 0), fates=True),
    hidden_words(1.0, V=37, mask_id=3, special=(6,), fates=True),
    hidden_words(1.0, V=37, mask_id=3, special=(6, 0), fates=True).with_gaps(),
    hidden_again_and_again(36, (16, 40), share=1.0, V=730, fates=True),
    words_that_stay(V=5, mask_id=3),
    hidden_twice(anew=True),
    hidden_twice(anew=False),
    hidden_twice(anew=False, seeded=False),
    judge=as_asked,
    strict=True,
)


# ----------------------------------------------------------------------------- learn_merges

merging = Part(
    "learn_merges(word_counts, num_merges) -> [(left, right), …]",
    language_models.learn_merges,
    reads=("lecture 9, on subwords", f"{LECTURE}#5.-Subwords"),
)
COUNTED = merging.step(
    "the most frequent pair of all words, joined, and counted anew",
    1,
    counted(4, "abc", 2),
    counted(6, "abcd", 4),
    counted(9, "abcde", 6),
    counted(12, "aeimnst", 8),
)
ENDS = merging.step(
    "of equal pairs the smallest, no overlaps, any number of merges, the dict as it was",
    1,
    these("all pairs equally frequent", 5, "dcba", "hgfe", "badc"),
    these("words in random order, counts of 1 to 3", 9, "bab", "abba", "cab", "bca", "acb", most=3),
    these("letters that stand twice and three times", 4, "aaa", "baab", "caaa", "aa", most=5),
    these("one letter, many times", 3, "aaaaa", "aaaa"),
    these("a pair that overlaps itself", 5, "ababab", "babab", "abab", most=4),
    weighed("one letter in a run of three, beside another", 2, abbb=4),
    weighed("a pair that stands twice in a word, beside a more frequent word", 2, abcab=3, xyz=5),
    weighed("equal pairs whose texts stand in another order", 2, bbbc=4),
    weighed("a symbol that ends with another one", 4, acaca=4),
    these("upper and lower case", 4, "The", "the", "then", "Them", most=6),
    these("more merges than pairs", 50, "abc", "ab", "xyz"),
    these("words of one letter", 4, "a", "b", "I"),
    these("letters with accents", 6, "été", "thé", "café", "naïf", most=3),
    any_words(25, string.ascii_letters, 60, longest=60),
    these("no merges", 0, "abab", "ab"),
    these("no words", 3),
    strict=True,
)
