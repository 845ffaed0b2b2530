"""The guides keep what they promise: links lead somewhere, commands exist, and quoted words are printed.

What the authors' guide says is tried line by line in `tests/build/test_contributing.py`.
"""

import contextlib
import csv
import io
import json
import re
import shlex
import subprocess
import sys
from functools import cache

import nbformat
import pytest

from autograder.__main__ import main
from autograder.sandbox import bubblewrap, limits
from sources.links import dead_links
from tests.sample_class import ASSIGNMENT, ROOT, hand_in, submission

GUIDES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "course_map.md")),
    ROOT / "autograder" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
NEWCOMERS = [
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("authors", "classroom", "glossary", "grading", "instructors", "own_course", "students")),
]  # fmt: skip
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# made by a class, a build or a reader, and not part of the repository
MADE = ("CLASSROOM", "autograded", "build", "classroom50", "pl-course", "template", "you/", "feedback", "grading", "submitted", "workspace", "a10", "10", "solutions/a10", "solutions/a1_averages")  # fmt: skip
OTHERS = {"apt-get", "cd", "chmod", "conda", "cp", "docker", "export", "mkdir", "dask", "explorer.exe", "git", "nbgrader", "pip", "pre-commit", "ssh", "systemctl", "tar", "wsl", "xcode-select"}  # fmt: skip
# how the hub's guide runs a program under the course's account, in its folder
AS_THE_COURSE = "sudo -H -u attention env -C /srv/classroom/course /srv/classroom/environment/bin/"
by_guide = pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)


@cache
def text_of(guide):
    return guide.read_text(encoding="utf-8")


def guide_named(name):
    return text_of(ROOT / "docs" / f"{name}.md")


def prose_of(guide):
    """The guide without its blocks of code."""
    return FENCE.sub("", text_of(guide))


def blocks_of(guide, *languages):
    return [body for _, language, body in FENCE.findall(text_of(guide)) if language in languages]


# --------------------------------------------------------------------------------- links and form


@by_guide
def test_links_lead_to_files_and_headings_that_are_there(guide):
    assert dead_links(guide) == []


@pytest.mark.parametrize("guide", NEWCOMERS, ids=lambda path: path.stem)
def test_a_guide_opens_with_whom_it_is_for_in_two_sentences(guide):
    title, opening = text_of(guide).split("\n\n")[:2]
    assert title.startswith("# ")
    assert opening.startswith("For ") and len(re.findall(r"[.?](?= |\n|$)", opening)) == 2


@pytest.mark.parametrize("guide", [ROOT / "README.md", *NEWCOMERS], ids=lambda path: path.stem)
def test_no_paragraph_is_a_wall(guide):
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. ))", prose_of(guide)):
        if not paragraph.lstrip().startswith(("|", "<!--")):
            assert len(paragraph.split()) <= 80, f"{guide.name}: {paragraph[:80]}…"


# -------------------------------------------------------------------------------------- commands


def commands_in(guide):
    """Commands in blocks and in running text, without prompts and comments."""
    lines = [
        line
        for block in blocks_of(guide, "sh", "powershell")
        for line in block.replace("\\\n", "").splitlines()
    ]
    lines += [
        line.removeprefix("$ ")
        for block in blocks_of(guide, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    programs = r"make|python|sh|pip|nbgrader|git|conda|\.venv/bin/\w+"
    lines += re.findall(rf"`((?:{programs}) [^`]+)`", prose_of(guide))
    for line in lines:
        if command := line.partition("  #")[0].strip("() \n"):
            yield from re.split(r" && ", " ".join(command.split()))


@cache
def makefile():
    return (ROOT / "Makefile").read_text(encoding="utf-8")


def refuse_unknown_job(words):
    for word in words:
        name, given, _ = word.partition("=")
        known = f"$({name})" if given else f"\n{name}:"
        assert known in makefile() or f"$({name}:" in makefile(), f"the Makefile has no {name}"


@cache
def help_of(command):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit):
        main([*command.removeprefix("-m autograder ").split(), "--help"])
    return said.getvalue()


def refuse_unknown_flags(words, told):
    for word in words:
        if word.startswith("--"):
            assert re.search(rf"{word}\b", told), f"there is no flag {word}"


def refuse_missing_files(words):
    for word in words:
        if re.fullmatch(r"\w[\w.-]*/[\w./-]+", word) and not word.startswith(MADE):
            placeholder = re.search(
                r"NN_|aN_|\bname\b|_name|attention_entropy|course_utils/entropy|/a?10_|^averages/",
                word,
            )
            there = any((folder / word).exists() for folder in (ROOT, ROOT / "autograder"))
            assert there or placeholder, f"there is no {word}"


@by_guide
def test_commands_are_there_with_their_flags_and_files(guide):
    for command in commands_in(guide):
        command = command.removeprefix(AS_THE_COURSE)
        program, *words = [word for word in shlex.split(command) if word not in ("sudo", ".")]
        program = program.removeprefix(".venv/bin/").removeprefix("../../.venv/bin/")
        if program == "make":
            refuse_unknown_job(words)
        elif program == "python" and words[:2] == ["-m", "autograder"]:
            own = 4 if words[2] == "lms" else 3  # a command that has commands of its own
            refuse_unknown_flags(words, help_of(" ".join(words[:own])))
        elif program == "python" and words[0].startswith("tools/"):
            refuse_unknown_flags(words, (ROOT / words[0]).read_text(encoding="utf-8"))
        else:
            known = program in OTHERS or program in (
                "python",
                "sh",
                "activate",
                "/path/to/python3.12",
            )
            assert known, f"{guide.name}: what is {command}?"
        refuse_missing_files(words)


@by_guide
def test_files_and_flags_in_running_text_are_there(guide):
    commands = ("grade", "check", "ask", "lms scores", "lms unpack", "lms feedback", "export", "watch")  # fmt: skip
    told = "".join(help_of(f"-m autograder {command}") for command in commands)
    codes = re.findall(r"`([^`\n]+)`", prose_of(guide))
    refuse_missing_files(codes if guide.parent.name != "autograder" else [])
    refuse_unknown_flags([code.split()[0] for code in codes if code.startswith("--")], told)


def test_make_help_lists_the_jobs_of_the_guides():
    said = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    named = {
        command.split()[1]
        for guide in GUIDES
        for command in commands_in(guide)
        if command.startswith("make ") and "=" not in command.split()[1]
    }
    assert {"lab", "test", "grade", "handout", "sample"} <= named
    assert named <= set(re.findall(r"^  make ([\w-]+)", said, re.MULTILINE))


# --------------------------------------------------------------- what the guides quote, and numbers

QUOTES = {
    "students": {
        "tools/set_up.py": ("Setting up the course in .venv", "Set up."),
        f"exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb": ("# Write your answer here", "check()"),
    },
    "instructors": {
        "autograder/batch/run_lock.py": (
            "another process is grading this assignment",
            "the gradebook",
            "cannot be used",
        ),
        "autograder/batch/classroom.py": ("no folder matches",),
        "autograder/batch/student_result.py": (
            "waits for a person:",
            "graded by hand for an earlier version",
            "all points, but its visible test stops",
            "log.txt has the rest",
        ),
        "autograder/grade/submission.py": ("not a notebook", "expected a notebook named"),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTES)
def test_quoted_messages_are_those_of_the_code(name):
    for source, quotes in QUOTES[name].items():
        code = (ROOT / source).read_text(encoding="utf-8")
        for quote in quotes:
            assert quote in code and quote in guide_named(name), quote


def test_limits_are_those_of_the_command():
    limit = {name: default for name, default, _ in limits.flags()}
    told = in_a_line(guide_named("instructors"))
    told_first = ("seconds_per_cell", "seconds_per_call", "cpu", "memory", "disk")
    assert (
        "{} seconds of processor time a cell, {} a case of a part and {} altogether, {} MiB of memory and {} MiB of disk".format(
            *(limit[name] for name in told_first)
        )
        in told
    )
    students = in_a_line(guide_named("students"))
    assert f"longer than {limit['seconds_per_call']} seconds of processor time" in students
    cell = "a cell takes longer than {} seconds of processor time, or waits {}"
    assert cell.format(limit["seconds_per_cell"], limit["clock_per_cell"]) in students


# --------------------------------------------------------------------------------- what is printed


def course_of(folder, *students):
    """A folder in which the guides' commands run: the environment, and some of the sample class."""
    (folder / ".venv").symlink_to(sys.prefix)
    hand_in(folder / "build" / "sample_class", {name: submission(name) for name in students})
    return folder


def block_with(name, words, *languages):
    """The one block of a guide that has these words in it."""
    found = [
        block for block in blocks_of(ROOT / "docs" / f"{name}.md", *languages) if words in block
    ]
    assert len(found) == 1, f"{len(found)} blocks of {name}.md have {words!r}"
    return found[0]


def in_a_line(text):
    """The text without its line breaks: guides break long lines."""
    return " ".join(text.split())


def run(command, folder):
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.long
def test_the_example_of_grading_is_what_the_student_reads(tmp_path):
    course = course_of(tmp_path, "softmax_over_columns")
    place = course / "build/sample_class/submitted/softmax_over_columns" / ASSIGNMENT
    before = (place / f"{ASSIGNMENT}.ipynb").read_bytes()
    status, said, errors = run(block_with("grading", "autograder check", "sh"), course)
    assert status == 1, errors
    assert in_a_line(block_with("grading", "Read again", "text")) in in_a_line(said)
    assert said.rstrip().endswith("9 of 10 points") and "`9 of 10 points`" in guide_named(
        "students"
    )
    assert (place / f"{ASSIGNMENT}.ipynb").read_bytes() == before

    answer = block_with("grading", "def attention_weights", "python").strip()
    assert answer in ["".join(cell["source"]) for cell in json.loads(before)["cells"]]


@pytest.mark.long
@pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing())
def test_an_instructor_gets_the_reports_that_the_guide_names(tmp_path):
    course = course_of(tmp_path, "mixed_batch", "not_json")
    status, said, errors = run(block_with("instructors", "--feedback-zip", "sh"), course)
    assert status == 1, errors
    quoted = block_with("instructors", "mixed_batch", "text")
    for line in quoted.splitlines():
        assert in_a_line(line) in in_a_line(said), line

    there = course / "build" / "sample_class"
    for name in ("class.html", "class.csv", "log.txt", "feedback.zip"):
        assert (there / "grading" / ASSIGNMENT / name).exists()
        assert f"`grading/<assignment>/{name}`" in guide_named("instructors")
    page = f"feedback/mixed_batch/{ASSIGNMENT}/{ASSIGNMENT}.html"
    assert (there / page).exists() and f"`{page}`" in guide_named("instructors")
    assert (there / "grading" / "secret").exists()

    with open(there / "grading" / ASSIGNMENT / "class.csv", encoding="utf-8-sig") as file:
        columns = next(csv.reader(file))
    table = re.search(r"\| column \|.*?\n\n", guide_named("instructors"), re.DOTALL)[0]
    parts = [name for name in columns if name.isidentifier() and f"{name}:" in quoted]
    for column in columns:
        assert f"`{column}`" in table or column in parts, column


# -------------------------------------------------------------------------------------- glossary

ENTRY = re.compile(r"^### ([^\n]+)\n\n(.+?)(?=\n\n#|\n*\Z)", re.MULTILINE | re.DOTALL)
ENTRIES = ENTRY.findall(guide_named("glossary"))


def test_the_glossary_is_in_alphabetical_order():
    terms = [term for term, _ in ENTRIES]
    assert len(terms) == len(set(terms)) >= 60
    assert terms == sorted(terms, key=lambda term: term.replace("_", " ").lower())
    headings = re.findall(r"^##+ (.+)$", guide_named("glossary"), re.MULTILINE)
    letters = [heading for heading in headings if len(heading) == 1]
    assert letters == sorted({term[0].upper() for term in terms})
    for term in terms:
        above = headings[: headings.index(term)]
        assert [heading for heading in above if len(heading) == 1][-1] == term[0].upper()


@pytest.mark.parametrize(("term", "entry"), ENTRIES, ids=[term for term, _ in ENTRIES])
def test_a_term_is_taught_where_the_glossary_says(term, entry):
    entry = " ".join(entry.split())
    linked = re.findall(r"Lecture (\d+), \[[^\]]+\]\(\.\./(lectures/(\d\d)_\w+\.ipynb)#", entry)
    assert linked, f"{term} names no section"
    bracket = re.match(r"\((.*?)\) ", entry)
    names = [term, *(bracket[1].split(", ") if bracket else [])]
    for number, name, file in linked:
        assert int(number) == int(file)
        said = words_of(ROOT / name)
        spelt = [one.lower() for one in names] + [one.lower().replace(" ", "") for one in names]
        assert any(one in said for one in spelt), f"{name} has none of {names}"


@cache
def words_of(notebook):
    """All text and code of a notebook in one line, in small letters."""
    cells = nbformat.read(notebook, as_version=4).cells
    return " ".join(" ".join(cell.source for cell in cells).split()).lower()
