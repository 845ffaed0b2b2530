"""course_utils.data and its grammar against German and English rules written down a second time."""

import hashlib
import re
from collections import Counter

import pytest
import torch

from course_utils import data
from course_utils.grammar import Writer, noun_phrase, write_down
from course_utils.lexicon import NOUNS

PRESENT = {  # subject pronoun -> the finite forms that may go with it, beside its own pattern
    "ich": "kann muss will soll darf möchte bin habe lese kaufe suche brauche mache verstehe helfe "
    "arbeite schlafe komme versuche",
    "du": "kannst musst willst sollst darfst möchtest bist hast liest kaufst suchst brauchst machst "
    "verstehst hilfst arbeitest schläfst kommst versuchst",
    "er": "kann muss will soll darf möchte ist hat liest kauft sucht braucht macht versteht hilft "
    "arbeitet schläft kommt versucht",
    "wir": "können müssen wollen sollen dürfen möchten sind haben lesen kaufen suchen brauchen "
    "machen verstehen helfen arbeiten schlafen kommen versuchen",
}
FINITE = {pronoun: set(forms.split()) for pronoun, forms in PRESENT.items()}
FINITE["sie"] = FINITE["er"] | FINITE["wir"]
FINITE["es"] = {"ist"}
ANY_FINITE = set().union(*FINITE.values())
TIMES = ["heute", "morgen", "jetzt", "bald", "am sonntag", "am abend", "jeden tag"]

# German declension, as in a school grammar. The adjective is "klein".
PHRASES = {
    ("nominative", "bruder"): "der kleine|dieser kleine|ein kleiner|mein kleiner bruder",
    ("accusative", "bruder"): "den kleinen|diesen kleinen|einen kleinen|meinen kleinen bruder",
    ("dative", "bruder"): "dem kleinen|diesem kleinen|einem kleinen|meinem kleinen bruder",
    ("nominative", "schwester"): "die kleine|diese kleine|eine kleine|meine kleine schwester",
    ("accusative", "schwester"): "die kleine|diese kleine|eine kleine|meine kleine schwester",
    ("dative", "schwester"): "der kleinen|dieser kleinen|einer kleinen|meiner kleinen schwester",
    ("nominative", "kind"): "das kleine|dieses kleine|ein kleines|mein kleines kind",
    ("accusative", "kind"): "das kleine|dieses kleine|ein kleines|mein kleines kind",
    ("dative", "kind"): "dem kleinen|diesem kleinen|einem kleinen|meinem kleinen kind",
    ("nominative", "kind", "s"): "die kleinen|diese kleinen|kleine|meine kleinen kinder",
    ("accusative", "kind", "s"): "die kleinen|diese kleinen|kleine|meine kleinen kinder",
    ("dative", "kind", "s"): "den kleinen|diesen kleinen|kleinen|meinen kleinen kindern",
}
GENDERS = {
    "m": "mann nachbar nachbarn lehrer freund vater bruder brief satz kuchen apfel schlüssel stuhl",
    "f": "frau ärztin mutter schwester zeitung geschichte suppe milch lampe tasche tür küche",
    "n": "kind mädchen buch ei brot fahrrad auto fenster zimmer",
    "p": "männer männern freunde freunden brüder brüdern frauen schwestern kinder kindern eltern "
    "briefe sätze bücher zeitungen geschichten äpfel eier schlüssel lampen taschen fahrräder autos "
    "fenster türen zimmer",
}
# Every determiner and ending that can stand before a noun of this gender, in any case at all:
# "der" -> weak endings, "ein" -> mixed ones; POSS stands for mein, dein, sein.
FRAMES = {
    "m": "der e|den en|dem en|dieser e|diesen en|diesem en|ein er|einen en|einem en|"
    "POSS er|POSSen en|POSSem en",
    "f": "die e|der en|diese e|dieser en|eine e|einer en|POSSe e|POSSer en|- e",
    "n": "das e|dem en|dieses e|diesem en|ein es|einem en|POSS es|POSSem en|- es",
    "p": "die en|den en|diese en|diesen en|POSSe en|POSSen en|- e|- en",
}
THINGS = {
    "brief": "m", "schlüssel": "m", "stuhl": "m", "zeitung": "f", "lampe": "f", "tasche": "f",
    "buch": "n", "fahrrad": "n", "briefe": "p", "zeitungen": "p", "lampen": "p", "taschen": "p",
    "bücher": "p", "fahrräder": "p",
}  # fmt: skip
STEMS = ["alt", "neu", "klein", "groß", "lang", "schön", "rot", "frisch"]
DETERMINER = re.compile(r"(der|die|das|den|dem|(dies|ein|mein|dein|sein)(e|er|es|en|em)?)")


@pytest.fixture(scope="module")
def large_corpus():
    return data.sample_pairs(100_000, seed=0)


@pytest.fixture(scope="module")
def corpus(large_corpus):
    return large_corpus[:20_000]


def clauses(sentence):
    return [part.split() for part in re.split(r" [,.?] ?", sentence) if part]


# --- the corpus -------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_pairs_on_every_machine():
    pairs = data.sample_pairs(1_000, seed=5)
    text = "".join(f"{pair.source}\t{pair.target}\t{pair.alignment}\n" for pair in pairs)
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "38c9ff33342a25ab0f5f08ced852219fa84a6fdec0ec22143d0b05bbef2bd01a"
    )
    assert data.sample_pairs(300, seed=5) == pairs[:300]
    assert data.sample_pairs(300, seed=7) != pairs[:300]


def test_a_hundred_thousand_distinct_pairs(large_corpus):
    assert len({pair.source for pair in large_corpus}) == len(large_corpus) == 100_000
    # Two orders of the same German words share a translation, but not many sentences do.
    assert len({pair.target for pair in large_corpus}) > 95_000


def test_a_german_sentence_has_one_translation(large_corpus):
    translation = {pair.source: pair.target for pair in large_corpus}
    writer = Writer(seed=1)
    met_again = 0
    for _ in range(30_000):
        german, english, _ = writer.sentence()
        met_again += german in translation
        assert translation.setdefault(german, english) == english
    assert met_again > 1_000


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


def test_tokens_are_lower_case_words_and_marks(corpus):
    for pair in corpus:
        for sentence in pair[:2]:
            assert re.fullmatch(r"[a-zäöüß]+( [a-zäöüß]+| ,)* [.?]", sentence), sentence
            assert data.tokenize(sentence) == sentence


def test_the_grammar_draws_the_example():
    writer = Writer(seed=0)
    for _ in range(100_000):
        writer.begin()
        drawn = writer.with_group(
            writer.pronoun("du"), "first", question=True, among=("können",), kinds=("help",)
        )
        written = write_down(drawn, "?")
        if written[0] == data.EXAMPLE.source:
            break
    assert written == data.EXAMPLE


# --- German -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", PHRASES, ids=" ".join)
def test_article_adjective_and_noun_agree(key):
    case, name, *plural = key
    *forms, last = PHRASES[key].split("|")
    last, noun = last.rsplit(" ", 1)
    for determiner, expected in zip(("der", "dieser", "ein", "mein"), [*forms, last], strict=True):
        phrase = noun_phrase(NOUNS[name], case, determiner, "klein", bool(plural))
        assert [token.text for token in phrase.german] == [*expected.split(), noun]


def test_no_article_leaves_the_ending_to_the_adjective():
    for name, expected in [("brot", "frisches brot"), ("milch", "frische milch")]:
        phrase = noun_phrase(NOUNS[name], "accusative", "", "frisch")
        assert " ".join(token.text for token in phrase.german) == expected


def test_weak_noun():
    forms = {
        case: " ".join(t.text for t in noun_phrase(NOUNS["nachbar"], case, "der", "alt").german)
        for case in ("nominative", "accusative", "dative")
    }
    assert forms == {
        "nominative": "der alte nachbar",
        "accusative": "den alten nachbarn",
        "dative": "dem alten nachbarn",
    }


def test_every_phrase_of_the_corpus_fits_its_noun(corpus):
    genders = {}
    for gender, nouns in GENDERS.items():
        for noun in nouns.split():
            genders.setdefault(noun, []).append(gender)
    frames = {
        gender: {
            tuple(frame.replace("POSS", owner).split())
            for frame in text.split("|")
            for owner in ("mein", "dein", "sein")
        }
        for gender, text in FRAMES.items()
    }
    endings = {stem + ending: ending for stem in STEMS for ending in ("e", "en", "er", "es")}
    checked = Counter()
    for pair in corpus:
        words = pair.source.split()
        for before, adjective, noun in zip(["-", *words], words, words[1:], strict=False):
            if adjective in endings and noun in genders:
                determiner = before if DETERMINER.fullmatch(before) else "-"
                fits = [g for g in genders[noun] if (determiner, endings[adjective]) in frames[g]]
                assert fits, pair.source
                checked[fits[0]] += 1
            elif DETERMINER.fullmatch(adjective) and noun in genders:
                fits = [g for g in genders[noun] if adjective in {frame[0] for frame in frames[g]}]
                assert fits, pair.source
    assert min(checked[gender] for gender in "mfnp") > 1_000


def test_plain_questions_begin_with_the_verb(corpus):
    seen = 0
    for pair in corpus:
        words = pair.source.split()
        if words[-1] != "?" or words[0] in ("warum", "wann"):
            continue
        seen += 1
        assert words[0] in ANY_FINITE, pair.source
        if words[1] in FINITE:
            assert words[0] in FINITE[words[1]], pair.source
    assert seen > 1_500


def test_main_clauses_have_the_verb_in_second_place(corpus):
    after_pronoun = after_time = 0
    for pair in corpus:
        sentence = pair.source
        if sentence.endswith("?") and not sentence.startswith(("warum", "wann")):
            continue
        # what "und" and "aber" join are main clauses, too
        for start in (0, *(match.end() for match in re.finditer(r" (und|aber) ", sentence))):
            words = sentence[start:].split()
            if words[0] == "weil":
                continue
            time = next((t for t in TIMES if sentence[start:].startswith(t + " ")), None)
            if time or words[0] in ("warum", "wann"):
                after_time += 1
                place = len(time.split()) if time else 1
                assert words[place] in ANY_FINITE, sentence
                if words[place + 1] in FINITE:
                    assert words[place] in FINITE[words[place + 1]], sentence
            elif words[0] in FINITE:
                after_pronoun += 1
                assert words[1] in FINITE[words[0]], sentence
    assert after_pronoun > 5_000
    assert after_time > 3_000


def test_weil_sends_the_verb_to_the_end(corpus):
    seen = 0
    for pair in corpus:
        for words in clauses(pair.source):
            if words[0] != "weil":
                continue
            seen += 1
            subject = words[1]
            assert words[-1] in FINITE.get(subject, ANY_FINITE), pair.source
            assert not {"kann", "muss", "will", "darf", "ist", "hat"} & set(words[:-1]), pair.source
    assert seen > 1_500


def test_after_a_clause_with_weil_the_main_verb_follows_at_once(corpus):
    seen = 0
    for pair in corpus:
        if pair.source.startswith("weil "):
            seen += 1
            parts = [words for words in clauses(pair.source) if "zu" not in words]
            following = [words for words in parts[1:] if words[0] in ANY_FINITE]
            assert len(following) == 1, pair.source
            assert following[0][1] in ("ich", "du", "er", "sie", "wir"), pair.source
            assert following[0][0] in FINITE[following[0][1]], pair.source
    assert seen > 300


def test_modal_verbs_send_the_infinitive_to_the_end(corpus):
    modals = {"kannst", "musst", "willst", "sollst", "darfst", "möchtest"}
    seen = 0
    for pair in corpus:
        words = clauses(pair.source)[0]
        if words[0] in modals and words[1] == "du" and "und" not in words:
            seen += 1
            assert re.search(r"(en|mitbringen)$", words[-1]), pair.source
    assert seen > 100


def test_infinitive_groups_end_in_zu_and_a_verb(corpus):
    seen = Counter()
    for pair in corpus:
        for words in clauses(re.sub(r" (und|aber|weil)\b", " ,", pair.source)):
            joined = [word for word in words if re.fullmatch("(auf|zu|mit|an)zu\\w+en", word)]
            if joined:
                assert words[-1:] == joined, pair.source
                seen["joined"] += 1
            elif "zu" in words[:-1]:  # a last one is the prefix of "macht ... zu"
                assert words[-2] == "zu", pair.source
                assert words[-1].endswith("en"), pair.source
                seen["apart"] += 1
    assert min(seen["joined"], seen["apart"]) > 1_000


def test_prefixes_part_from_finite_verbs_and_end_the_clause(corpus):
    seen = Counter()
    for pair in corpus:
        for words in clauses(re.sub(r" (und|aber|weil)\b", " ,", pair.source)):
            if {"mache", "machst", "macht", "machen"} & set(words):
                assert words[-1] in ("auf", "zu"), pair.source
                seen[words[-1]] += 1
    assert min(seen["auf"], seen["zu"]) > 100


def test_commas(corpus):
    for pair in corpus:
        words = pair.source.split()
        for place, word in enumerate(words):
            if word == "aber" or (word == "weil" and place):
                assert words[place - 1] == ",", pair.source
            if word == "und":  # only the comma that closes an infinitive group
                before = " ".join(words[:place])
                group = re.search(r"(zu \w+en|(auf|zu|mit|an)zu\w+en) ,$", before)
                assert (words[place - 1] == ",") == bool(group), pair.source


def test_a_pronoun_agrees_with_what_it_stands_for(corpus):
    lost = re.compile(r"(.*) , aber .* (ihn|sie|es) nicht finden \.")
    plural = re.compile(r"(die|diese|meine|deine|seine) (\w+n )?(\w+) ")
    seen = Counter()
    for pair in corpus:
        match = lost.fullmatch(pair.source)
        if not match:
            continue
        first, pronoun = match.groups()
        things = [word for word in first.split() if word in THINGS]
        assert len(things) == 1, pair.source
        gender = THINGS[things[0]]
        if things[0] == "schlüssel" and any(
            found[2] == "schlüssel" for found in plural.findall(first + " ")
        ):
            gender = "p"
        assert pronoun == {"m": "ihn", "f": "sie", "n": "es", "p": "sie"}[gender], pair.source
        assert pair.target.endswith("find them ." if gender == "p" else "find it ."), pair
        seen[gender] += 1
    assert min(seen[gender] for gender in "mfnp") > 20


def test_nobody_helps_himself(corpus):
    reflexive = re.compile(r"\b(ich \w+|\w+ ich) (mir|uns)\b|\b(du \w+|\w+ du) dir\b")
    assert not [pair.source for pair in corpus if reflexive.search(pair.source)]


# --- English ----------------------------------------------------------------------------------


def test_english_verbs_agree_with_their_subjects(corpus):
    singular = "has wants needs is does buys opens closes reads helps works comes understands"
    plural = "have want need are do buy open close read help work come understand am"
    wrong = [
        r"\b(he|she) ({})\b".format("|".join(plural.split())),
        r"\b(i|you|we|they) ({})\b".format("|".join(singular.split())),
        r"\b(do|are|have) (he|she)\b",
        r"\b(does|is|has) (i|you|we|they)\b",
        r"\bi are\b|\b(you|we|they) am\b",
    ]
    for pair in corpus:
        question = r"\b(can|should|would|does|do) (he|she|they|we|i|you) \w+"
        statement = re.sub(question, "", pair.target)
        for pattern in wrong:
            found = re.search(pattern, statement)
            assert not found, (pair.target, found)


def test_english_articles_and_demonstratives(corpus):
    for pair in corpus:
        for first, second in zip(pair.target.split(), pair.target.split()[1:], strict=False):
            if first in ("a", "an"):
                assert (first == "an") == (second[0] in "aeiou"), pair.target
    singular = "letter sentence book story cake apple egg key lamp bag chair bike window door room"
    text = "\n".join(pair.target for pair in corpus)
    nouns = "|".join(singular.split())
    assert not re.search(rf"\bthese (\w+ )?({nouns})\b", text.replace("stories", "storys"))
    assert not re.search(rf"\bthis ({nouns})s\b", text.replace("stories", "storys"))


def test_do_support(corpus):
    text = "\n".join(pair.target for pair in corpus)
    assert "does not have to" in text
    assert re.search(r"^do you want to", text, re.MULTILINE)
    assert not re.search(r"\b(has|have|wants?|needs?) not\b", text)
    assert not re.search(r"^(has|have|wants?|needs?) ", text, re.MULTILINE)
    assert not re.search(r"\bdoes \w+ (has|wants|needs|understands)\b", text)


@pytest.mark.parametrize(
    "german, english",
    [
        ("sie will", "she wants|she does not want"),
        ("sie wollen", "they want|they do not want"),
        ("er darf", "he is allowed to|he must not"),
        ("wir lesen jeden tag", "we read"),
        ("jetzt lese ich", "i am reading|i am not reading"),
        ("ich verstehe", "i understand|i do not understand"),
    ],
)
def test_translations_of_beginnings(large_corpus, german, english):
    found = [pair for pair in large_corpus if pair.source.startswith(german + " ")]
    assert found
    for pair in found:
        assert pair.target.startswith(tuple(english.split("|"))), pair


# --- alignment --------------------------------------------------------------------------------


def test_every_english_word_comes_from_somewhere(corpus):
    for pair in corpus:
        length = len(pair.source.split())
        assert len(pair.alignment) == len(pair.target.split())
        for origins in pair.alignment:
            assert origins == tuple(sorted(set(origins)))
            assert 0 <= origins[0] <= origins[-1] < length
        left_over = set(range(length)) - {place for row in pair.alignment for place in row}
        words = pair.source.split()
        assert {words[place] for place in left_over} <= {","}, pair.source


def test_alignment_joins_words_of_the_same_meaning(corpus):
    dictionary = {
        "today": {"heute"}, "because": {"weil"}, "not": {"nicht"}, "key": {"schlüssel"},
        "key,": set(), "old": {"alte", "alten", "alter", "altes"}, "me": {"mir"}, "i": {"ich"},
        "translate": {"übersetzen"}, "my": {"mein", "meine", "meinen", "meinem", "meiner"},
    }  # fmt: skip
    seen = Counter()
    for pair in corpus:
        words = pair.source.split()
        for word, origins in zip(pair.target.split(), pair.alignment, strict=True):
            if word in dictionary:
                seen[word] += 1
                assert {words[place] for place in origins} <= dictionary[word], pair
    assert min(seen[word] for word in dictionary if dictionary[word]) > 100


def test_alignment_of_a_separable_verb(corpus):
    pair = next(pair for pair in corpus if re.fullmatch(r"er macht .* auf \.", pair.source))
    row = pair.alignment[pair.target.split().index("opening")]
    assert row == (1, len(pair.source.split()) - 2)


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
