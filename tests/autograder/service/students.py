"""Students with homes of their own, who hand in and read feedback by nbgrader's own exchange."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from traitlets.config import Config

from tests.sample_class import ASSIGNMENT, ROOT, new_course


class Classroom:
    """A course folder, an exchange, and students.

    Args:
        folder: for all of it.
        assignments: what is released.
    """

    def __init__(self, folder: Path, *assignments: str) -> None:
        self.course, self.exchange, self.homes = (
            folder / "course",
            folder / "exchange",
            folder / "homes",
        )
        self.assignments = assignments or (ASSIGNMENT,)
        for number, assignment in enumerate(self.assignments):
            if number:
                shutil.copytree(
                    ROOT / "solutions" / assignment, self.course / "solutions" / assignment
                )
            else:
                new_course(self.course, assignment)
        inbound = self.exchange / "attention" / "inbound"
        for place in (inbound, inbound.parent / "outbound", inbound.parent / "feedback"):
            place.mkdir(parents=True)
        inbound.chmod(0o3733)
        for assignment in self.assignments:
            released = ROOT / "exercises" / assignment
            shutil.copytree(released, self.exchange / "attention" / "outbound" / assignment)
        self.settings()

    @property
    def inbound(self) -> Path:
        return self.exchange / "attention" / "inbound"

    def settings(self, text: str = "") -> None:
        """Write the settings, with the exchange before what is given."""
        head = f'exchange = "{self.exchange}"\n'
        if "check_owner" not in text:
            head += "check_owner = false\n"
        (self.course / "service.toml").write_text(head + text, encoding="utf-8")

    def _config(self, student: str, assignment: str) -> tuple[Config, CourseDirectory]:
        return config_of(self.homes / student, self.exchange, student, assignment)

    def submit(
        self, student: str, notebook: NotebookNode | str, assignment: str = ASSIGNMENT
    ) -> str:
        """Hand in with nbgrader; the name of the folder in the exchange."""
        text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
        before = set(os.listdir(self.inbound))
        submit_from(self.homes / student, self.exchange, student, assignment, text)
        (name,) = set(os.listdir(self.inbound)) - before
        return name

    def listed(self, student: str, assignment: str = ASSIGNMENT) -> list[dict]:
        """What the Assignments tab says of a student's submissions, the oldest first."""
        config, coursedir = self._config(student, assignment)
        config.ExchangeList.cached = True
        factory = ExchangeFactory(config=config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # nbgrader leaves files to be closed
            found = factory.List(
                coursedir=coursedir, authenticator=Authenticator(config=config), config=config
            ).start()
        return [one for entry in found for one in entry["submissions"]]

    def feedback(self, student: str, assignment: str = ASSIGNMENT) -> list[str]:
        """The pages that a student fetches with nbgrader, the oldest submission's first; "" for none."""
        config, coursedir = self._config(student, assignment)
        factory = ExchangeFactory(config=config)
        factory.FetchFeedback(
            coursedir=coursedir, authenticator=Authenticator(config=config), config=config
        ).start()
        pages = []
        for submission in self.listed(student, assignment):
            where = self.homes / student / assignment / "feedback" / submission["timestamp"]
            page = where / f"{assignment}.html"
            pages.append(page.read_text(encoding="utf-8") if page.exists() else "")
        return pages


def config_of(
    home: Path, exchange: Path, student: str, assignment: str
) -> tuple[Config, CourseDirectory]:
    """nbgrader's settings in a student's server; the student "*" is the account that asks."""
    config = Config()
    config.Exchange.root = str(exchange)
    config.Exchange.cache = str(home / "cache")
    config.Exchange.assignment_dir = str(home)
    config.CourseDirectory.course_id = "attention"
    config.CourseDirectory.student_id = student
    config.CourseDirectory.assignment_id = assignment
    return config, CourseDirectory(config=config)


def submit_from(home: Path, exchange: Path, student: str, assignment: str, text: str) -> None:
    """Save a notebook in a home, and hand it in with nbgrader."""
    folder = home / assignment
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{assignment}.ipynb").write_text(text, encoding="utf-8")
    config, coursedir = config_of(home, exchange, student, assignment)
    factory = ExchangeFactory(config=config)
    factory.Submit(
        coursedir=coursedir, authenticator=Authenticator(config=config), config=config
    ).start()
