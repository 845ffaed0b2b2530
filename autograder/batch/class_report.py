"""What a class did in one assignment: a page to show, without names, and tables with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from types import MappingProxyType

from autograder.batch.appeals import Asked
from autograder.batch.class_statistics import (
    FEWEST,
    MistakesMade,
    PartStatistics,
    RecurringMistake,
    Standing,
    earlier_mistakes,
    keep_mistakes,
    made_again,
    part_statistics,
    points_possible,
    recurring_in,
    standings,
)
from autograder.batch.excused import REASON, excused_of, without_excused
from autograder.batch.findings import Finding
from autograder.batch.release_text import title_of
from autograder.batch.roster import FILE, Roster, missing_from, not_on, roster_of
from autograder.batch.student_result import StudentResult
from autograder.batch.table import padded, width, wrapped, write_csv
from autograder.checks.verdicts import Behaviour, Obstacle
from autograder.files import harmless, printable, write_whole
from autograder.pages import render

KINDS = MISTAKE, RELATION, OBSTACLE, NAMELESS = "by name", "relation", "obstacle", "no name"
NO_ANSWER = (Obstacle.UNANSWERED, Obstacle.MISSING)
NOTHING = "handed in nothing"
ASKED = "look_again.html"  # the page of `write_asked`
MOST_ANSWERS = 3  # that are shown of those who made the same mistake


@dataclass(frozen=True)
class Trouble:
    """Something that went wrong in a part, and who of the class had it.

    Attributes:
        kind: `MISTAKE`, `RELATION`, `OBSTACLE`, or `NAMELESS`, which goes by the step it missed.
        name: in a few words.
        students: how many.
        codes: some of their answers, each once.
        message: what those students read.
        also: in how many of their answers further steps are wrong, and not charged again.
        alike: nothing explains what they did, and all of them did the same.
    """

    kind: str
    name: str
    students: int
    codes: tuple[str, ...]
    message: str = ""
    also: int = 0
    alike: bool = False


@dataclass(frozen=True)
class PartReport:
    """How a part went: what it was worth to the class, what went wrong, how many handed in our own code."""

    name: str
    signature: str
    statistics: PartStatistics
    courses_own: int
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True)
class MarkedPart:
    """How a part went that a person marks: what it was worth to those who are marked, and how many wait."""

    name: str
    statistics: PartStatistics
    marked: int
    waiting: int


def write_report(
    course: Path,
    assignment: str,
    rows: Sequence[StudentResult],
    isolation: str,
    ungraded: Collection[str] = (),
) -> tuple[Path, Path]:
    """Write the page (HTML, no names) and the table (CSV) beside the journal; their paths come back.

    Who is `ungraded` has handed in, and stands in no row because it is not graded so far.
    """
    folder = course / "grading" / assignment
    page, table = folder / "class.html", folder / "class.csv"
    excused = excused_of(course)
    students, term = standings(course, excused)
    excused_here = {student for student, names in excused.items() if assignment in names}
    rows = without_excused(rows, excused_here)
    title = title_of(course, assignment)
    earlier = earlier_mistakes(course, assignment)
    again = recurring_in(rows, earlier)
    graded = {row.student for row in rows}
    roster = {
        student: person
        for student, person in roster_of(course).items()
        if student in graded or student not in ungraded
    }
    missing = len(missing_from(roster, graded | excused_here))
    excused_count = len(excused_here & (graded | roster.keys()))
    about = students, term, again, missing, excused_count
    write_whole(page, as_page(assignment, title, rows, isolation, *about))
    write_asked(course, assignment, title, rows, roster)
    write_csv(table, table_rows(rows, isolation, earlier, roster, excused_here))
    keep_mistakes(course, assignment, rows)
    return page, table


def asked_of(rows: Sequence[StudentResult]) -> list[tuple[str, Asked]]:
    """Who asks to look again at what, as far as it is not settled."""
    return [(row.student, one) for row in rows for one in row.asked if not one.settled]


def write_asked(
    course: Path,
    assignment: str,
    title: str,
    rows: Sequence[StudentResult],
    roster: Roster = MappingProxyType({}),
) -> None:
    """Write the page for the instructor alone with who asks to look again, and why; no page where nobody does."""
    page = course / "grading" / assignment / ASKED
    people = {student: person.name for student, person in roster.items()}
    shown = [
        (
            printable(student),
            printable(people.get(student, "")),
            one,
            one.settles(assignment, student),
        )
        for student, one in asked_of(rows)
    ]
    if shown:
        write_whole(page, render("look_again.html", title=title, asked=shown))
    else:
        page.unlink(missing_ok=True)


def as_page(
    assignment: str,
    title: str,
    rows: Sequence[StudentResult],
    isolation: str,
    students: int = 0,
    term: Sequence[Standing] = (),
    again: Sequence[RecurringMistake] = (),
    missing: int = 0,
    excused: int = 0,
) -> str:
    """The page, as HTML.

    `students` is how many the gradebook knows, `missing` how many on the list have handed in nothing, and `excused`
    how many are excused, whether or not they have.
    """
    rows = [row for row in rows if not row.excused]
    graded = [row for row in rows if not row.failed]
    points = [row.points for row in graded]
    of = max((row.of for row in rows), default=0)
    return render(
        "class.html",
        title=title,
        assignment=assignment,
        graded=len(graded),
        failed=len(rows) - len(graded),
        waiting=sum(row.needs_person for row in graded),
        late=sum(row.late for row in rows),
        timeless=sum(row.timeless for row in rows),
        missing=missing,
        excused=excused,
        middle=median(points) if points else 0,
        of=of,
        bars=_histogram(points, of),
        parts=[_part(name, points, graded) for name, points in points_possible(rows).items()],
        marked=[_marked_part(name, graded) for name in _marked_by_a_person(graded)],
        fewest=FEWEST,
        again=again,
        asked=[(one, _shown_of(row, one.part)) for row in rows for _, one in asked_of([row])],
        isolation=isolation,
        seconds=median(row.seconds for row in graded) if graded else 0,
        students=students,
        term=term,
    )


def _shown_of(row: StudentResult, part: str) -> str:
    """What went wrong in a part by names of ours: an error's text may hold the student's."""
    found = (finding for finding in row.findings if finding.part == part)
    return next(("; ".join(name for _, name in _named(one)) for one in found), "nothing")


def _histogram(points: Sequence[float], of: float) -> list[tuple[str, int]]:
    """(points, students) for every number of points that can be had or was given, halves where there are some."""
    per = 2 if any(value % 1 for value in points) else 1
    counts = Counter(round(value * per) for value in points)
    most = max(round(of * per), *counts, 0)
    return [(f"{place / per:g}", counts[place]) for place in range(most + 1)]


def _part(name: str, possible: float, graded: Sequence[StudentResult]) -> PartReport:
    signature = next((row.signatures[name] for row in graded if name in row.signatures), name)
    statistics = part_statistics(name, [row.parts for row in graded], possible)
    findings = [finding for row in graded for finding in row.findings if finding.part == name]
    courses_own = sum(name in row.courses_own for row in graded)
    return PartReport(name, signature, statistics, courses_own, tuple(_troubles(findings)))


def _marked_part(name: str, graded: Sequence[StudentResult]) -> MarkedPart:
    rows = [row for row in graded if name in row.marked]
    earned = [
        {**row.parts, name: points} for row in rows if (points := row.marked[name]) is not None
    ]
    statistics = part_statistics(name, earned, rows[0].markable[name])
    return MarkedPart(name, statistics, len(earned), len(rows) - len(earned))


def _troubles(findings: Sequence[Finding]) -> Iterator[Trouble]:
    """What went wrong in a part, the most frequent first."""
    by_trouble: dict[tuple[str, str, int], list[Finding]] = defaultdict(list)
    for finding, group in zip(findings, _groups(findings), strict=True):
        for kind, name in _named(finding):
            by_trouble[kind, name, group if kind == NAMELESS else 0].append(finding)
    mistakes = [mistake for finding in findings for mistake in finding.mistakes]
    # the shortest comes last, which is the one that was behind all that went wrong
    messages = dict(sorted(mistakes, key=lambda mistake: -len(mistake[1])))
    order = sorted(by_trouble, key=lambda key: (-len(by_trouble[key]), KINDS.index(key[0]), key))
    for kind, name, group in order:
        alike = by_trouble[kind, name, group]
        codes = Counter(finding.code for finding in alike if finding.obstacle not in NO_ANSWER)
        del codes[""]
        yield Trouble(
            kind,
            name,
            students=len(alike),
            codes=tuple(code for code, _ in codes.most_common(MOST_ANSWERS)),
            message=messages.get(name, "") if kind == MISTAKE else "",
            also=sum(bool(finding.also) for finding in alike),
            alike=group > 0,
        )


def _groups(findings: Sequence[Finding]) -> list[int]:
    """Numbers that are the same for answers that did the same; 0 for those that nobody else gave."""
    different: list[Behaviour] = []
    groups = []
    for behaviour in (finding.behaviour for finding in findings):
        same = (known.same_as(behaviour) for known in different) if behaviour else ()
        group = next((number for number, is_same in enumerate(same, start=1) if is_same), 0)
        if behaviour and not group:
            different.append(behaviour)
            group = len(different)
        groups.append(group)
    size = Counter(groups)
    return [group if size[group] > 1 else 0 for group in groups]


def _named(finding: Finding) -> list[tuple[str, str]]:
    """Kind and name of all that went wrong, each once; at least one."""
    found = [(MISTAKE, name) for name, _ in finding.mistakes]
    found += [(RELATION, name) for name in finding.relations]
    found += [(OBSTACLE, finding.obstacle.words)] if finding.obstacle else []
    return list(dict.fromkeys(found)) or [(NAMELESS, finding.missed)]


def table_rows(
    rows: Sequence[StudentResult],
    isolation: str,
    earlier: Mapping[str, MistakesMade] = MappingProxyType({}),
    roster: Roster = MappingProxyType({}),
    excused: Collection[str] = (),
) -> Iterator[list[object]]:
    """The table with names, points by part and reasons: its head, then a row for each student.

    Those come last who are on the list and have handed in nothing. Without a list there are no names.
    """
    names, marked = list(points_possible(rows)), _marked_by_a_person(rows)
    head = ["student", *["name"] * bool(roster), "points", "of", *names, *marked]
    head += ["late penalty", "came in (UTC)", "due (UTC)"]
    head += ["needs a person", "reasons", "made again", "the course's own code"]
    yield [*head, "isolation", "seconds"]
    for row in rows:
        cells: list[object] = [row.student]
        cells += [roster[row.student].name if row.student in roster else ""] * bool(roster)
        cells += [row.points, row.of, *(row.parts.get(name, "") for name in names)]
        given = [row.marked.get(name) for name in marked]
        cells += ["" if points is None else points for points in given]
        cells += [row.penalty, _time(row.came_in), _time(row.due)]
        cells += ["yes" if row.needs_person else "", " | ".join(row.reasons)]
        cells += [made_again(row, earlier), " | ".join(row.courses_own)]
        cells += [isolation, f"{row.seconds:.2f}"]
        yield list(map(harmless, cells))
    of = max((row.of for row in rows), default=0)
    for student, name in missing_from(roster, (row.student for row in rows)).items():
        absent = {"student": student, "name": name, "of": of, "reasons": NOTHING}
        if student in excused:
            absent |= {"points": 0, "of": 0, "reasons": REASON}
        yield [harmless(absent.get(column, "")) for column in [*head, "isolation", "seconds"]]


def as_text(
    rows: Sequence[StudentResult],
    roster: Roster = MappingProxyType({}),
    excused: Collection[str] = (),
) -> str:
    """The rows for a terminal: points, points by part, when it came in, and why points were lost.

    Below stands who is on the list and has handed in nothing, and who has and is not on it.
    """
    parts = next((list(row.parts) for row in rows if row.parts), [])
    marked = _marked_by_a_person(rows)
    names = [printable(row.student) for row in rows]
    wide = max(map(width, ("student", *names)))
    times = any(row.came_in for row in rows)
    fined = any(row.penalty for row in rows)
    head = [padded("student", wide), "points".rjust(9), *parts, *marked]
    head += ["late".rjust(5)] * fined + ["came in (UTC)"] * times
    first = "  ".join(head)
    lines = [first, "─" * width(first)]
    for name, row in zip(names, rows, strict=True):
        cells = [padded(name, wide), f"{row.points:g} / {row.of:g}".rjust(9)]
        cells += [(f"{row.parts[part]:g}" if row.parts else "–").rjust(len(part)) for part in parts]
        cells += [_marked(row, name).rjust(len(name)) for name in marked]
        cells += [(f"−{row.penalty:g}" if row.penalty else "").rjust(5)] * fined
        cells += [_time(row.came_in)] * times
        lines.append("  ".join(cells).rstrip())
        for reason in row.reasons:
            lines += wrapped(printable(reason), "    ", "      ")
    absent = missing_from(roster, (row.student for row in rows))
    missing = {student: name for student, name in absent.items() if student not in excused}
    if freed := [student for student in absent if student in excused]:
        text = f"excused, and handed in nothing: {', '.join(map(printable, freed))}"
        lines += ["", *wrapped(text, "", "    ")]
    if missing:
        said = (f"{name} ({student})" if name else student for student, name in missing.items())
        text = f"{NOTHING}, {len(missing)} of {len(roster)}: {', '.join(map(printable, said))}"
        lines += ["", *wrapped(text, "", "    ")]
    strangers = not_on(roster, (row.student for row in rows))
    if strangers:
        text = f"{len(strangers)} not in {FILE}: {', '.join(map(printable, strangers))}"
        lines += ["", *wrapped(text, "", "    ")]
    return "\n".join(lines)


def _marked_by_a_person(rows: Sequence[StudentResult]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.marked))


def _marked(row: StudentResult, name: str) -> str:
    """What a person has given; a sign where that is still to come, and where nothing could be run."""
    points = row.marked.get(name)
    if points is None:
        return "…" if name in row.marked else "–"
    return f"{points:g}"


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
