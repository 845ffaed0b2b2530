"""A reader works on copies that no update of the course overwrites."""

import importlib.util

import pytest

from tests.sample_class import ROOT

specification = importlib.util.spec_from_file_location("lab", ROOT / "tools" / "lab.py")
lab = importlib.util.module_from_spec(specification)
specification.loader.exec_module(lab)


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    for name in ("lectures/01.ipynb", "exercises/a1/a1.ipynb", "figures/f.svg", "figures/make_f.py",
                 "solutions/a1/a1.ipynb", "nbgrader_config.py", "course_map.md"):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"first {name}")
    return folder


def test_the_first_use_copies_what_a_reader_needs_and_no_answers(course, tmp_path):
    workspace = tmp_path / "workspace"
    assert lab.prepare_workspace(course, workspace) == []
    there = {str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file()}
    assert there == {
        ".copied.json", "lectures/01.ipynb", "exercises/a1/a1.ipynb", "figures/f.svg",
        "nbgrader_config.py", "course_map.md",
    }  # fmt: skip


def test_an_update_never_overwrites_a_notebook(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    (workspace / "exercises/a1/a1.ipynb").write_text("my answer")
    (course / "exercises/a1/a1.ipynb").write_text("second")
    (course / "lectures/02.ipynb").write_text("new")
    news = lab.prepare_workspace(course, workspace)
    assert (workspace / "exercises/a1/a1.ipynb").read_text() == "my answer"
    assert (workspace / "lectures/02.ipynb").read_text() == "new"
    assert len(news) == 1
    assert "exercises/a1/a1.ipynb is newer in the course than your copy" in news[0]


def test_nothing_is_said_when_nothing_changed(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    (workspace / "exercises/a1/a1.ipynb").write_text("my answer")
    assert lab.prepare_workspace(course, workspace) == []


def test_a_renamed_copy_makes_room_for_the_new_one(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    (course / "lectures/01.ipynb").write_text("second")
    (workspace / "lectures/01.ipynb").rename(workspace / "lectures/01_mine.ipynb")
    assert lab.prepare_workspace(course, workspace) == []
    assert (workspace / "lectures/01.ipynb").read_text() == "second"
    assert (workspace / "lectures/01_mine.ipynb").read_text() == "first lectures/01.ipynb"
