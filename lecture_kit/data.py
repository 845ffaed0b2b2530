"""German–English sentence pairs: a toy corpus that is made here, and files that readers bring.

The corpus comes from the grammar of `lecture_kit.corpus`, so nothing has to be downloaded and the
true alignment is known. German is the source, English the target. A sentence is a string of
lower-case tokens with one space between them; punctuation marks are tokens.

A German sentence has exactly one translation in the corpus, so a model can be right every time.
The reverse does not hold: "heute lese ich" and "ich lese heute" are the same in English.

Shapes: B batch, S source length, T target length, both with padding.
"""

import difflib
import hashlib
import random
import re
import unicodedata
from collections import Counter
from itertools import count as count_from
from pathlib import Path
from typing import NamedTuple

import torch

from lecture_kit.corpus.sentences import sentences

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)

LENGTH_BUCKETS = ((3, 7), (8, 11), (12, 15), (16, 19), (20, 28))  # source tokens, both included

PARTS = ("train", "validation", "test")
_VALIDATION_SHARE, _TEST_SHARE = 5, 5  # of 100 sentences; the others are for training
_POOL = 20  # batches that are sorted by length together

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str  # German
    target: str  # English
    alignment: tuple[tuple[int, ...], ...] | None = None  # per target token: its source tokens


class Splits(NamedTuple):
    """Three lists of pairs that share no German sentence."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


class Batch(NamedTuple):
    """Pairs as tensors of ids, padded to the longest of each side."""

    source: torch.Tensor  # (B, S) int64: words, <eos>, padding
    target: torch.Tensor  # (B, T) int64: <bos>, words, <eos>, padding


EXAMPLE = Pair(
    "kannst du mir helfen , diesen satz zu übersetzen ?",
    "can you help me to translate this sentence ?",
    ((0,), (1,), (3,), (2,), (7,), (8,), (5,), (6,), (9,)),
)
"""The sentence that the lectures draw. It belongs to the test part; no model is trained on it."""


def part_of(source):
    """Which part a German sentence belongs to: "train", "validation" or "test".

    A digest of the sentence decides, so the answer is the same for every seed and sample size, and
    a sentence that one notebook trains on is never held out by another. Works for any sentence,
    those of `load_pairs` too.

    Args:
        source: the German sentence.

    Returns:
        "validation" and "test" for 5 % of all sentences each, "train" for the others.
    """
    if source == EXAMPLE.source:
        return "test"
    number = int.from_bytes(hashlib.sha256(source.encode()).digest()[:4], "big") % 100
    if number < _TEST_SHARE:
        return "test"
    return "validation" if number < _TEST_SHARE + _VALIDATION_SHARE else "train"


def sample_pairs(count, seed=0, part=None):
    """Draw distinct pairs from the grammar.

    Args:
        count: how many; 100 000 take a few seconds.
        seed: an int; the same seed gives the same pairs everywhere, and a larger count gives the
            same pairs first.
        part: draw from this part only ("train", "validation", "test"); None draws from all.

    Returns:
        list of `Pair`, with alignments, no German sentence twice, 3 to 28 tokens on each side.

    Raises:
        ValueError: count is negative, or part is not one of the three.
    """
    if part is not None and part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(PARTS)} or None, found {part!r}")
    wanted = {name: 0 for name in PARTS} if part else {None: count}
    if part:
        wanted[part] = count
    return _draw(wanted, seed)[part]


def splits(train=50_000, validation=1_000, test=1_000, seed=0):
    """Training, validation and test pairs that share no German sentence.

    Args:
        train, validation, test: how many pairs of each.
        seed: as for `sample_pairs`.

    Returns:
        `Splits`, three lists of `Pair`.

    Raises:
        ValueError: a number is negative.
    """
    wanted = {"train": train, "validation": validation, "test": test}
    return Splits(**_draw(wanted, seed))


def _draw(wanted, seed):
    """Fill one list for each key of `wanted`; the key None takes sentences of every part."""
    for name, number in wanted.items():
        if number < 0:
            raise ValueError(f"{name or 'count'}: expected a number of pairs, found {number}")
    stream = sentences(seed)
    seen = set()
    drawn = {name: [] for name in wanted}
    missing = sum(wanted.values())
    while missing:
        pair = Pair(*next(stream))
        if pair.source in seen:
            continue
        seen.add(pair.source)
        name = None if None in wanted else part_of(pair.source)
        if len(drawn[name]) < wanted[name]:
            drawn[name].append(pair)
            missing -= 1
    return drawn


def length_bucket(pair):
    """The entry of `LENGTH_BUCKETS` that holds the pair's source length.

    Args:
        pair: a `Pair`.

    Returns:
        (low, high), two ints, both included.

    Raises:
        ValueError: the sentence is shorter or longer than all buckets.
    """
    length = len(pair.source.split())
    for low, high in LENGTH_BUCKETS:
        if low <= length <= high:
            return low, high
    shortest, longest = LENGTH_BUCKETS[0][0], LENGTH_BUCKETS[-1][1]
    raise ValueError(
        f"expected {shortest} to {longest} source tokens, found {length}: {pair.source!r}"
    )


def alignment_matrix(pair):
    """The true alignment as attention weights: what a perfect translator might look at.

    weights[t, s] = 1 / (number of source tokens that target token t renders), if s is one of them

    Args:
        pair: a `Pair` with its alignment.

    Returns:
        (T, S) float32 tensor without rows or columns for special tokens; each row sums to 1.

    Raises:
        ValueError: the pair has no alignment, because it did not come from the grammar.
    """
    if pair.alignment is None:
        raise ValueError(f"only pairs from the grammar have an alignment, not {pair.source!r}")
    weights = torch.zeros(len(pair.target.split()), len(pair.source.split()))  # (T, S)
    for place, origins in enumerate(pair.alignment):
        weights[place, list(origins)] = 1 / len(origins)
    return weights


class Vocabulary:
    """The words of one language, numbered. The first four ids are those of `SPECIALS`.

    Args:
        words: distinct words, none of them in `SPECIALS`; the first gets id 4.

    Raises:
        ValueError: a word comes twice, is empty or holds a space, or is one of `SPECIALS`.
    """

    def __init__(self, words):
        self.words = (*SPECIALS, *words)
        self._ids = {word: index for index, word in enumerate(self.words)}
        if len(self._ids) < len(self.words):
            twice = sorted(word for word, number in Counter(self.words).items() if number > 1)
            raise ValueError(f"expected distinct words other than {SPECIALS}, found twice: {twice}")
        broken = [word for word in self.words if word.split() != [word]]
        if broken:
            raise ValueError(f"expected words without spaces, found {broken}")

    @classmethod
    def from_sentences(cls, sentences, min_count=1):
        """Collect the words of some sentences, the most frequent first, ties in alphabetical order.

        Args:
            sentences: strings of tokens with spaces between them.
            min_count: leave out words that come less often.

        Returns:
            a `Vocabulary`.
        """
        counts = Counter(word for sentence in sentences for word in sentence.split())
        kept = [word for word, number in counts.items() if number >= min_count]
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    def __len__(self):
        return len(self.words)

    def __contains__(self, word):
        return word in self._ids

    def encode(self, sentence, allow_unknown=False):
        """Turn a sentence into ids, without <bos> and <eos>.

        Args:
            sentence: a string of tokens with spaces between them, such as `tokenize` makes.
            allow_unknown: give unknown words the id of <unk> instead of raising.

        Returns:
            list of ints.

        Raises:
            ValueError: a word is unknown; the message names similar words that are known.
        """
        words = sentence.split()
        unknown = [word for word in words if word not in self._ids]
        if unknown and not allow_unknown:
            raise ValueError("; ".join(self._complaint(word) for word in dict.fromkeys(unknown)))
        return [self._ids.get(word, UNK_ID) for word in words]

    def _complaint(self, word):
        known = self.words[len(SPECIALS) :]
        if word.lower() in self._ids:
            return f"unknown word {word!r}: words are lower case here, write {word.lower()!r}"
        close = difflib.get_close_matches(word.lower(), known, n=3)
        if close:
            return f"unknown word {word!r}: did you mean {' or '.join(map(repr, close))}?"
        return f"unknown word {word!r}: nothing like it among the {len(known)} words known here"

    def decode(self, ids):
        """Turn ids back into a sentence: <bos> and <pad> are left out, <eos> ends it.

        Args:
            ids: ints, or a tensor of one axis.

        Returns:
            string of words with spaces between them.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        words = []
        for index in map(int, ids):
            if not 0 <= index < len(self.words):
                raise ValueError(f"expected ids from 0 to {len(self.words) - 1}, found {index}")
            if index == EOS_ID:
                break
            if index not in (PAD_ID, BOS_ID):
                words.append(self.words[index])
        return " ".join(words)


def vocabularies(pairs, min_count=1):
    """The source and the target vocabulary of some pairs.

    Args:
        pairs: `Pair`s, those of training.
        min_count: as for `Vocabulary.from_sentences`.

    Returns:
        (source, target), two `Vocabulary` objects.
    """
    source = Vocabulary.from_sentences((pair.source for pair in pairs), min_count)
    target = Vocabulary.from_sentences((pair.target for pair in pairs), min_count)
    return source, target


def collate(pairs, source_vocabulary, target_vocabulary, allow_unknown=False, device=None):
    """Encode and pad some pairs.

    The source gets no <bos>, so that column s of the encoder's output is word s of the sentence.
    The decoder reads target[:, :-1] and is to say target[:, 1:].

    Args:
        pairs: at least one `Pair`.
        source_vocabulary, target_vocabulary: a `Vocabulary` each.
        allow_unknown: as for `Vocabulary.encode`.
        device: where to put the tensors.

    Returns:
        `Batch` of (B, S) and (B, T) int64 tensors, padded with `PAD_ID` at the end.

    Raises:
        ValueError: there are no pairs, or a word is unknown.
    """
    if not pairs:
        raise ValueError("expected at least one pair, found none")
    source = [[*source_vocabulary.encode(pair.source, allow_unknown), EOS_ID] for pair in pairs]
    target = [
        [BOS_ID, *target_vocabulary.encode(pair.target, allow_unknown), EOS_ID] for pair in pairs
    ]
    return Batch(_pad(source, device), _pad(target, device))


def _pad(rows, device):
    width = max(map(len, rows))
    filled = [row + [PAD_ID] * (width - len(row)) for row in rows]
    return torch.tensor(filled, dtype=torch.int64, device=device)


def batches(
    pairs, source_vocabulary, target_vocabulary, batch_size, seed=0, epochs=None, device=None
):
    """Shuffled batches of sentences of similar length, so that little is spent on padding.

    Each epoch shuffles all pairs, sorts every 20 batches' worth by length, cuts them into
    batches and shuffles these. For a fixed number of steps: `zip(range(steps), batches(...))`.

    Args:
        pairs: list of `Pair`.
        source_vocabulary, target_vocabulary: a `Vocabulary` each.
        batch_size: B; the last batch of an epoch may be smaller.
        seed: an int; the same seed gives the same batches everywhere.
        epochs: how often to go through all pairs; None goes on for ever.
        device: where to put the tensors.

    Yields:
        `Batch`, as `collate` makes it.

    Raises:
        ValueError: there are no pairs, batch_size is less than 1, or a word is unknown.
    """
    if not pairs:
        raise ValueError("expected at least one pair, found none")
    if batch_size < 1:
        raise ValueError(f"expected a batch_size of at least 1, found {batch_size}")
    generator = random.Random(seed)
    for _ in count_from() if epochs is None else range(epochs):
        order = _shuffled(pairs, generator)
        cut = []
        for start in range(0, len(order), _POOL * batch_size):
            pool = sorted(order[start : start + _POOL * batch_size], key=_length)
            cut += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
        for batch in _shuffled(cut, generator):
            yield collate(batch, source_vocabulary, target_vocabulary, device=device)


def _length(pair):
    return pair.source.count(" ")


def _shuffled(items, generator):
    # Of all methods, only random() is promised to give the same in every version of Python.
    keys = [generator.random() for _ in items]
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]


def tokenize(text):
    """Lower-case a sentence and set its words and punctuation marks apart with single spaces.

    Args:
        text: any string: "Kannst du mir helfen, diesen Satz zu übersetzen?"

    Returns:
        string: "kannst du mir helfen , diesen satz zu übersetzen ?"
    """
    return " ".join(_TOKEN.findall(unicodedata.normalize("NFC", text).lower()))


def load_pairs(path, max_tokens=28, limit=None):
    """Read a file of sentence pairs, one pair a line: english<TAB>german[<TAB>credits].

    This is the format in which the Tatoeba project's sentences are offered at
    https://www.manythings.org/anki/. Real sentences have several translations and rare words: set
    min_count for the vocabularies, allow_unknown for encoding, and `part_of` to split them.

    Args:
        path: a text file in UTF-8.
        max_tokens: leave out pairs with a longer side; None keeps all.
        limit: stop after so many pairs; None reads all.

    Returns:
        list of `Pair` without alignment, German as the source, in the order of the file.

    Raises:
        ValueError: a line has fewer than two or more than three columns, an empty sentence, or
            is not UTF-8; the message names the file and the line. Blank lines are skipped.
    """
    pairs = []
    with Path(path).open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if limit is not None and len(pairs) >= limit:
                break
            pair = _parse(raw, f"{path}, line {number}")
            if pair is None:
                continue
            longest = max(len(pair.source.split()), len(pair.target.split()))
            if max_tokens is None or longest <= max_tokens:
                pairs.append(pair)
    return pairs


def _parse(raw, where):
    """One line of `load_pairs`, None if it is blank."""
    try:
        line = raw.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: expected UTF-8, found byte 0x{raw[error.start]:02x}; "
            "save the file as UTF-8 and try again"
        ) from error
    if not line.strip():
        return None
    columns = line.split("\t")
    if len(columns) not in (2, 3):
        raise ValueError(
            f"{where}: expected english<TAB>german[<TAB>credits], "
            f"found {len(columns)} column(s): {line[:60]!r}"
        )
    english, german = map(tokenize, columns[:2])
    if not english or not german:
        missing = "english" if not english else "german"
        raise ValueError(f"{where}: the {missing} sentence is empty: {line[:60]!r}")
    return Pair(german, english)
