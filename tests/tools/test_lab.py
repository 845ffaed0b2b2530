"""A reader works on copies that no update of the course overwrites."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from ipykernel.ipkernel import IPythonKernel
from jupyterlab.labapp import LabApp
from nbformat.sign import NotebookNotary

from tests.sample_class import ROOT

specification = importlib.util.spec_from_file_location("lab", ROOT / "tools" / "lab.py")
lab = importlib.util.module_from_spec(specification)
specification.loader.exec_module(lab)


@pytest.fixture(autouse=True)
def own_signatures(tmp_path, monkeypatch):
    """What a test signs is trusted by nobody else."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    for name in ("lectures/01.ipynb", "exercises/a1/a1.ipynb", "figures/f.svg", "figures/make_f.py",
                 "solutions/a1/a1.ipynb", "nbgrader_config.py", "course_map.md",
                 "docs/glossary.md", "docs/instructors.md"):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, f"first {name}")
    return folder


def write(path, text):
    """A file that holds this text, or a notebook whose one cell does."""
    if path.suffix != ".ipynb":
        path.write_text(text)
    else:
        cell = nbformat.v4.new_markdown_cell(text, id="only")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)


def text_of(path):
    return nbformat.read(path, as_version=4).cells[0].source


def test_the_first_use_copies_what_a_reader_needs_and_no_answers(course, tmp_path):
    workspace = tmp_path / "workspace"
    assert lab.prepare_workspace(course, workspace) == []
    there = {str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file()}
    assert there == {
        ".copied.json", "lectures/01.ipynb", "exercises/a1/a1.ipynb", "figures/f.svg",
        "nbgrader_config.py", "course_map.md", "docs/glossary.md",
    }  # fmt: skip


def test_news_come_in_the_order_of_the_course_map(course, tmp_path):
    names = ("a1", "a2", "a10")
    (course / "course_map.md").write_text("\n".join(f"[{name}]({name}.ipynb)" for name in names))
    workspace = tmp_path / "workspace"
    for text in ("first", "second"):
        for name in names:
            (course / f"exercises/{name}").mkdir(exist_ok=True)
            write(course / f"exercises/{name}/{name}.ipynb", text)
        news = lab.prepare_workspace(course, workspace)
        for name in names:
            (workspace / f"exercises/{name}/{name}.ipynb").write_text("my answer")
    assert [sentence.partition(" ")[0] for sentence in news] == [
        f"exercises/{name}/{name}.ipynb" for name in names
    ]


def test_an_update_never_overwrites_a_notebook(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    (workspace / "exercises/a1/a1.ipynb").write_text("my answer")
    write(course / "exercises/a1/a1.ipynb", "second")
    write(course / "lectures/02.ipynb", "new")
    news = lab.prepare_workspace(course, workspace)
    assert (workspace / "exercises/a1/a1.ipynb").read_text() == "my answer"
    assert text_of(workspace / "lectures/02.ipynb") == "new"
    assert len(news) == 1
    assert "exercises/a1/a1.ipynb is newer in the course than your copy" in news[0]
    guide = (ROOT / "docs" / "students.md").read_text(encoding="utf-8")
    quoted = news[0].replace("a1/a1", "a2_self_attention/a2_self_attention")
    assert quoted in " ".join(guide.split())


def test_nothing_is_said_when_nothing_changed(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    (workspace / "exercises/a1/a1.ipynb").write_text("my answer")
    assert lab.prepare_workspace(course, workspace) == []


def test_a_renamed_copy_makes_room_for_the_new_one(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    write(course / "lectures/01.ipynb", "second")
    (workspace / "lectures/01.ipynb").rename(workspace / "lectures/01_mine.ipynb")
    assert lab.prepare_workspace(course, workspace) == []
    assert text_of(workspace / "lectures/01.ipynb") == "second"
    assert text_of(workspace / "lectures/01_mine.ipynb") == "first lectures/01.ipynb"


def test_what_a_reader_opens_is_trusted_and_described_as_its_kernel_does(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    notebook = nbformat.read(workspace / "lectures/01.ipynb", as_version=4)
    assert notebook.metadata.language_info == IPythonKernel.language_info
    assert NotebookNotary().check_signature(notebook)
    notebook.cells[0].source = "changed by somebody else"
    assert not NotebookNotary().check_signature(notebook)


def test_a_copy_as_the_course_has_it_is_made_anew(course, tmp_path):
    workspace = tmp_path / "workspace"
    lab.prepare_workspace(course, workspace)
    shutil.copy(course / "lectures/01.ipynb", workspace / "lectures/01.ipynb")
    assert lab.prepare_workspace(course, workspace) == []
    copy = nbformat.read(workspace / "lectures/01.ipynb", as_version=4)
    assert "language_info" in copy.metadata


PLUGINS = {
    f"@jupyter/nbgrader:{name}"
    for name in ("assignment-list", "course-list", "create-assignment", "formgrader", "menu")
}


def settings_of(author):
    """Plugins of JupyterLab that are off, and extensions of the server that are on."""
    asks = (
        "import json\n"
        "from jupyter_core.paths import jupyter_config_path\n"
        "from jupyter_server.extension.config import ExtensionConfigManager\n"
        "from jupyterlab_server.config import get_page_config\n"
        "off = get_page_config([])['disabledExtensions']\n"
        "manager = ExtensionConfigManager(read_config_path=jupyter_config_path())\n"
        "on = manager.get_jpserver_extensions()\n"
        "print(json.dumps([off, [name for name in on if on[name]]]))\n"
    )
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": lab.config_path(author)}
    done = subprocess.run(
        [sys.executable, "-c", asks], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.long
def test_readers_can_validate_but_see_no_menu_for_instructors():
    off, on = settings_of(author=False)
    assert set(off) >= PLUGINS
    extensions = {name.rpartition(".")[2] for name in on if name.startswith("nbgrader")}
    assert extensions == {"validate_assignment"}


@pytest.mark.parametrize(("author", "listed"), [(False, False), (True, True)])
def test_what_a_reader_never_opens_is_not_listed(tmp_path, author, listed):
    asks = (
        "from jupyter_server.serverapp import ServerApp\n"
        f"app = ServerApp(root_dir={str(tmp_path)!r})\n"
        "app.load_config_file()\n"
        "app.update_config(app.config)\n"
        "manager = app.contents_manager_class(parent=app)\n"
        "assert not manager.should_list('__pycache__')\n"
        "print(manager.should_list('nbgrader_config.py'))\n"
    )
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": lab.config_path(author)}
    done = subprocess.run(
        [sys.executable, "-c", asks], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(listed)


def test_authors_have_all_of_nbgrader():
    off, on = settings_of(author=True)
    assert not PLUGINS & set(off)
    assert "nbgrader.server_extensions.formgrader" in on


def test_what_readers_do_not_see_is_what_nbgrader_calls_it():
    folder = Path(sys.prefix, "share/jupyter/labextensions/@jupyter/nbgrader/static")
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.js"))
    there = set(re.findall(r'"(@jupyter/nbgrader:[\w-]+)"', code))
    assert there == PLUGINS | {"@jupyter/nbgrader:validate-assignment"}


def test_an_author_does_not_reopen_the_tabs_of_a_reader(tmp_path):
    def opened(author, folder):
        told = (flag.removeprefix("--LabApp.").split("=") for flag in lab.flags_for(folder, author))
        return dict(told)

    reader, author = opened(False, tmp_path / "workspace"), opened(True, tmp_path)
    assert reader["workspaces_dir"].startswith(f"{tmp_path}/workspace/")
    assert author["workspaces_dir"].startswith(f"{tmp_path}/.")
    assert "user_settings_dir" in author.keys() - reader.keys()
    assert {"workspaces_dir", "user_settings_dir"} <= set(LabApp.class_trait_names(config=True))
