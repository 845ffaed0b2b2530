"""``python -m autograder term``: the final mark of everybody, from the gradebook and the rules in term.toml.

The points are those that count everywhere else: what a person gave in place of what the grader gave, less the
late penalty, each once. Nothing is written into the gradebook.

    python -m autograder term
    python -m autograder term --so-far
"""

from __future__ import annotations

import argparse
import math
import sys
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.batch.appeals import who_asks
from autograder.batch.csv_file import read_own_table
from autograder.batch.dates import read_dates
from autograder.batch.final_mark import (
    RULES,
    Mark,
    Rules,
    in_words,
    mark_of,
    read_rules,
    refuse_unknown,
)
from autograder.batch.table import padded, width, wrapped, write_csv
from autograder.errors import CourseError
from autograder.files import cut, harmless, meant, plain_id, printable
from autograder.order import by_number
from autograder.points import counted

if TYPE_CHECKING:  # nbgrader is imported when a command runs
    from autograder.batch.roster import Roster

TERM = "term"
EXCUSED = "excused.csv"
NOT_LISTED = "not in students.csv"
NO_MARK = Mark(None)
LEAST = 0.001  # points of an assignment that counts


@dataclass(frozen=True)
class Standing:
    """Where a student stands at the end of the term.

    Attributes:
        student, last_name, first_name, email: as the gradebook has them.
        points: by assignment, of those that were graded; late penalties taken off.
        mark: what they come to.
        excused: assignments that do not count for this student.
        waiting: assignments in which a person has to look before the points count.
        ungraded: assignments that came in and are not graded.
        above: assignments with more points than there are.
        asking: assignments at which the student asks a person to look again; the points count meanwhile.
        listed: whether the class's own list has this student, or there is no list.
    """

    student: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    points: dict[str, float] = field(default_factory=dict)
    mark: Mark = NO_MARK
    excused: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    ungraded: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    asking: list[str] = field(default_factory=list)
    listed: bool = True

    @property
    def name(self) -> str:
        """By which a class is sorted, and its lists are read: the last name first."""
        return ", ".join(filter(None, (self.last_name, self.first_name)))

    @property
    def waits(self) -> bool:
        """Whether the mark may still change without the student doing anything."""
        return bool(self.waiting or self.ungraded)

    def remarks(self, of: Collection[str]) -> Iterator[str]:
        """What else is to be said of the mark."""
        there = {*self.points, *self.ungraded, *self.excused}
        absent = [name for name in of if name not in there]
        for what, names in (
            ("not final, since a person has to look", self.waiting),
            ("not final, since it came in and is not graded", self.ungraded),
            ("more points than there are", self.above),
            ("asks you to look again", self.asking),
            ("too little to pass", self.mark.missed),
            ("dropped", self.mark.dropped),
            ("excused", self.excused),
            ("handed in nothing", absent),
        ):
            if names:
                yield f"{what}: {', '.join(names)}"
        if not self.listed:
            yield NOT_LISTED


@dataclass(frozen=True)
class Term:
    """A term's marks.

    Attributes:
        rules: how they came about.
        of: the points that each assignment gives.
        missing: assignments that may count and have not been graded, left out with `so_far`.
        worthless: assignments that count and give no points.
        standings: of everybody, by name; who is not on the class's own list comes last.
    """

    rules: Rules
    of: dict[str, float]
    missing: tuple[str, ...]
    worthless: tuple[str, ...]
    standings: list[Standing]

    @property
    def class_of(self) -> list[Standing]:
        """Those on the class's own list; everybody where there is none."""
        return [one for one in self.standings if one.listed]

    @property
    def guests(self) -> list[Standing]:
        """Those who handed in and are not on it."""
        return [one for one in self.standings if not one.listed]


def term_of(course: Path, rules_file: Path | None = None, so_far: bool = False) -> Term:
    """The marks of everybody whom the gradebook or the class's own list knows, and of whoever handed in besides.

    Args:
        rules_file: how they come about; None for the course's own.
        so_far: leave out what nobody has handed in yet, where this otherwise stops.

    Raises:
        CourseError: the rules cannot be, or name an assignment without points.
    """
    from autograder.batch.course import open_course
    from autograder.batch.roster import roster_of
    from autograder.batch.run_lock import open_gradebook

    where = rules_file or course / RULES
    rules = read_rules(where)
    coursedir = open_course(course).coursedir
    with open_gradebook(coursedir) as gradebook:
        worth = {
            assignment.name: assignment.max_score
            for assignment in sorted(gradebook.assignments, key=lambda one: by_number(one.name))
        }
        standings = _standings(gradebook)
    source = course / coursedir.source_directory
    taught = {path.name for path in source.glob("*") if path.is_dir()}
    refuse_unknown(rules, sorted(taught | worth.keys(), key=by_number), where)
    handed_in = {name for one in standings.values() for name in (*one.points, *one.waiting)}
    graded = {name for name in handed_in if LEAST <= worth[name] < math.inf}
    submitted = course / coursedir.submitted_directory
    came_in = {folder.name for folder in submitted.glob("*/*")} & taught
    counted = (
        rules.named if rules.weights else rules.named | graded | came_in | _of_term(course, taught)
    )
    worthless = {name for name in counted & handed_in if worth[name] < LEAST}
    missing = tuple(sorted(counted - graded - worthless, key=by_number))
    if not counted & graded or (missing and not so_far):
        which = "" if rules.weights else " Without [weights] whatever is taught may count."
        raise CourseError(
            f"expected scores of {', '.join(missing) or 'some assignment'} in the gradebook, found none.{which} Grade "
            f"first, let [weights] or [due] of {where.name} name only what counts, or let --so-far count what there is"
        )
    of = {name: most for name, most in worth.items() if name in counted & graded}
    _find_ungraded(submitted, of, standings)
    standings = _with_the_list(standings, roster_of(course))
    excused = excused_in(course / EXCUSED, standings, taught | worth.keys())
    everybody = sorted(
        standings.values(),
        key=lambda one: (
            not one.listed,
            *map(_letters, (one.last_name, one.first_name)),
            one.student,
        ),
    )
    asking = {name: who_asks(course, name) for name in of}
    marked = [_marked(one, of, rules, excused.get(one.student, ()), asking) for one in everybody]
    return Term(rules, of, missing, tuple(sorted(worthless, key=by_number)), marked)


def _letters(name: str) -> str:
    """By which names are sorted: an Å stands with A."""
    return unicodedata.normalize("NFKD", name).casefold()


def _of_term(course: Path, taught: Collection[str]) -> set[str]:
    """What may count where nobody says what does: what has a due date, or all that is taught."""
    return set(read_dates(course).due or taught)


def _with_the_list(standings: Mapping[str, Standing], roster: Roster) -> dict[str, Standing]:
    """The same with everybody on the class's own list, whose names are the list's."""
    everybody = {name: replace(one, listed=not roster) for name, one in standings.items()}
    for name, person in roster.items():
        one = everybody.get(name, Standing(name))
        everybody[name] = replace(
            one,
            first_name=person.first_name or one.first_name,
            last_name=person.last_name or one.last_name,
            email=person.email or one.email,
            listed=True,
        )
    return everybody


def _standings(gradebook: Any) -> dict[str, Standing]:
    """Everybody of a gradebook with the points that count, in few questions for a whole term."""
    from nbgrader.api import Assignment, Grade, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy import Integer, cast, func, select

    known = {
        one.id: Standing(one.id, one.last_name or "", one.first_name or "", one.email or "")
        for one in gradebook.students
    }
    # nbgrader's own sums ask again for each submission, which takes a minute in a large class
    whose = SubmittedNotebook.assignment_id == SubmittedAssignment.id
    submission = (SubmittedAssignment.student_id, SubmittedAssignment.assignment_id)
    penalties = {
        (student, assignment): penalty or 0.0
        for student, assignment, penalty in gradebook.db.execute(
            select(*submission, func.sum(SubmittedNotebook.late_submission_penalty))
            .outerjoin(SubmittedNotebook, whose)
            .group_by(*submission)
        )
    }
    scores = (
        select(
            *submission, func.sum(Grade.score), func.max(cast(Grade.needs_manual_grade, Integer))
        )
        .outerjoin(SubmittedNotebook, whose)
        .outerjoin(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .group_by(*submission)
    )
    names = dict(gradebook.db.execute(select(Assignment.id, Assignment.name)).all())
    for student, assignment, score, waits in gradebook.db.execute(scores):
        points = counted(score or 0.0, penalties[student, assignment])
        if math.isfinite(score or 0.0) and math.isfinite(points):
            known[student].points[names[assignment]] = points
        else:
            waits = True
        if waits:
            known[student].waiting.append(names[assignment])
    return known


def _find_ungraded(submitted: Path, of: Collection[str], standings: dict[str, Standing]) -> None:
    """Note what lies in ``submitted/`` without points, which must not count as nothing handed in."""
    for folder in submitted.glob("*/*"):
        student, assignment = folder.parent.name, folder.name
        if assignment in of:
            standing = standings.setdefault(student, Standing(student))
            if assignment not in standing.points:
                standing.ungraded.append(assignment)


def excused_in(
    path: Path, students: Collection[str], assignments: Collection[str]
) -> dict[str, set[str]]:
    """What does not count for whom, by a table of the course."""
    found: dict[str, set[str]] = {}
    table = read_own_table(path)
    if table is None:
        return found
    columns = table.column("student"), table.column("assignment")
    for row in table.rows:
        student, assignment = (row[column] for column in columns)
        student = student if student in students else plain_id(student)
        for what, name, known in (
            ("a student's id", student, students),
            ("an assignment", assignment, assignments),
        ):
            if name not in known:
                raise CourseError(
                    f"{path}: expected {what} in line {row.line}, found “{printable(cut(name, 60))}”. "
                    f"{meant(name, known)}".rstrip()
                )
        found.setdefault(student, set()).add(assignment)
    return found


def _marked(
    one: Standing,
    of: Mapping[str, float],
    rules: Rules,
    excused: Collection[str],
    asking: Mapping[str, Collection[str]],
) -> Standing:
    """A student with a mark, and with what is to be said of the assignments that count."""
    return replace(
        one,
        mark=mark_of(one.points, of, rules, excused),
        excused=[name for name in of if name in excused],
        waiting=[name for name in of if name in one.waiting and name not in excused],
        ungraded=[name for name in of if name in one.ungraded and name not in excused],
        asking=[name for name in of if one.student in asking[name] and name not in excused],
        above=[name for name, most in of.items() if one.points.get(name, 0) > most],
    )


def short_names(names: Collection[str]) -> dict[str, str]:
    """What stands before the first "_" of each, where that tells them apart; else the whole."""
    short = {name: name.partition("_")[0] for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in names}


def as_text(term: Term) -> str:
    """The marks for a terminal; who is not on the class's own list stands apart."""
    short = short_names(term.of)
    people = [(printable(one.name), printable(one.student)) for one in term.standings]
    wide = [max(map(width, column)) for column in zip(("name", "student"), *people, strict=True)]
    named = any(name for name, _ in people)

    def line(name: str, student: str, cells: Sequence[str], mark: str, grade: str) -> str:
        person = [padded(name, wide[0])] * named + [padded(student, wide[1])]
        points = [cell.rjust(columns[place]) for place, cell in zip(term.of, cells, strict=True)]
        return "  ".join([*person, *points, mark.rjust(6), grade]).rstrip()

    columns = {name: max(5, width(short[name])) for name in term.of}
    first = line("name", "student", [short[name] for name in term.of], "mark", "grade")
    lines = [first, line("", "", [f"{most:g}" for most in term.of.values()], "100", "")]
    lines.append("─" * width(first))
    for group in (term.class_of, term.guests):
        if group and not group[0].listed:
            lines += ["", f"{NOT_LISTED}, and not counted:"]
        for one in group:
            cells = [f"{one.points[name]:g}" if name in one.points else "–" for name in term.of]
            mark, grade = in_words(one.mark, term.rules.decimals), printable(one.mark.grade)
            lines.append(line(printable(one.name), printable(one.student), cells, mark, grade))
            for remark in one.remarks(term.of):
                lines += wrapped(printable(remark), "    ", "      ")
    return "\n".join(lines)


def as_rows(term: Term) -> Iterator[Sequence[object]]:
    """The marks for a spreadsheet."""
    yield (
        "student", "last name", "first name", "email", *term.of,
        "mark", "grade", "passed", "final", "remarks",
    )  # fmt: skip
    for one in term.standings:
        yield (
            one.student, one.last_name, one.first_name, one.email,
            *(one.points.get(name, "") for name in term.of),
            in_words(one.mark, term.rules.decimals), one.mark.grade,
            "yes" if one.mark.passed else "no", "no" if one.waits else "yes",
            "; ".join(one.remarks(term.of)),
        )  # fmt: skip


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser("term", help="the final mark of everybody, as term.toml says")
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.add_argument("--rules", type=Path, help=f"other rules than the course's {RULES}")
    command.add_argument(
        "--so-far", action="store_true", help="count what has been graded, in the middle of a term"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: all marks are final; 1: some wait, and are named; 2: nothing was done."""
    path = options.course / "grading" / TERM / "marks.csv"
    try:
        term = term_of(options.course, options.rules, options.so_far)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(path, ([harmless(cell) for cell in row] for row in as_rows(term)))
    except (CourseError, OSError) as error:
        print(f"no marks: {error}", file=sys.stderr)
        return 2
    print(as_text(term))
    if term.missing:
        print(f"\nnot graded so far, and left out: {', '.join(term.missing)}")
    if term.worthless:
        print(f"\nwithout points, so that it counts for nothing: {', '.join(term.worthless)}")
    passed = sum(one.mark.passed for one in term.class_of)
    print(f"\n{passed} of {len(term.class_of)} have passed. As a table: {path}")
    waiting = [printable(one.student) for one in term.class_of if one.waits]
    if waiting:
        print(f"{len(waiting)} not final: {', '.join(waiting)}")
    return 1 if waiting else 0
