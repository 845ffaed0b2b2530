"""A figure comes out the same at every draw, and only the figures that were asked for are drawn."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.sample_class import ROOT

FIGURES = sorted(path.stem.removeprefix("make_") for path in ROOT.glob("figures/make_*.py"))
specification = importlib.util.spec_from_file_location("style", ROOT / "figures" / "style.py")
style = importlib.util.module_from_spec(specification)
specification.loader.exec_module(style)


def draw(name, folder, hash_seed):
    """The bytes of a figure that a fresh process draws in a folder of its own."""
    folder.mkdir()
    for script in ("style.py", f"make_{name}.py"):
        shutil.copy(ROOT / "figures" / script, folder / script)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    script = str(folder / f"make_{name}.py")
    subprocess.run([sys.executable, script], env=environment, check=True, cwd=folder.parent)
    return (folder / f"{name}.svg").read_bytes()


@pytest.mark.parametrize("name", ["norm_axes", "words_to_context"])
def test_a_figure_is_drawn_byte_for_byte_the_same(name, tmp_path):
    assert draw(name, tmp_path / "one", "1") == draw(name, tmp_path / "other", "2")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_holds_no_date_and_no_more_digits_than_machines_agree_on(name):
    svg = (ROOT / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    assert "dc:date" not in svg
    drawn = re.sub(r"<!--.*?-->|scale\([^)]*\)", "", svg, flags=re.DOTALL)
    assert re.findall(r"\d\.\d{4,}", drawn) == [], f"run `make figures ONLY={name}`"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_follows_the_theme_of_the_page(name):
    svg = (ROOT / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    sheet, body = svg.split("</style>", 1)
    assert "@media (prefers-color-scheme: dark)" in sheet
    for part in ("paper", "ink"):
        assert f"var(--{part})" in body, f"run `make figures ONLY={name}`"
    # a letter that was given no colour stays black, and cannot be read on a dark page
    letters = re.findall(r'<g id="text_\d+">\s*(?:<!--.*?-->\s*)?<g([^>]*)>', body, re.DOTALL)
    assert letters
    assert all("var(--" in attributes for attributes in letters)


def test_coordinates_are_rounded_and_nothing_else():
    drawn = (
        '<!-- 0.95261 --><use transform="translate(12.34567 -0.00001) scale(0.015625)" x="7.5"/>'
    )
    assert style.rounded(drawn) == (
        '<!-- 0.95261 --><use transform="translate(12.346 0) scale(0.015625)" x="7.5"/>'
    )


def planned(*arguments):
    """What make would run."""
    make = ["make", "--dry-run", "--always-make", *arguments]
    return subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)


def drawn_by(*arguments):
    return re.findall(r"figures/make_(\w+)\.py", planned(*arguments).stdout)


def test_a_build_of_one_notebook_draws_no_figure():
    assert drawn_by("build", "ONLY=02_basic_self_attention") == []
    assert "sources/build.py 02_basic_self_attention" in planned(
        "build", "ONLY=02_basic_self_attention"
    ).stdout.replace("  ", " ")
    assert sorted(drawn_by("build")) == FIGURES


def test_one_figure_can_be_drawn_by_itself():
    assert drawn_by("figures", "ONLY=soft_lookup") == ["soft_lookup"]
    assert sorted(drawn_by("figures")) == FIGURES


def test_a_figure_that_is_not_there_is_named():
    assert "there is no figures/make_nonsense.py" in planned("figures", "ONLY=nonsense").stderr
