"""Where the grader gets assignments from: a package of the course, by its name.

This is the only place that imports it. The package holds a folder for each assignment, with
``ASSIGNMENT`` in its ``__init__.py``, and a `Course` named ``COURSE``. A job names its package, so that
one process can grade for several courses; what a person starts takes `assignments`, unless the
environment variable ``AUTOGRADER_COURSE`` names another.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from autograder.order import by_number

if TYPE_CHECKING:
    from autograder.checks.check import Assignment

USUAL = "assignments"
RELEASES = "exercises"  # the folder beside the package that holds what students get
GRADER = "autograder"  # a package that holds answers, as those of the course do


class Letter(NamedTuple):
    """What a letter for a length counts: "B" may be the number of sentences.

    Attributes:
        one, many: what is counted.
        is_a_factor: whether by mistake people multiply or divide by it, or by its root.
    """

    one: str
    many: str
    is_a_factor: bool = False


@dataclass(frozen=True)
class Course:
    """A package of assignments, and what else belongs to the course.

    Attributes:
        package: the package's name.
        libraries: packages with the course's own code, which a notebook may import only where its
            assignment allows it.
        always_allowed: modules of these that every notebook may import, and that hold no answer.
        handed_over: modules of these with what checks hand to answers, by its name: the probe imports
            them where the answer runs, so they hold no answer either.
        site: address of the course's website, to which feedback pages link; "" if it has none.
        letters: of lengths in the signatures of parts, by which feedback calls axes and factors.
            Where two are equally likely, it names the one that stands first.
        charge_once: whether steps keep their points that a mistake breaks which is charged already, see
            `autograder.checks.credit`; else each step that is wrong is charged.
    """

    package: str
    libraries: tuple[str, ...] = ()
    always_allowed: tuple[str, ...] = ()
    handed_over: tuple[str, ...] = ()
    site: str = ""
    letters: Mapping[str, Letter] = field(default_factory=dict)
    charge_once: bool = True
    _loaded: dict[str, Assignment] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages of the course, which hold the answers; the assignments' comes first."""
        return (self.package, *self.libraries)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the assignments' code lies, and the libraries'."""
        return tuple(map(folder_of, self.packages))

    def owns(self, file: str, is_file: Callable[[str], bool]) -> bool:
        """Whether a file beside a notebook is of a copy of this course, of whatever age, or of the grader.

        What students got, they may hand in again, and it counts as if it were not there: a notebook imports the
        course's own modules or none, whatever became of a copy. A folder of the same name that is no package is a
        student's own, but for the modules that ours have.

        Args:
            file: its relative name.
            is_file: whether there is another file beside the notebook, by its relative name.
        """
        place = PurePosixPath(file)
        own = {GRADER, *filter(None, self.packages)}
        if place.suffix == ".py" and place.stem in own:
            return True
        for count, folder in enumerate(place.parts[:-1], 1):
            if folder in own:
                package = PurePosixPath(*place.parts[:count])
                return is_file(f"{package}/__init__.py") or (
                    place.suffix == ".py" and _has(folder, place.relative_to(package))
                )
        return False

    def known(self) -> list[str]:
        """Ids of all assignments, by their numbers: a10 after a9."""
        names = [path.parent.name for path in folder_of(self.package).glob("a[0-9]*_*/__init__.py")]
        return sorted(names, key=by_number)

    def load(self, name: str) -> Assignment:
        """The checks of one assignment.

        Raises:
            LookupError: no assignment has this id; the message lists those there are.
        """
        if name not in self.known():
            there = ", ".join(self.known())
            raise LookupError(f"there is no assignment '{name}'. There are: {there}.")
        if name not in self._loaded:
            assignment = importlib.import_module(f"{self.package}.{name}").ASSIGNMENT
            for part in assignment.parts:
                part.letters, part.charge_once = self.letters, self.charge_once
            self._loaded[name] = replace(assignment, course=self)
        return self._loaded[name]

    def released(self, name: str) -> list[dict[str, Any]]:
        """The cells of an assignment as students got it, where the course's package has its releases beside it."""
        path = folder_of(self.package).parent / RELEASES / name / f"{name}.ipynb"
        try:
            cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (OSError, ValueError, KeyError):
            return []
        return [{**cell, "source": "".join(cell["source"])} for cell in cells]

    def handed_out(self, name: str) -> dict[str, str]:
        """Source of the named cells of a release, by name; none where there is no release."""
        marks = ((cell["metadata"].get("nbgrader", {}), cell) for cell in self.released(name))
        return {mark["grade_id"]: cell["source"] for mark, cell in marks if mark}

    def allowed_modules(self, name: str) -> tuple[str, ...]:
        """Modules of the course that are there where an assignment's notebook runs.

        They are those that it may import, for unknown ones the usual, and those that the probe imports.
        Read and not imported: kernels start with them, before there is time for anything else.
        """
        if name not in self.known():
            return (*self.always_allowed, *self.handed_over)
        source = (folder_of(self.package) / name / "__init__.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.keyword) and node.arg == "allowed_modules":
                return (*ast.literal_eval(node.value), *self.handed_over)
        return (*self.always_allowed, *self.handed_over)


NO_COURSE = Course("")


def folder_of(package: str) -> Path:
    """The folder of a package, which need not be imported yet."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise LookupError(f"there is no package `{package}` in {os.getcwd()} or on Python's path")
    return Path(found.submodule_search_locations[0])


def _has(package: str, file: PurePosixPath) -> bool:
    """Whether there is a file in a package, if that is here at all."""
    try:
        return folder_of(package).joinpath(file).is_file()
    except LookupError:
        return False


def course_named(package: str) -> Course:
    """The course of a package.

    Raises:
        LookupError: there is no package of that name.
    """
    folder_of(package)
    return importlib.import_module(package).COURSE


def course() -> Course:
    """The course that a person means who starts a program here.

    Raises:
        LookupError: there is no package of that name.
    """
    return course_named(os.environ.get("AUTOGRADER_COURSE", USUAL))


def known() -> list[str]:
    """See `Course.known`."""
    return course().known()


def load(name: str) -> Assignment:
    """See `Course.load`."""
    return course().load(name)


def allowed_modules(name: str) -> tuple[str, ...]:
    """See `Course.allowed_modules`."""
    return course().allowed_modules(name)
