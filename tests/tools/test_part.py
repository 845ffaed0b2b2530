"""A part of the course can be given out: nothing in it leads to what is left out."""

import re
from html import unescape
from urllib.parse import unquote

import nbformat
import pytest

from tests.sample_class import ROOT
from tools import website
from tools.handout import main as make_handout
from tools.part import WHOLE, PartError, part_of

pytestmark = pytest.mark.long

ONLY = "1-8 -a5"
LEFT_OUT = re.compile(r"(lectures/(09|10|11|12)_\w+|exercises/a(5|10|11|12|13)_\w+/\w+)\.ipynb")
MARKDOWN = re.compile(r"\]\(([^)\s#]+)[^)\s]*\)")
HTML = re.compile(r"""(?:href|src)=\\?["']([^"'#\\]+)""")


@pytest.fixture(scope="module")
def part():
    return part_of(ONLY)


def names(sources):
    return [source.name.partition("_")[0] for source in sources]


@pytest.mark.parametrize(
    ("only", "lectures", "assignments"),
    [
        ("1-3", ["01", "02", "03"], ["a1", "a2", "a3"]),
        ("8, 1", ["01", "08"], ["a1", "a8", "a9"]),
        ("2 a7", ["02"], ["a2", "a7"]),
        ("02_basic_self_attention -a2", ["02"], []),
        ("1 - 3", ["01", "02", "03"], ["a1", "a2", "a3"]),
        ("1–2, 4 -a4", ["01", "02", "04"], ["a1", "a2"]),
        ("-3-12", ["01", "02"], ["a1", "a2"]),
        ("1-2 -a2_self_attention", ["01", "02"], ["a1"]),
    ],
)
def test_a_part_is_named_by_numbers_or_by_names(only, lectures, assignments):
    part = part_of(only)
    assert (names(part.lectures), names(part.exercises)) == (lectures, assignments)
    kept = len(lectures) + len(assignments)
    assert (
        len(part.left_out)
        == len([*ROOT.glob("lectures/*.ipynb"), *ROOT.glob("exercises/a*")]) - kept
    )
    assert all((ROOT / name).exists() for name in part.left_out)


def test_no_words_are_the_whole_course():
    assert part_of(" ") == WHOLE and not WHOLE.left_out


@pytest.mark.parametrize(
    ("only", "said"),
    [
        (
            "1-13",
            "numbers of lectures from 1 to 12, such as 1-8, assignments from a1 to a13, or the name",
        ),
        ("3-1", "found '3-1'"),
        ("1-8 -a99", "found '-a99'."),
        ("a2_self_atention", "found 'a2_self_atention'. Did you mean a2_self_attention?"),
        ("lecture 3", "found 'lecture'."),
        ("1..8", "found '1..8'"),
        ("a7", "expected at least one lecture in 'a7', found none"),
    ],
)
def test_a_part_that_is_not_there_is_refused(only, said):
    with pytest.raises(PartError, match=re.escape(said)):
        part_of(only)


def test_links_to_what_is_left_out_become_their_words_and_code_stays(part):
    text = "See [lecture 9](09_one_half_alone.ipynb#2.-The-loss) and [lecture 2](02_basic_self_attention.ipynb).\n"
    code = "```text\n[lecture 9](09_one_half_alone.ipynb)\n```\n"
    cut = part.without_links(text + code, "lectures/08_transformer.ipynb")
    assert cut == f"See lecture 9 and [lecture 2](02_basic_self_attention.ipynb).\n{code}"


@pytest.fixture(scope="module", params=[[], ["--without-self-check"]], ids=["with", "without"])
def given(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("part")
    make_handout(["--only", ONLY, "--to", str(folder), *request.param])
    return folder / "attention-course"


def texts(folder):
    """Every text of a copy with its path: pages, and the Markdown and outputs of notebooks."""
    for path in sorted(folder.rglob("*.md")):
        yield path, path.read_text(encoding="utf-8")
    for path in sorted(folder.rglob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                yield path, cell.source
            for output in cell.get("outputs", []):
                yield path, str(output.get("data", {}).get("text/html", ""))


def test_no_link_of_the_copy_leads_to_what_is_left_out(given):
    links = 0
    for path, text in texts(given):
        for target in (*MARKDOWN.findall(text), *HTML.findall(text)):
            assert not LEFT_OUT.search(target), f"{path.name} links to {target}"
            place = (path.parent / unquote(target)).resolve()
            if place.is_relative_to(given) and place.suffix == ".ipynb":
                assert place.exists(), f"{path.name} links to {target}"
                links += 1
    assert links > 100
    there = {path.relative_to(given).as_posix() for path in given.rglob("*.ipynb")}
    assert len(there) == 16 and not [name for name in there if LEFT_OUT.search(name)]
    assert not list(given.glob("assignments/a5_*")) and not list(given.glob("exercises/a5_*"))


def test_the_tables_and_the_plan_are_of_the_part(given):
    for name in ("README.md", "course_map.md"):
        text = (given / name).read_text(encoding="utf-8")
        assert "[Lecture 8" in text and "[Lecture 9" not in text and "[Assignment 5" not in text
        assert re.search(r"^\| together \| \| 87 \| 600 \|$", text, re.MULTILINE)
    grading = given / "docs/grading.md"  # goes with the grader
    if grading.exists():
        rows = [line for line in grading.read_text("utf-8").splitlines() if line.startswith("| ")]
        assert any("a4_masks" in row for row in rows)
        assert not any(re.search(r"\| a(5|1\d)_\w+ \|", row) for row in rows)
    plan = (given / "course_map.md").read_text(encoding="utf-8").partition("## A plan")[2]
    weeks = re.findall(r"^\| (\d+) \|", plan, re.MULTILINE)
    assert weeks == [*"12345678", *"1234"]


def test_what_the_site_is_made_of_leads_nowhere_else(part, tmp_path, monkeypatch):
    for slow in ("write_reference", "copy_letters"):
        monkeypatch.setattr(website, slow, lambda *_: None)
    monkeypatch.setattr(website.website_preview, "draw", lambda *_: None)
    (tmp_path / "extra/_static").mkdir(parents=True)
    website.gather(tmp_path, "https://host/owner/course", part_of("2-8 -a5"))
    for path, text in texts(tmp_path):
        for target in (*MARKDOWN.findall(text), *HTML.findall(text)):
            assert not LEFT_OUT.search(target.replace(".html", ".ipynb")), (
                f"{path} links to {target}"
            )
    home = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert 'href="lectures/02_basic_self_attention.html">Begin with lecture 2<' in home
    assert "09_one_half_alone" not in home


def test_every_link_of_the_built_site_leads_to_a_page_that_is_there(part, tmp_path):
    site = tmp_path / "site"
    website.build(site, part=part)
    links = 0
    for page in site.rglob("*.html"):
        for target in HTML.findall(page.read_text(encoding="utf-8")):
            if re.match(r"\w+:|//|\{|\$", target):
                continue
            place = page.parent / unquote(unescape(target)).partition("?")[0]
            assert place.exists(), f"{page.relative_to(site)} links to {target}"
            links += 1
    assert links > 1000
