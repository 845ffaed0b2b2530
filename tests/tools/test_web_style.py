"""Scripts and style sheets are held to one style, wherever they stand, and mistakes in them are named."""

import shutil
import subprocess

import pytest

from tests.sample_class import ROOT
from tools import web_style

CALLS = "document.body.textContent = {};\n"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder that is laid out like the course, with no script in it yet."""
    shutil.copy(ROOT / ".prettierrc.toml", tmp_path)
    (tmp_path / "lecture_kit/live").mkdir(parents=True)
    monkeypatch.setattr(web_style, "ROOT", tmp_path)
    return tmp_path / "lecture_kit/live"


def test_no_script_stands_where_nobody_looks():
    listed = subprocess.run(
        ["git", "ls-files", "*.js", "*.mjs", "*.css"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert len(listed) >= 10
    for name in listed:
        assert name.startswith(("lecture_kit/", "docs/")), f"add {name} to web_style.FILES"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("view.js", CALLS.format("totl([1])"), "'totl' is not defined"),
        ("view.js", "function start() {\n  const late = 1;\n}\nstart();\n", "'late' is assigned"),
        ("view.js", CALLS.format("  total([1])"), "[warn] lecture_kit/live/view.js"),
        ("view.css", "p {\n  colour: red;\n}\n", "Unknown property 'colour'"),
        ("view.css", "p { color: red }\n", "[warn] lecture_kit/live/view.css"),
    ],
)
def test_a_mistake_is_named(course, capfd, name, text, said):
    (course / name).write_text(text)
    with pytest.raises(SystemExit, match="are to be mended"):
        web_style.main([])
    printed = capfd.readouterr()
    assert said in printed.out + printed.err


def test_the_style_is_mended_and_names_of_the_common_script_are_known(course):
    (course / "view.js").write_text('document.title = total( [ 1 ] ) + "!"')
    web_style.main(["--mend"])
    assert (course / "view.js").read_text() == "document.title = total([1]) + '!';\n"
    web_style.main([])
