"""The view of a whole translator: what its page holds, and which translators and sentences it takes."""

import json
import re
from urllib.parse import parse_qs

import pytest
import torch
from torch import nn

from course_utils.rnn import Seq2Seq
from course_utils.transformer import Transformer
from lecture_kit import data, live
from lecture_kit.live import translation
from lecture_kit.live.page import renewed
from lecture_kit.trained import translators
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of
from tests.lecture_kit.test_translators import in_javascript

pytestmark = pytest.mark.long


def small(german="der hund schläft .", english="the dog is sleeping ."):
    """A translator of few words that was never trained."""
    words = [data.Vocabulary(sorted(set(side.split()))) for side in (german, english)]
    model = Transformer(*map(len, words), 8, 2, 1, 12, dropout=0.0)
    return translators.Translator(model.eval(), *words)


@pytest.mark.parametrize("name", translators.NAMES)
def test_the_page_is_small_and_asks_nobody(name):
    page = page_of(live.translation_view(name))
    assert len(page.encode()) < 700_000
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    found = re.findall(outside, page.replace("http://www.w3.org/2000/svg", ""))
    assert found == []
    assert all("src" not in attributes for _, attributes in Elements(page).found)


def test_the_weights_come_last():
    page = page_of(live.translation_view())
    places = [page.index(mark) for mark in ('id="view"', 'id="data"', 'id="inner"', 'id="late"')]
    assert places == sorted(places) and places[2] < 0.3 * len(page)
    stored = json.loads(re.search(r'id="late">(.*?)</script>', page, re.DOTALL)[1])
    weights = translators.unpacked(stored)
    for parameter, (name, expected) in zip(
        weights.values(), translators.recorded().model.state_dict().items(), strict=True
    ):
        torch.testing.assert_close(parameter, expected, rtol=0, atol=0, msg=name)


def test_a_table_stands_in_for_the_frame():
    outside = live.translation_view().html.split("</iframe>")[1]
    shown = re.findall(r"<tr><th scope=\"row\">word \d+</th><td>(\S+) [\d.]+</td>", outside)
    assert shown == [*data.EXAMPLE.target.split(), "&lt;eos&gt;"]


def test_words_are_only_ever_text():
    hostile = HOSTILE.split()[0]
    words = data.Vocabulary([hostile, "."])
    model = Transformer(len(words), len(words), 8, 2, 1, 12)
    translator = translators.Translator(model.eval(), words, words)
    view = live.translation_view(translator, ".", sentences=["."], caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert "img" not in [tag for tag, _ in elements.found]
    assert [tag for tag, _ in Elements(page_of(view)).found].count("script") == 6
    assert data_of(view)["german"][4] == hostile


def test_a_stored_view_gets_the_script_of_today_and_keeps_its_numbers():
    view = live.translation_view(small(), "der hund schläft .", ["der hund schläft ."])
    old = view.html.replace("function arrive()", "function arrived()")
    assert old != view.html and renewed(old) == view.html


def test_only_known_sentences_are_drawn():
    translator = small("sie schläft .", "she is sleeping .")
    with pytest.raises(ValueError, match="unknown word 'kannst'"):
        live.translation_view(translator)
    known = data_of(live.translation_view(translator, "Sie schläft."))["sentences"]
    assert known == []
    assert data_of(live.translation_view(small=True))["tries"] == []


@pytest.mark.parametrize(
    ("translator", "more", "error", "message"),
    [
        ("gpt", {}, ValueError, "'transformer', 'recurrent'; found 'gpt'"),
        (nn.Linear(2, 2), {}, TypeError, "found Linear"),
        (Seq2Seq(5, 5, 4, 3), {}, ValueError, "with attention; found one without"),
        ("transformer", {"sentence": "Hallo."}, ValueError, "unknown word 'hallo'"),
        (
            "transformer",
            {"sentence": "ich " * 29},
            ValueError,
            "1 to 28 words and punctuation marks; found 29",
        ),
        ("transformer", {"sentence": ""}, ValueError, "found 0"),
        ("transformer", {"sentences": []}, ValueError, "1 to 1000 German sentences; found"),
        ("transformer", {"sentences": "ich"}, ValueError, "expected a list"),
        ("transformer", {"caption": " "}, ValueError, "caption"),
    ],
)
def test_what_cannot_be_shown_is_refused(translator, more, error, message):
    if isinstance(translator, nn.Module):
        words = data.Vocabulary(["kannst"])
        translator = translators.Translator(translator, words, words)
    with pytest.raises(error, match=message):
        live.translation_view(translator, **more)


# ------------------------------------------------------------------------------- what is worth trying


def asked(link):
    """A link's state as `in_javascript` takes it, without the sentence."""
    parts = {name: values[0] for name, values in parse_qs(link).items()}
    return parts["s"], {
        "off": parts["off"].split(".") if "off" in parts else [],
        "hidden": [int(place) for place in parts.get("hide", "").split(".") if place],
        "tau": float(parts.get("tau", 1)),
    }


@pytest.mark.parametrize("name", translators.NAMES)
def test_what_is_worth_trying_does_what_it_says(tmp_path, name):
    translator = translators.recorded(name)
    sentences = [translator.german.encode(one) for one in translators.sentences()]
    tries = translation.tries()[name]
    assert len({one["title"] for one in tries}) == len(tries) >= 6
    jobs = [{"ids": [*ids, data.EOS_ID]} for ids in sentences]
    counted = [one for one in tries if "changes" in one]
    for one in counted:
        jobs += [{**job, **asked(one["link"])[1]} for job in jobs[: len(sentences)]]
    for one in tries:
        sentence, state = asked(one["link"])
        ids = [*translator.german.encode(sentence), data.EOS_ID]
        jobs += [{"ids": ids}, {"ids": ids, **state}]
    written = [ids for ids, _ in in_javascript(tmp_path, name, jobs, numbers=False)]
    trained = written[: len(sentences)]
    for k, one in enumerate(counted, start=1):
        now = written[k * len(sentences) : (k + 1) * len(sentences)]
        changes = sum(row != before for row, before in zip(now, trained, strict=True))
        assert changes == one["changes"], one["title"]
    rest = written[(1 + len(counted)) * len(sentences) :]
    for one, before, now in zip(tries, rest[::2], rest[1::2], strict=True):
        assert translator.english.decode(now) == one["writes"], one["title"]
        says = one["title"].startswith("Nothing happens") or asked(one["link"])[1] == {
            "off": [],
            "hidden": [],
            "tau": 1.0,
        }
        assert (before == now) == (says or "surer" in one["title"]), one["title"]


def test_the_page_tells_the_numbers_that_were_measured():
    """What docs/watch.md says of the vocabulary, and of who acts first, holds in the corpus."""
    text = (translation.files("lecture_kit").parent / "docs" / "watch.md").read_text("utf-8")
    known = len(translators.recorded().german) - len(data.SPECIALS)
    assert f"It knows {known} German words" in text
    nobody = re.compile(r"(der frau|de[mn] \w+|ih[mrn]|mir|dir) ")
    assert not any(nobody.match(pair.source) for pair in data.sample_pairs(5_000))
