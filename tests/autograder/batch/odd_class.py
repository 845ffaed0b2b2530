"""One class of everything that can be handed in, and what became of it.

Each student answers the same parts right and does one odd thing.
"""

import contextlib
import io
import json
import time

import nbformat
import pytest

from autograder import __main__ as command_line
from autograder.batch import classroom
from tests.autograder.batch.odd_code import (
    ANSWERS,
    BESIDE,
    FETCHED,
    KERNELS,
    QUOTED,
    STAND_IN,
    attacker,
)
from tests.autograder.batch.odd_files import (
    FOLDERS,
    HALF_NAMES,
    HONEST,
    LINKS,
    NAMES,
    NOTEBOOKS,
    PARTS,
    RIGHT,
    with_answer,
    with_cell,
)
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    filled_in,
    new_course,
    place_for,
    submission,
)


def hand_in_everything(course):
    notebooks = {name: made for name, (made, _) in NOTEBOOKS.items()}
    notebooks |= {name: filled_in(RIGHT) for name in (*FOLDERS, *NAMES, *HALF_NAMES)}
    notebooks |= {name: with_cell(code) for name, (code, _) in KERNELS.items()}
    notebooks |= {name: with_answer(PARTS[2], code) for name, code in ANSWERS.items()}
    notebooks |= {f"fetch_{way}": with_answer(*answer) for way, answer in FETCHED.items()}
    notebooks["stand_in"] = filled_in({**RIGHT, **STAND_IN})
    notebooks["attacker"] = attacker()
    notebooks["quoted"] = filled_in({**RIGHT, **QUOTED})
    notebooks |= {name: submission(name) for name in HONEST}
    new_course(course)
    for student, notebook in notebooks.items():
        place = place_for(course, student)
        if isinstance(notebook, bytes):
            place.write_bytes(notebook)
        elif isinstance(notebook, nbformat.NotebookNode):
            place.write_text(nbformat.v4.writes_json(notebook), encoding="utf-8")
        else:
            place.write_text(json.dumps(notebook), encoding="utf-8")
    for student, (change, _) in FOLDERS.items():
        change(course / "submitted" / student / ASSIGNMENT)
    for way, (name, text) in BESIDE.items():
        (course / f"submitted/fetch_{way}" / ASSIGNMENT / name).write_text(text)
    submitted = course / "submitted"
    (submitted / LINKS[0]).symlink_to("right_loops")
    for name, target in ((LINKS[1], "../right_loops/" + ASSIGNMENT), (LINKS[2], "nowhere")):
        (submitted / name).mkdir()
        (submitted / name / ASSIGNMENT).symlink_to(target)
    (submitted / LINKS[3]).mkdir()
    (submitted / LINKS[3] / ASSIGNMENT).write_text("x")
    return {*notebooks, *LINKS}


class Class:
    """What became of it."""

    def __init__(self, course):
        self.course = course
        self.students = hand_in_everything(course)
        self.rows, self.times = {}, []

    def grade(self):
        """As the command line does, with the rows and the time of each step noted."""
        grade = classroom.grade_and_compare

        def noting(course, assignment, progress, *rest):
            def noted(done, of, what):
                self.times.append((time.monotonic(), what))
                progress(done, of, what)

            graded = grade(course, assignment, noted, *rest)
            self.rows = {row.student: row for row in graded.rows}
            return graded

        said, complained = io.StringIO(), io.StringIO()
        self.times.append((time.monotonic(), "start"))
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(complained),
        ):
            patch.setattr(classroom, "grade_and_compare", noting)
            self.status = command_line.main(
                ["grade", ASSIGNMENT, "--course", str(self.course), "--jobs", "2",
                 "--isolation", ISOLATION, "--collected-times",
                 "--seconds-per-cell", "4", "--clock-per-cell", "8", "--seconds", "30",
                 "--seconds-per-call", "2"]
            )  # fmt: skip
        self.said = said.getvalue() + complained.getvalue()
        return self

    def feedback(self, student):
        return self.course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"

    def autograded(self, student):
        return self.course / "autograded" / student / ASSIGNMENT
