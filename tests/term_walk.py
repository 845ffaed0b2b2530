"""One term of a teacher with thirty students, by the commands that the guides name, one after the other.

    python -m tests.term_walk

It grades in the sandbox, and prints what must come true, a row each, and what the teacher typed.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode

from autograder.__main__ import main
from autograder.batch.came_in import Times
from autograder.batch.course import open_assignment
from tests.autograder.batch.living import Living, grade_id, without_import
from tests.autograder.lms import TITLE, archive, canvas_export, course_with, worksheet, written
from tests.course_copy import blocks_in, run
from tests.sample_class import ISOLATION, ROOT, hand_in, new_course, place_for, submission

A2, A3, A4 = "a2_self_attention", "a3_scaled_dot_product_attention", "a4_masks"
KEEP, BRING_BACK, NEXT_TERM = blocks_in(
    "instructors.md", "Keep a course, bring it back, and begin the next term"
)
TERM = f"""pass_at = 50
zone = "Europe/Berlin"
[due]
{A2} = 2026-03-09T12:00:00
{A3} = 2026-03-16T12:00:00
{A4} = 2026-03-23T12:00:00
"""
DUE = {A2: datetime(2026, 3, 9, 11), A3: datetime(2026, 3, 16, 11), A4: datetime(2026, 3, 23, 11)}
PENALTY = 'c.AssignLatePenalties.plugin_class = "autograder.batch.late_penalty.PercentADay"'
NAMES = {
    "mara": "Mara Cut", "noor": "Noor Empty", "otto": "Otto Script", "dina": "Dina Import",
    "hana": "Hana Byhand", "lars": "Lars Mailed", "vera": "Vera Other", "abel": "Abel Again",
    "sean": "Sean O'Neil", "edda": "Edda Moretime", "ines": "Ines Excused", "rita": "Rita Repeats",
    "cleo": "Cleo Nocell", "frida": "Frida Eighth", "wei1": "Wei Li", "wei2": "Wei Li",
    **{f"s{number:02}": f"Sam Plain{chr(96 + number)}" for number in range(1, 14)},
}  # fmt: skip
GUEST = "zoe.d'arc@guest.example"  # the thirtieth, on no list
MAIL = {one: f"{one}@uni.example" for one in NAMES} | {"sean": "sean.o'neil@uni.example"}
MAIL[GUEST] = GUEST
EVERYBODY = {**NAMES, GUEST: "Zoe d'Arc"}
NUMBER = {name: 501 + place for place, name in enumerate(EVERYBODY)}  # of platforms


class Row(NamedTuple):
    """What must come true: of each fact what is expected, and what was found."""

    number: int
    name: str
    facts: dict[str, tuple[Any, Any]]

    @property
    def true(self) -> bool:
        return all(expected == found for expected, found in self.facts.values())

    def __str__(self) -> str:
        text = f"{'✓' if self.true else '✗'} {self.number}. {self.name}"
        for what, (expected, found) in self.facts.items():
            wrong = "" if expected == found else f"expected {expected}, found "
            text += f"\n    {what}: {wrong}{found}"
        return text


@dataclass
class Walk:
    """The teacher: what was typed, and the rows so far."""

    typed: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def type(self, command: str) -> tuple[int, str]:
        """Type ``python -m autograder`` and this: the exit status, and what it said, in one line."""
        self.typed.append(f"python -m autograder {command}")
        words = shlex.split(command)
        if words[0] == "grade":  # as far apart from this machine as it can be
            words += ["--jobs", "1", "--isolation", ISOLATION]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main(words)
        return status, " ".join(said.getvalue().split())

    def row(self, number: int, name: str, **facts: tuple[Any, Any]) -> None:
        self.rows.append(Row(number, name, facts))


def told(text: str, *wanted: str) -> tuple[list[str], list[str]]:
    """Words that are expected, and those of them that stand in a text."""
    return [*wanted], [words for words in wanted if words in text]


def text_of(path: Path) -> str:
    return " ".join(path.read_text(encoding="utf-8-sig").split())


def table(path: Path, key: str, *columns: str) -> dict[str, tuple[str, ...]]:
    """Some columns of a table, by what stands in another one."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row[key]: tuple(row[name] for name in columns) for row in csv.DictReader(file)}


def signed(notebook: NotebookNode, student: str) -> str:
    """The text of a notebook, with a line that makes it like nobody else's."""
    notebook.cells.append(nbformat.v4.new_code_cell(f"# {student}", id="signature"))
    return nbformat.writes(notebook)


def solved(assignment: str, student: str, folder: str = "solutions") -> str:
    """A student's notebook with the solution's answers, or, of another folder, with what stands there."""
    path = ROOT / folder / assignment / f"{assignment}.ipynb"
    return signed(nbformat.read(path, as_version=4), student)


def moment(day: int, hour: int) -> str:
    """An hour of March 2026, as Moodle writes it."""
    return f"{datetime(2026, 3, day, hour):%A, %-d %B %Y, %I:%M %p}"


def from_moodle(name: str, texts: Mapping[str, str], when: Mapping[str, str]) -> None:
    """Download Moodle's archive and worksheet; of texts and times by student."""
    files = {}
    for one, text in texts.items():
        file = "a2.py" if one == "otto" else f"{A2}.ipynb"
        files[f"{EVERYBODY[one]}_{NUMBER[one]}_assignsubmission_file_/{file}"] = text
    archive(Path(f"../downloads/{name}.zip"), files)
    rows = worksheet([[NUMBER[one], EVERYBODY[one], "", MAIL[one], "", ""] for one in EVERYBODY])
    for row, one in zip(rows[1:], EVERYBODY, strict=True):
        row[8] = when.get(one, "-")
    Path(f"../downloads/{name}.csv").write_text(written(rows), encoding="utf-8")


def in_german(name: str, when: Mapping[str, str]) -> None:
    """A worksheet in German, with the two names that the guide asks for."""
    rows = [["number", "Vollständiger Name", "E-Mail-Adresse", "time", "Bewertung"]]
    rows += [[NUMBER[one], EVERYBODY[one], MAIL[one], when.get(one, "-"), ""] for one in EVERYBODY]
    Path(f"../downloads/{name}.csv").write_text(written(rows), encoding="utf-8")


def from_canvas(name: str, texts: Sequence[tuple[str, str, str]]) -> None:
    """Download Canvas's archive, of student, file and text in their order, and its gradebook."""
    called = {one: name.split()[::-1] for one, name in NAMES.items()}
    people = [[", ".join(called[one]), NUMBER[one], "", MAIL[one], "S1", None] for one in NAMES]
    export = written(canvas_export(people, possible="12.00")).replace(TITLE, "Assignment 3")
    Path(f"../downloads/{name}.csv").write_text(export, encoding="utf-8")
    files = {}
    for place, (one, file, text) in reversed([*enumerate(texts, start=7001)]):
        files[f"{''.join(called[one]).lower()}_{NUMBER[one]}_{place}_{file}"] = text
    archive(Path(f"../downloads/{name}.zip"), files)


def walked() -> Walk:
    """The walk, in a folder that is gone afterwards; its rows by number."""
    walk = Walk()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("downloads").mkdir()
        with warnings.catch_warnings(action="ignore"):  # nbgrader's, where a submission is added
            course_with(Path("last_term"), {"rita": 9})
        for name in (A3, A4):
            new_course(Path("last_term"), name)
        with Path("last_term/nbgrader_config.py").open("a") as config:
            config.write(f"{PENALTY}\nc.PercentADay.grace_hours = 2\n")
        run(Path("last_term"), NEXT_TERM)
        os.chdir("next_term")
        teach(walk, Path.cwd())
    walk.rows.sort(key=lambda row: row.number)
    return walk


def teach(walk: Walk, course: Path) -> None:
    """The term itself, in the course folder."""
    living = Living(course, None)  # for points by hand, as the formgrader gives them

    def total(student: str, assignment: str = A2) -> tuple[float, float]:
        with living.gradebook() as gradebook:
            entry = gradebook.find_submission(assignment, student)
            return entry.score, entry.max_score

    # ---------------------------------------------------------------- a list, dates, more time
    people = [[one, *called.split(), MAIL[one]] for one, called in NAMES.items()]
    people.insert(0, ["id", "first_name", "last_name", "email"])
    Path("students.csv").write_text(written(people), encoding="utf-8")
    Path("excused.csv").write_text(f"student,assignment\nines,{A2}\n")
    Path("term.toml").write_text(TERM)
    status, said = walk.type("plan")
    with living.gradebook() as gradebook:
        dates = {one.name: one.duedate for one in gradebook.assignments}
    walk.row(11, "term.toml enters due dates into the gradebook",
        due=(DUE, dates), status=(1, status), odd=told(said, f"odd: {A2} was due in the past"))  # fmt: skip
    walk.type(f'extension {A2} edda "2 days"')

    # ---------------------------------------------------------------- assignment 2 comes in
    a, b = (signed(submission(kind), "abel") for kind in ("mixed_batch", "right_einsum"))
    no_cell = submission("right_loops")
    no_cell.cells = [cell for cell in no_cell.cells if grade_id(cell) != "self_attention"]
    texts = {one: signed(submission("right_matrices"), one) for one in EVERYBODY}
    texts |= {
        "mara": '{"cells": [', "noor": "", "otto": "import torch\n", "abel": a,
        "dina": signed(without_import(submission("right_loops")), "dina"), "vera": solved(A3, "vera"),
        "cleo": signed(no_cell, "cleo"), "rita": signed(submission("half_finished"), "rita"),
        "wei2": signed(submission("softmax_over_columns"), "wei2"),
    }  # fmt: skip
    mailed, by_hand = texts.pop("lars"), texts.pop("hana")
    del texts["ines"]
    when = dict.fromkeys(texts, moment(8, 18)) | dict.fromkeys(("edda", "s01"), moment(10, 18))
    from_moodle("1_march", {"abel": a, "sean": texts["sean"]}, {})
    in_german("1_march", {"abel": "2026-03-01 10:00", "sean": "2026-03-01 11:00"})
    from_moodle("2_march", {"abel": b}, {"abel": moment(2, 10)})
    from_moodle("9_march", texts, when | {"abel": moment(3, 10)})

    files = "../downloads/{0}.zip --students ../downloads/{0}.csv"
    unpack = f"lms unpack {A2} {files} --time-zone Europe/Berlin --by"
    german, _ = walk.type(f'{unpack.format("1_march")} "E-Mail-Adresse"')
    walk.type(f"{unpack.format('2_march')} email")
    _, all_said = walk.type(f"{unpack.format('9_march')} email")
    _, older = walk.type(f"{unpack.format('2_march')} email")
    here = {a: "A", b: "B"}.get(place_for(course, "abel").read_text("utf-8"))
    walk.row(5, "of attempts A, B and A again the last counts",
        here=("A", here), came_in=(datetime(2026, 3, 3, 9), Times(course, A2).get("abel")),
        said=told(older, "an earlier attempt than the one here, so that nothing changes: abel"))  # fmt: skip
    hand_in(course, {"hana": by_hand})  # with a file manager
    mail = Path("../downloads/final (2).ipynb")
    mail.write_text(mailed, encoding="utf-8")
    walk.type(f"hand-in '{mail}' --student lars --at 2026-03-11T10:00+01:00")
    _, said = walk.type(f"grade {A2}")
    at = "hand-in FILE --student ID --at TIME"
    run_said = told(said, f"1 without a time at which it came in, and so never late: hana `{at}`")
    page_said = told(text_of(living.kept("class.html")), "Of 1 submission nothing says when", at)
    other = told(said, "this is the notebook of “Assignment 3")
    waited = told(said, "1 waits for a person: dina")
    no_notebook = ("mara", "noor", "otto")
    entered = [one for one in no_notebook if living.marks(one)]
    walk.row(6, "an apostrophe in an address, a column in German",
        status=(0, german), guest=told(all_said, f"1 not in students.csv: {GUEST}"),
        points=([(10, 10)] * 2, [total("sean"), total(GUEST)]))  # fmt: skip
    page = text_of(Path(f"feedback/cleo/{A2}/{A2}.html"))
    walk.row(10, "a deleted answer is told where it stood",
        page=told(page, "its cell is not there. It stood above its test"))  # fmt: skip

    # ---------------------------------------------------------------- what waits is settled
    walk.type(f"hand-in submitted/hana/{A2}/{A2}.ipynb --student hana --at 2026-03-09T13:30+01:00")
    mail.write_text(texts["s13"], encoding="utf-8")
    walk.type(f"hand-in '{mail}' --student vera --at 2026-03-10T10:00+01:00")
    why = "No notebook came, nor was one sent again."
    for one in no_notebook:
        walk.type(f'settle {A2} {one} --points 0 --reason "{why}"')
    walk.type(f"settle {A2} frida --points 8.125")
    walk.type(f"settle {A2} s02 --points 1.005")
    for cell in living.marks("dina"):
        living.by_hand("dina", cell, 1)
    _, said = walk.type(f"grade {A2}")
    waits = [words for words in ("for a person", "could not be run") if words in said]
    walk.row(2, "points by hand settle a missing import",
        before=waited, after=([], waits), points=((4, 10), total("dina")))  # fmt: skip
    shown = [one["autograded"] for one in open_assignment(course, A2).get_submissions(A2)]
    walk.row(15, "the formgrader lists whoever is graded", rows=([True] * 29, shown))
    late = table(living.kept("class.csv"), "student", "late penalty", "came in (UTC)")
    penalties = {"hana": 0, "lars": 2, "vera": 1, "s01": 2, "edda": 0}
    walk.row(3, "no time is said and set, and lateness costs",
        run=run_said, page=page_said, then=([], told(said, "without a time")[1]),
        hana=("2026-03-09 12:30", late["hana"][1]),
        penalties=(penalties, {one: float(late[one][0]) for one in penalties}))  # fmt: skip
    walk.row(4, "another assignment's notebook is held back",
        said=other, then=((10, 10), total("vera")))  # fmt: skip
    in_german("noten", {})
    words = '../downloads/noten.csv --by "E-Mail-Adresse" --column Bewertung --points 10'
    walk.type(f"lms scores {A2} {words}")
    columns = table(living.kept("scores_noten.csv"), "E-Mail-Adresse", "Bewertung")
    sent = {one: columns[MAIL[one]][0] for one in EVERYBODY}
    walk.type(f"lms feedback {A2} --like {files.format('9_march')} --by email")

    # ---------------------------------------------------------------- assignment 3, by Canvas
    blank = solved(A3, "", "exercises")
    attempts = [(one, f"{A3}.ipynb", solved(A3, one)) for one in ("hana", "lars", "s01", "wei1")]
    attempts += [("wei2", f"{A3}.ipynb", blank), ("abel", f"{A3}.ipynb", blank)]
    from_canvas("a3", [*attempts, ("abel", f"{A3}-1.ipynb", solved(A3, "abel"))])
    walk.type(f"lms unpack {A3} {files.format('a3')} --by login")
    walk.type(f"grade {A3}")
    walk.type(f'lms scores {A3} ../downloads/a3.csv --by login --column "Assignment 3"')
    scores = table(Path(f"grading/{A3}/scores_a3.csv"), "SIS Login ID", "Assignment 3 (11001)")
    of_canvas = [scores[MAIL[one]][0] for one in ("abel", "wei1", "wei2")]
    walk.row(13, "Canvas's latest attempt, and two of one name",
        a3=(["12.00", "12.00", "0.00"], of_canvas), a2=(["10.00", "9.00"], [sent["wei1"], sent["wei2"]]))  # fmt: skip

    # ---------------------------------------------------------------- assignment 4, and the marks
    status, said = walk.type("term")
    nobody = told(said, f"expected scores of {A4} in the gradebook, found none. Without [weights]")
    few = ("hana", "lars", "s01", "s02", "wei1", "wei2")
    hand_in(course, {one: solved(A4, one) for one in few}, A4)
    times = [["student", "time"], *([one, "2026-03-20 10:00"] for one in few)]
    Path("../downloads/times.csv").write_text(written(times))
    walk.type(f"lms came-in {A4} ../downloads/times.csv --time-zone Europe/Berlin")
    walk.type(f"grade {A4}")
    with Path("students.csv").open("a") as people:
        people.write("newt,Newt,Later,newt@uni.example\n")
    final, said = walk.type("term")
    marks_file = Path("grading/term/marks.csv")
    marks = table(marks_file, "student", "final", "remarks", "mark", "last name", A2, A3)
    apart = said.partition("not in students.csv, and not counted:")[2].split()
    walk.row(8, "a term without weights, guests and who came later",
        said=nobody, status=((2, 0), (status, final)),
        guests=([GUEST], [one for one in EVERYBODY if one in apart]),
        later=(("0.0", "Later"), marks["newt"][2:4]), counted=told(said, " of 30 have passed"),
        names=told(said, "Li, Wei wei1", "Li, Wei wei2", "O'Neil, Sean sean", "Later, Newt newt"))  # fmt: skip
    walk.row(1, "no notebook: entered, settled, final and sent",
        entered=([*no_notebook], entered), final=(["yes"] * 3, [marks[one][0] for one in no_notebook]),
        sent=(["0.00"] * 3, [sent[one] for one in no_notebook]),
        page=told(text_of(Path(f"feedback/mara/{A2}/{A2}.html")), why))  # fmt: skip
    walk.row(9, "excused for the class, the term and the platform",
        page=told(text_of(living.kept("class.html")), "1 is excused and not counted here"),
        term=told(marks["ines"][1], f"excused: {A2}"), sent=("", sent["ines"]))  # fmt: skip
    walk.row(14, "who repeats has nothing of last term", now=(("4.0", ""), marks["rita"][4:6]))
    Path("../only_a2.toml").write_text(f"pass_at = 50\ndecimals = 1\n[weights]\n{A2} = 1\n")
    walk.type("term --rules ../only_a2.toml")
    marks = table(marks_file, "student", A2, "mark")
    walk.row(7, "rounded once, half up", sent=(["8.13", "1.01"], [sent["frida"], sent["s02"]]),
        term=([("8.125", "81.3"), ("1.005", "10.1")], [marks["frida"], marks["s02"]]))  # fmt: skip

    # ---------------------------------------------------------------- mended, and put away
    living.source = Path(f"solutions/{A4}/{A4}.ipynb")
    living.points("check_shift_right", 3)
    refused, said = walk.type(f"grade {A4}")
    living.points("check_shift_right", 2)
    walk.type(f"grade {A4}")
    walk.type("term")
    run(course, f"{KEEP}\n{BRING_BACK}")
    moved, _ = walk.type("term --course ../moved")
    same = marks_file.read_bytes() == Path("../moved", marks_file).read_bytes()
    walk.row(12, "points stay; kept and brought back",
        said=told(said, "check_shift_right: expected 2 points, found 3 points", "a new assignment"),
        refused=(2, refused), hana=((8, 8), total("hana", A4)), moved=((0, True), (moved, same)))  # fmt: skip


if __name__ == "__main__":
    done = walked()
    print(*done.rows, sep="\n")
    print(f"\n{len(done.typed)} commands were typed:", *done.typed, sep="\n    ")
    sys.exit(not all(row.true for row in done.rows))
