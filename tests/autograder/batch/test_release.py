"""An assignment is released once, and again only when that would give something else, or it is gone."""

import contextlib
import shutil
import sqlite3
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.batch import regrade as module
from autograder.batch.course import open_assignment
from autograder.batch.entries import Entries
from autograder.batch.regrade import Regrade
from autograder.batch.settings import Settings
from tests.sample_class import ASSIGNMENT, new_course

NOBODY = SimpleNamespace(take_held=lambda *_, **__: None, rows={})


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A course folder of which a first grading has released the assignment; one student has an entry."""
    folder = tmp_path_factory.mktemp("released") / "course"
    new_course(folder)
    (folder / "grading" / ASSIGNMENT).mkdir(parents=True)
    grade(folder)
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        Entries(gradebook, ASSIGNMENT).of(["ada"])
        gradebook.db.commit()
    return folder


@pytest.fixture
def course(released, tmp_path, monkeypatch):
    """A copy of it, moved elsewhere, and the releases that are made there."""
    shutil.copytree(released, tmp_path / "course")
    made = []

    def noted(name):
        kind = getattr(module, name)
        return lambda *arguments: made.append(name) or kind(*arguments)

    for name in ("release", "cells_of_source"):
        monkeypatch.setattr(module, name, noted(name))
    return tmp_path / "course", made


def grade(folder, **settings):
    api = open_assignment(folder, ASSIGNMENT)
    kept = folder / "grading" / ASSIGNMENT
    with Gradebook(api.coursedir.db_url) as gradebook:
        regrade = Regrade(api, folder, ASSIGNMENT, gradebook, kept, Settings(**settings))
        regrade.prepare()
        regrade.finish(NOBODY)
        return regrade.cells


def test_what_is_released_already_is_not_released_again(course):
    folder, made = course
    cells = grade(folder)
    assert made == [] and {cell.name for cell in cells} >= {"attention_weights"}


def drop_release(folder):
    shutil.rmtree(folder / "exercises")


def edit_release(folder):
    (folder / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").write_text("{}", encoding="ascii")


def change_source(folder):
    path = folder / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\n\nMore."
    nbformat.write(notebook, path)


def add_data(folder):
    (folder / "solutions" / ASSIGNMENT / "data.csv").write_text("1,2", encoding="ascii")


def change_config(folder):
    with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write('\nc.ClearSolutions.code_stub = {"python": "..."}\n')


def change_gradebook(folder):
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as gradebook:
        gradebook.execute("update source_cell set source = 'pass'")
        gradebook.commit()


CHANGES = (drop_release, edit_release, change_source, add_data, change_config, change_gradebook)


@pytest.mark.parametrize("change", CHANGES)
def test_where_something_else_would_be_released_it_is(course, change):
    folder, made = course
    change(folder)
    grade(folder)
    assert made == ["cells_of_source", "release"]
    assert (folder / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").stat().st_size > 1000
    grade(folder)
    assert made == ["cells_of_source", "release"], "and then no more"


def test_where_the_gradebook_is_gone_it_is_made_at_once(course):
    folder, made = course
    (folder / "gradebook.db").unlink()
    grade(folder)
    assert made == ["release"]


def test_a_trial_notes_nothing(course):
    folder, made = course
    drop_release(folder)
    before = (folder / "grading" / ASSIGNMENT / "released.txt").read_text(encoding="ascii")
    grade(folder, dry_run=True)
    assert made == ["cells_of_source"] and not (folder / "exercises").exists()
    assert (folder / "grading" / ASSIGNMENT / "released.txt").read_text(encoding="ascii") == before
