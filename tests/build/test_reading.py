"""What a lecture recommends to read can be opened from it."""

import re

import pytest

from tests.sample_class import ROOT

LECTURES = sorted((ROOT / "sources/lectures").glob("*.py"))
PLACES = re.compile(
    r"""https://(
        arxiv\.org/abs/\d{4}\.\d{4,5}
        | doi\.org/10\.\d{4,5}/[^\s)]+
        | proceedings\.mlr\.press/v\d+/\w+\.html
        | aclanthology\.org/[A-Z]\d\d-\d{4}/
        | jmlr\.org/papers/v\d+/\w+\.html
        | www\.deeplearningbook\.org
        | github\.com/rasbt/machine-learning-book
        | cdn\.openai\.com/[\w/-]+\.pdf
        | transformer-circuits\.pub/\d{4}/[\w-]+/index\.html
        | www\.lesswrong\.com/posts/\w{17}/[\w-]+
    )""",
    re.VERBOSE,
)
TITLE = re.compile(r"\*(\[?[A-Z][^*]{5,})\*")
LINKED = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def recommended(lecture):
    """The entries of the list under "Further reading", a line each."""
    _, _, rest = lecture.read_text("utf-8").partition("\n# ## Further reading\n#\n")
    lines = re.match(r"(?:# .*\n)*", rest)[0]
    entries = re.split(r"^# - ", lines, flags=re.MULTILINE)[1:]
    return [" ".join(entry.replace("\n#", " ").split()) for entry in entries]


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem[:2])
def test_every_title_leads_to_its_text(lecture):
    entries = recommended(lecture)
    assert len(entries) >= 6
    for entry in entries:
        titles = TITLE.findall(entry)
        assert titles, entry
        for title in titles:
            link = LINKED.fullmatch(title)
            assert link, f"no link: {title}"
            assert PLACES.fullmatch(link[2]), link[2]


def test_a_work_has_one_address_and_an_address_one_work():
    links = {
        (re.sub(r"\W+", " ", title).casefold(), address)
        for lecture in LECTURES
        for entry in recommended(lecture)
        for title, address in LINKED.findall(entry)
    }
    assert (
        len({title for title, _ in links}) == len({address for _, address in links}) == len(links)
    )
    for lecture in LECTURES:
        for entry in recommended(lecture):
            for number in re.findall(r"arXiv:(\S+?)\.?(?= |$)", entry):
                assert f"arxiv.org/abs/{number})" in entry, entry
