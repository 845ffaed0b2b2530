"""lecture_kit.data: parts of the corpus, vocabularies, batches, and files of other sentences."""

from collections import Counter

import pytest
import torch

from lecture_kit import data

# --- pairs ------------------------------------------------------------------------------------


@pytest.mark.long
def test_lengths_and_buckets(corpus):
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in corpus]
    assert min(map(min, lengths)) == 3
    assert max(map(max, lengths)) <= 28
    counts = Counter(map(data.length_bucket, corpus))
    assert set(counts) == set(data.LENGTH_BUCKETS)
    assert min(counts.values()) > 0.08 * len(corpus)


def test_length_bucket_refuses_what_no_bucket_holds():
    with pytest.raises(ValueError, match="expected 3 to 28 source tokens, found 2"):
        data.length_bucket(data.Pair("ja .", "yes ."))


def test_vocabulary_sizes(corpus):
    source, target = data.vocabularies(corpus)
    assert 100 <= len(source) - len(data.SPECIALS) <= 250
    assert 100 <= len(target) - len(data.SPECIALS) <= 250


def test_alignment_matrix():
    weights = data.alignment_matrix(data.EXAMPLE)
    assert weights.shape == (9, 10)
    assert weights.dtype == torch.float32
    assert torch.equal(weights.sum(dim=1), torch.ones(9))
    assert weights[2, 3] == weights[3, 2] == 1  # help me: mir helfen
    halves = data.alignment_matrix(data.Pair("a b c", "x y", ((0, 2), (1,))))
    assert halves.tolist() == [[0.5, 0, 0.5], [0, 1, 0]]
    with pytest.raises(ValueError, match="only pairs from the grammar"):
        data.alignment_matrix(data.Pair("ja .", "yes ."))


# --- parts ------------------------------------------------------------------------------------


def test_splits_are_disjoint_and_stay_so_for_other_seeds():
    first = data.splits(train=3_001, validation=101, test=103, seed=0)
    second = data.splits(train=2_003, validation=53, test=59, seed=1)
    assert tuple(map(len, first)) == (3_001, 101, 103)
    assert tuple(map(len, second)) == (2_003, 53, 59)
    sources = [{pair.source for pair in part} for part in first]
    assert [len(part) for part in sources] == [3_001, 101, 103]
    others = [{pair.source for pair in part} for part in second]
    for i in range(3):
        for j in range(3):
            if i != j:
                assert not sources[i] & sources[j]
                assert not sources[i] & others[j]
    assert data.splits(31, 7, 5, seed=0).train == first.train[:31]


def test_sampling_from_one_part():
    pairs = data.sample_pairs(53, seed=2, part="validation")
    assert len(pairs) == 53
    assert {data.part_of(pair.source) for pair in pairs} == {"validation"}
    assert data.sample_pairs(0) == []


def test_parts_have_their_share(corpus):
    counts = Counter(data.part_of(pair.source) for pair in corpus)
    assert 0.89 < counts["train"] / len(corpus) < 0.91
    assert 0.045 < counts["validation"] / len(corpus) < 0.055
    assert 0.045 < counts["test"] / len(corpus) < 0.055


def test_the_example_is_held_out():
    assert data.part_of(data.EXAMPLE.source) == "test"


def test_impossible_samples():
    with pytest.raises(ValueError, match="part must be one of train, validation, test or None"):
        data.sample_pairs(3, part="dev")
    with pytest.raises(ValueError, match="found -1"):
        data.sample_pairs(-1)
    with pytest.raises(ValueError, match="validation: expected a number of pairs, found -2"):
        data.splits(3, -2, 1)


# --- vocabularies and batches -----------------------------------------------------------------


def test_vocabulary_round_trip():
    words = data.Vocabulary.from_sentences(["b a b", "c b c", "d"])
    assert words.words == ("<pad>", "<bos>", "<eos>", "<unk>", "b", "c", "a", "d")
    assert (data.PAD_ID, data.BOS_ID, data.EOS_ID, data.UNK_ID) == (0, 1, 2, 3)
    assert len(words) == 8
    assert "a" in words
    assert "z" not in words
    assert words.encode("a b") == [6, 4]
    assert words.decode([1, 6, 4, 2, 0, 5]) == "a b"
    assert words.decode(torch.tensor([6, 0, 3, 4])) == "a <unk> b"
    rare = data.Vocabulary.from_sentences(["b a b", "c b c", "d"], min_count=2)
    assert rare.words[4:] == ("b", "c")
    assert rare.encode("a b d", allow_unknown=True) == [3, 4, 3]


def test_unknown_words_are_named_with_similar_ones():
    words = data.Vocabulary(["helfen", "helft", "satz", "übersetzen"])
    with pytest.raises(ValueError, match="unknown word 'hellfen': did you mean 'helfen'"):
        words.encode("satz hellfen")
    with pytest.raises(ValueError, match="words are lower case here, write 'satz'"):
        words.encode("Satz")
    with pytest.raises(ValueError, match=r"'qqq': nothing like it among the 4 .*'xxx'"):
        words.encode("qqq xxx")


def test_impossible_vocabularies():
    with pytest.raises(ValueError, match=r"found twice: \['a'\]"):
        data.Vocabulary(["a", "b", "a"])
    with pytest.raises(ValueError, match=r"found twice: \['<eos>'\]"):
        data.Vocabulary(["a", "<eos>"])
    with pytest.raises(ValueError, match=r"without spaces, found \['a b', ''\]"):
        data.Vocabulary(["a b", "c", ""])
    with pytest.raises(ValueError, match="expected ids from 0 to 4, found 5"):
        data.Vocabulary(["a"]).decode([4, 5])


def test_collate():
    pairs = [data.Pair("a b", "x"), data.Pair("b", "y x y")]
    source, target = data.vocabularies(pairs)
    batch = data.collate(pairs, source, target)
    a, b = source.encode("a b")
    x, y = target.encode("x y")
    assert batch.source.dtype == batch.target.dtype == torch.int64
    assert batch.source.tolist() == [[a, b, 2], [b, 2, 0]]
    assert batch.target.tolist() == [[1, x, 2, 0, 0], [1, y, x, y, 2]]
    with pytest.raises(ValueError, match="expected at least one pair"):
        data.collate([], source, target)
    with pytest.raises(ValueError, match="unknown word 'c'"):
        data.collate([data.Pair("c", "x")], source, target)
    unknown = data.collate([data.Pair("c", "x")], source, target, allow_unknown=True)
    assert unknown.source.tolist() == [[3, 2]]


def test_batches_hold_every_pair_once_an_epoch():
    pairs = data.sample_pairs(503, seed=0)
    source, target = data.vocabularies(pairs)
    drawn = list(data.batches(pairs, source, target, 11, seed=3, epochs=1))
    sentences = [source.decode(row) for batch in drawn for row in batch.source]
    assert sorted(sentences) == sorted(pair.source for pair in pairs)
    assert sentences != [pair.source for pair in pairs]
    assert sorted(len(batch.source) for batch in drawn) == [8] + [11] * 45
    again = list(data.batches(pairs, source, target, 11, seed=3, epochs=1))
    assert all(torch.equal(one, two) for b, c in zip(drawn, again, strict=True)
               for one, two in zip(b, c, strict=True))  # fmt: skip
    padding = sum((batch.source == 0).sum().item() for batch in drawn)
    assert padding < 0.15 * sum(batch.source.numel() for batch in drawn)


def test_batches_go_on_for_ever_and_differ_by_epoch():
    pairs = data.sample_pairs(7, seed=0)
    source, target = data.vocabularies(pairs)
    drawn = [batch for _, batch in zip(range(20), data.batches(pairs, source, target, 7),
                                       strict=False)]  # fmt: skip
    assert len(drawn) == 20
    twice = list(data.batches(data.sample_pairs(199), *data.vocabularies(data.sample_pairs(199)),
                              13, epochs=2))  # fmt: skip
    assert len(twice) == 32
    assert not all(torch.equal(a.source, b.source)
                   for a, b in zip(twice[:16], twice[16:], strict=True))  # fmt: skip


def test_impossible_batches():
    pairs = data.sample_pairs(3)
    source, target = data.vocabularies(pairs)
    with pytest.raises(ValueError, match="at least one pair"):
        next(data.batches([], source, target, 2))
    with pytest.raises(ValueError, match="batch_size of at least 1, found 0"):
        next(data.batches(pairs, source, target, 0))


# --- files ------------------------------------------------------------------------------------


def test_tokenize():
    text = "Kannst du mir helfen, diesen Satz zu übersetzen?"
    assert data.tokenize(text) == data.EXAMPLE.source
    assert data.tokenize("Don't!  It's 3 o'clock.") == "don't ! it's 3 o'clock ."
    assert data.tokenize("U\u0308BER") == "über"  # u and a combining diaeresis
    assert data.tokenize(" \t") == ""


def test_load_pairs(tmp_path):
    file = tmp_path / "pairs.txt"
    file.write_bytes(
        "\ufeffGo.\tGeh!\tCC-BY 2.0 by somebody\r\n"
        "\r\n"
        "Can you help me?\tKannst du mir helfen?\n"
        "Can you help me?\tKönnt ihr mir helfen?".encode()
    )
    pairs = data.load_pairs(file)
    assert pairs == [
        data.Pair("geh !", "go ."),
        data.Pair("kannst du mir helfen ?", "can you help me ?"),
        data.Pair("könnt ihr mir helfen ?", "can you help me ?"),
    ]
    assert all(pair.alignment is None for pair in pairs)
    assert data.load_pairs(str(file), max_tokens=4) == pairs[:1]
    assert data.load_pairs(file, limit=2) == pairs[:2]
    assert len(data.load_pairs(file, max_tokens=None)) == 3


@pytest.mark.parametrize(
    "line, message",
    [
        (b"Only English", r"line 2: expected english<TAB>german.* found 1 column\(s\): 'Only"),
        (b"a\tb\tc\td", r"line 2: .*found 4 column\(s\)"),
        (b"a\t \tc", "line 2: the german sentence is empty"),
        (b"\tb", "line 2: the english sentence is empty"),
        ("a\tf\u00fcr".encode("latin-1"), "line 2: expected UTF-8, found byte 0xfc"),
    ],
)
def test_load_pairs_says_which_line_is_wrong(tmp_path, line, message):
    file = tmp_path / "pairs.txt"
    file.write_bytes(b"Go.\tGeh!\n" + line + b"\n")
    with pytest.raises(ValueError, match=message):
        data.load_pairs(file)
