"""The pages that list what the course has: the course map, and the tables of README.md."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.release.source import Source
from autograder.release.tags import BuildError, checks_of


def points_of(source: Source) -> float:
    """What an assignment is worth: its checks, and its written answers."""
    written = sum(cell.metadata.get("points", 0) for cell in source.notebook.cells)
    return sum(part.points for part in checks_of(source.name).parts) + written


def minutes_of(source: Source) -> int:
    return source.course["minutes"]


def course_rows(
    lectures: Sequence[Source], exercises: Sequence[Source]
) -> tuple[list[str], list[str]]:
    """The two tables of the course map, one row a notebook; links are relative to the root."""
    lecture_rows = ["| lecture | what it is about | minutes | going deeper |", "|---|---|--:|--:|"]
    for source in lectures:
        link = f"[{source.title}](lectures/{source.name}.ipynb)"
        minutes, deeper = minutes_of(source), source.course.get("deeper", 0)
        lecture_rows.append(
            f"| {link} | {source.course['summary']} | {minutes} | {f'+ {deeper}' if deeper else ''} |"
        )
    minutes = sum(map(minutes_of, lectures))
    deeper = sum(source.course.get("deeper", 0) for source in lectures)
    lecture_rows.append(f"| together | | {minutes} | + {deeper} |")
    exercise_rows = ["| assignment | what you write | points | minutes |", "|---|---|--:|--:|"]
    for source in exercises:
        link = f"[{source.title}](exercises/{source.name}/{source.name}.ipynb)"
        points, minutes = points_of(source), minutes_of(source)
        exercise_rows.append(f"| {link} | {source.course['summary']} | {points:g} | {minutes} |")
    points, minutes = sum(map(points_of, exercises)), sum(map(minutes_of, exercises))
    exercise_rows.append(f"| together | | {points:g} | {minutes} |")
    return lecture_rows, exercise_rows


def plan_rows(lectures: Sequence[Source], exercises: Sequence[Source], weeks: int) -> list[str]:
    """A table with a row a week: its lectures, their assignments, and the hours of both."""
    rows = ["| week | lectures | assignments | hours |", "|--:|---|---|--:|"]
    for week in range(weeks):
        read = lectures[week * len(lectures) // weeks : (week + 1) * len(lectures) // weeks]
        names = {source.name for source in read}
        answered = [source for source in exercises if source.course.get("lecture") in names]
        hours = sum(map(minutes_of, [*read, *answered])) / 60
        titles = (", ".join(map(numbered, sources)) for sources in (read, answered))
        rows.append(f"| {week + 1} | {' | '.join(titles)} | {hours:.1f} |")
    return rows


def numbered(source: Source) -> str:
    """What a title begins with, such as "Lecture 3"."""
    return source.title.partition(":")[0]


def course_map(lectures: Sequence[Source], exercises: Sequence[Source]) -> str:
    """The page that JupyterLab opens on."""
    lecture_rows, exercise_rows = course_rows(lectures, exercises)
    return "\n".join(
        [
            "# Attention and transformers: the course map",
            "",
            "Click a title to open its notebook. Read a lecture first, then answer its assignment.",
            "Run a cell with **Shift + Enter**; everything you open here is your own copy.",
            "",
            "## Lectures",
            "",
            *lecture_rows,
            "",
            "## Assignments",
            "",
            *exercise_rows,
            "",
            "## A plan for a term",
            "",
            "Each lecture, without what goes deeper, takes about 50 minutes. The hours are those of lectures and",
            "assignments together.",
            "",
            "With one lecture a week:",
            "",
            *plan_rows(lectures, exercises, len(lectures)),
            "",
            "With two lectures a week:",
            "",
            *plan_rows(lectures, exercises, (len(lectures) + 1) // 2),
            "",
        ]
    )


def tables(lectures: Sequence[Source], exercises: Sequence[Source]) -> str:
    """The two tables of README.md."""
    lecture_rows, exercise_rows = course_rows(lectures, exercises)
    return "\n".join([*lecture_rows, "", *exercise_rows])


def readme_with_tables(readme: str, lectures: Sequence[Source], exercises: Sequence[Source]) -> str:
    """README.md with the text between its two table markers made anew."""
    begin, end = "<!-- tables: made by `make build` -->", "<!-- end of tables -->"
    if begin not in readme or end not in readme:
        raise BuildError(f"README.md lacks the lines '{begin}' and '{end}' that hold its tables.")
    head, rest = readme.split(begin, 1)
    return f"{head}{begin}\n{tables(lectures, exercises)}\n{end}{rest.split(end, 1)[1]}"
