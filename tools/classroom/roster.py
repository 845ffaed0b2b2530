"""The list of students in the course folder, from which the gradebook and the reports know the class."""

from __future__ import annotations

import csv
import io

from tools.classroom.accounts import known, numbers_of
from tools.classroom.own_folder import opened
from tools.classroom.settings import Settings

COLUMNS = ("id", "first_name", "last_name", "email")  # as nbgrader reads them


def write_roster(settings: Settings) -> None:
    """Write `students.csv`, with everybody in the class who is a student."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(COLUMNS)
    for person in known(settings).values():
        if person.role == "student":
            first, _, last = person.name.rpartition(" ")
            writer.writerow([person.username, first, last, person.email])
    with opened(settings.course, numbers_of(settings.account), 0o700) as course:
        course.write("students.csv", made.getvalue().encode(), 0o600)
