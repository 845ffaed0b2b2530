"""What students hand in may be odd in any way: it is read, put right, or refused in words."""

import codecs
import json
import os
import socket
import stat

import nbformat
import pytest

from autograder.grade import submission
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.submission import notebook_in, read_folder, read_text

NAME = "a2_self_attention"
ONE_CELL = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}


@pytest.fixture
def folder(tmp_path):
    """A student's folder, with a notebook in it."""
    folder = tmp_path / "ada" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_text("{}")
    return folder


def notebook(*cells, **changes):
    """A notebook's file, as text."""
    return json.dumps({**ONE_CELL, "cells": cells, **changes})


def code(source="x = 1", **changes):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **changes}


def the_cell(**changes):
    """What becomes of a notebook's only cell."""
    (cell,) = notebook_in(notebook({**code(), **changes})).cells
    return cell


# ---------------------------------------------------------------------------------- a folder


def test_a_folder_is_its_notebook_and_the_files_beside_it(folder):
    (folder / "data").mkdir()
    (folder / "data" / "words.txt").write_bytes(b"\xff\x00")
    (folder / "helper.py").write_text("x = 1")
    (folder / "draft.ipynb").write_text("another notebook")
    found = read_folder(folder, NAME)
    assert found.notebook == "{}"
    assert found.files == {"data/words.txt": b"\xff\x00", "helper.py": b"x = 1"}
    assert found.left_out == 0


def test_the_only_notebook_is_taken_under_whatever_name(folder):
    (folder / f"{NAME}.ipynb").rename(folder / "my answers (2).ipynb")
    (folder / "notes.txt").touch()
    assert read_folder(folder, NAME).notebook == "{}"
    (folder / "draft.ipynb").write_text("another notebook")
    with pytest.raises(InvalidSubmission, match="rename it"):
        read_folder(folder, NAME)
    (folder / f"{NAME}.ipynb").write_text("[]")
    assert read_folder(folder, NAME).notebook == "[]"


def test_a_link_is_not_the_only_notebook(folder, tmp_path):
    (folder / f"{NAME}.ipynb").rename(tmp_path / "elsewhere.ipynb")
    (folder / "mine.ipynb").symlink_to(tmp_path / "elsewhere.ipynb")
    with pytest.raises(InvalidSubmission, match="expected a file named"):
        read_folder(folder, NAME)


@pytest.mark.parametrize("level", ["ada", NAME])
def test_a_folder_that_is_a_link_or_a_file_is_not_followed(tmp_path, folder, level):
    place = {"ada": folder.parent, NAME: folder}[level]
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(
        InvalidSubmission, match=f"expected a folder {level}, found a link or a file"
    ):
        read_folder(folder, NAME)
    place.unlink()
    place.write_text("no folder")
    with pytest.raises(InvalidSubmission, match=f"expected a folder {level}"):
        read_folder(folder, NAME)


def test_links_pipes_sockets_and_devices_are_no_files(folder, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "grades.csv").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret" / "grades.csv")
    (folder / "link_to_folder").symlink_to(tmp_path / "secret")
    (folder / "circle").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    if os.geteuid() == 0:
        os.mknod(folder / "zeros", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(folder)  # a socket's path must be short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        found = read_folder(folder, NAME)
    assert found.files == {}


def test_a_hard_link_and_an_empty_file_are_files(folder):
    (folder / "one.txt").touch()
    os.link(folder / "one.txt", folder / "two.txt")
    assert read_folder(folder, NAME).files == {"one.txt": b"", "two.txt": b""}


def test_folders_are_entered_up_to_a_depth(folder):
    place = folder
    for number in range(50):
        place = place / "d"
        place.mkdir()
        (place / f"{number}.txt").touch()
    found = read_folder(folder, NAME)
    depths = {name.count("/") + 1 for name in found.files}
    assert depths == set(range(2, submission.DEEPEST_FOLDER + 1))
    assert found.left_out == 1, (
        "the first that is too deep is counted, those below are not looked at"
    )


def test_of_many_files_some_are_taken_and_the_rest_counted(folder):
    for number in range(submission.MOST_FILES + 20):
        (folder / f"{number:04}.txt").touch()
    found = read_folder(folder, NAME)
    assert len(found.files) == submission.MOST_FILES
    assert found.left_out == 20


def test_of_very_many_files_and_folders_not_all_are_looked_at(folder):
    for number in range(40):
        (folder / f"d{number}").mkdir()
        for file in range(100):
            (folder / f"d{number}" / f"{file}.txt").touch()
    found = read_folder(folder, NAME)
    assert len(found.files) == submission.MOST_FILES
    assert found.left_out <= 4 * submission.MOST_FILES


def test_files_are_taken_up_to_a_size_in_all(folder, monkeypatch):
    monkeypatch.setattr(submission, "LARGEST_FILES", 1000)
    for name, size in {"a": 600, "b": 600, "c": 400, "d": 1}.items():
        (folder / name).write_bytes(bytes(size))
    found = read_folder(folder, NAME)
    assert sorted(found.files) == ["a", "c"]
    assert found.left_out == 2


def test_a_file_whose_size_is_a_hole_is_not_read(folder):
    with (folder / "hole").open("wb") as file:
        file.truncate(1 << 40)
    found = read_folder(folder, NAME)
    assert (found.files, found.left_out) == ({}, 1)


def test_names_that_cannot_travel_are_left_out(folder):
    (folder / ("x" * 250)).touch()
    with open(os.path.join(os.fsencode(folder), b"no text \xff"), "wb"):
        pass
    (folder / "ω.txt").touch()
    found = read_folder(folder, NAME)
    assert sorted(found.files) == ["ω.txt"]
    assert found.left_out == 2


# ------------------------------------------------------------------------ the notebook's file


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)  # fmt: skip
def test_a_mark_at_the_beginning_says_how_the_text_is_written(tmp_path, mark, encoding):
    path = tmp_path / "x.ipynb"
    text = notebook(code("print('ω → ∂ 😀')"))
    path.write_bytes(mark + text.encode(encoding))
    assert read_text(path) == text
    assert notebook_in(read_text(path)).cells[0].source == "print('ω → ∂ 😀')"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.touch(), "the file is empty"),
        (lambda path: path.mkdir(), "is not a file"),
        (os.mkfifo, "is not a file"),
        (lambda path: path.symlink_to("/etc/hostname"), "is a link to somewhere else"),
        (lambda path: path.symlink_to("nowhere"), "is a link to somewhere else"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is not UTF-8 text"),
        (lambda path: path.write_bytes(b"caf\xe9"), "is not UTF-8 text"),
        (lambda path: path.write_bytes(bytes((16 << 20) + 1)), "has 16 MiB, and is not JSON"),
        (lambda path: None, "the folder is empty"),
        (lambda path: path.with_name("notes.txt").touch(), "found only notes.txt"),
        (lambda path: path.with_name("X.ipynb").touch(), r"found X\.ipynb: rename it"),
        (lambda path: path.with_name("\x1b[2J.ipynb").touch(), r"found �\[2J\.ipynb"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_remedy(tmp_path, make, message):
    path = tmp_path / "x.ipynb"
    make(path)
    with pytest.raises(InvalidSubmission, match=message):
        read_text(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_opened_is_named(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(InvalidSubmission, match="cannot be opened"):
        read_text(path)


# ------------------------------------------------------------------------------ the notebook


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("def f(x): return x", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[]", "no list of cells"),
        ("null", "no list of cells"),
        ('"cells"', "no list of cells"),
        ("{}", "no list of cells"),
        (notebook()[:-1], "not JSON"),
        ('{"cells": {"0": {}}}', "no list of cells"),
        ('{"cells": null, "nbformat": 4}', "no list of cells"),
        ('{"nbformat": 3, "worksheets": 7}', "format 3, and it cannot be converted"),
        ('{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": []}]}]}', "not a valid notebook"),
        (notebook(*[{}] * 2001), "2001 cells, more than 2000"),
    ],
)
def test_what_is_no_notebook_is_refused_in_words(text, message):
    with pytest.raises(InvalidSubmission, match=message):
        notebook_in(text)


def test_marks_that_merging_has_left_are_named_with_their_line():
    text = '{\n "cells": [\n<<<<<<< HEAD\n  {},\n=======\n>>>>>>> other\n ]\n}'
    with pytest.raises(
        InvalidSubmission, match="not JSON, since line 3 begins with `<<<<<<<`"
    ) as told:
        notebook_in(text)
    assert told.value.no_json
    with pytest.raises(InvalidSubmission, match=r"the file is not JSON\. Ask for it again"):
        notebook_in('{"a <<<<<<< b": }')


@pytest.mark.parametrize("number", [4, 4.0, "4", None, -1, 5, 10**30, True, [4], {"4": 4}])
def test_the_number_of_the_format_may_be_anything_where_there_are_cells(number):
    for name in ("nbformat", "nbformat_minor"):
        made = notebook_in(notebook(code(), **{name: number}))
        nbformat.validate(made)
        assert [cell.source for cell in made.cells] == ["x = 1"]


def test_a_notebook_of_format_3_is_converted():
    cell = {"cell_type": "code", "input": ["y = 2\n", "y"], "outputs": [], "language": "python"}
    heading = {"cell_type": "heading", "level": 2, "source": "Mine"}
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [{"cells": [heading, cell]}],
    }
    made = notebook_in(json.dumps(old))
    nbformat.validate(made)
    assert [cell.cell_type for cell in made.cells] == ["markdown", "code"]
    assert made.cells[1].source == "y = 2\ny"


@pytest.mark.parametrize("level", [10**9, -1, 0, 7, "5", 1.5, None, [], {}])
def test_a_heading_of_format_3_has_a_level_that_there_is(level):
    heading = {"cell_type": "heading", "level": level, "source": "Mine"}
    sheets = [{"cells": [heading]}]
    made = notebook_in(
        json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": sheets})
    )
    assert [cell.source for cell in made.cells] == ["# Mine"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x", "x"),
        (["a\n", "b"], "a\nb"),
        ([], ""),
        (None, ""),
        (7, ""),
        ({"a": 1}, ""),
        (["a", None, 3, ["b"], "c"], "ac"),
        ("\ud800", "?"),
        (["x\udfff", "y"], "x?y"),
    ],
)
def test_the_source_of_a_cell_is_text(source, text):
    assert the_cell(source=source).source == text


@pytest.mark.parametrize("cells", [[None], [1, "x", [], True], [[code()]]])
def test_what_is_no_cell_is_left_out(cells):
    assert notebook_in(notebook(*cells, code())).cells[-1].source == "x = 1"
    assert len(notebook_in(notebook(*cells, code())).cells) == 1


@pytest.mark.parametrize(
    "cell",
    [
        {},
        {"cell_type": "code"},
        {"cell_type": None, "source": "x"},
        {"cell_type": ["code"], "source": "x"},
        {"cell_type": "heading", "source": "x"},
        {"cell_type": "markdown", "source": "x", "outputs": [1], "execution_count": 3},
        code(metadata=None),
        code(metadata=[1]),
        code(metadata={"tags": 7, "nbgrader": "no"}),
        code(metadata={"nbgrader": {"grade_id": ["x"]}}),
        code(metadata={"nbgrader": {"grade_id": "x", "points": 100, "schema_version": "old"}}),
        code(outputs=None, execution_count="seven"),
        code(outputs=[{"output_type": "nonsense"}, 3]),
        code(attachments={"x": {"image/png": "AAAA"}}),
        code(id=7),
        code(id=""),
        code(id="has spaces"),
        code(id="x" * 65),
        code(unknown={"deep": [1, 2]}),
    ],
    ids=str,
)
def test_an_odd_cell_becomes_a_valid_one(cell):
    made = notebook_in(notebook(cell, cell, code()))
    nbformat.validate(made)
    assert len(made.cells) == 3
    assert len({cell.id for cell in made.cells}) == 3


def test_of_a_cells_metadata_only_its_name_for_the_grader_stays():
    marks = {"grade_id": "check_x", "points": 100, "locked": False, "solution": True}
    cell = the_cell(metadata={"tags": ["skip-execution"], "nbgrader": marks, "collapsed": True})
    assert cell.metadata == {"nbgrader": {"grade_id": "check_x"}}


def test_ids_stay_where_they_can_and_are_each_others_never():
    made = notebook_in(
        notebook(code(id="a"), code(id="a"), code(), code(id="cell-2"), code(id="a"))
    )
    ids = [cell.id for cell in made.cells]
    assert ids[0] == "a"
    assert len(set(ids)) == 5
    nbformat.validate(made)


def test_outputs_and_counts_are_made_anew():
    shown = {"output_type": "stream", "name": "stdout", "text": "3 of 3 points"}
    cell = the_cell(outputs=[shown], execution_count=7)
    assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize(
    ("attachments", "kept"),
    [
        ({"x.png": {"image/png": "AAAA\n"}}, {"x.png": {"image/png": "AAAA\n"}}),
        ({"x": {"image/png": "AAAA"}, "y": {"text/html": "<b>"}}, {"x": {"image/png": "AAAA"}}),
        ({"x": {'image/png" onerror="steal()': "AAAA"}}, None),
        ({"x": {"image/png": "' onerror=steal()"}}, None),
        ({"x": {"image/svg+xml": "AAAA"}}, None),
        ({"x": {"image/png": ["AAAA"]}}, None),
        ({"x": "AAAA"}, None),
        (["x"], None),
        (None, None),
    ],
)  # fmt: skip
def test_attachments_are_pictures_or_nothing(attachments, kept):
    cell = the_cell(cell_type="markdown", source="![x](attachment:x)", attachments=attachments)
    assert cell.get("attachments") == kept
