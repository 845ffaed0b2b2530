"""A figure comes out the same at every draw, and only the figures that were asked for are drawn."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest
import torch

from course_utils import transformer
from lecture_kit import data
from lecture_kit.trained import translators
from tests.sample_class import ROOT

FIGURES = sorted(path.stem.removeprefix("make_") for path in ROOT.glob("figures/make_*.py"))
WRITTEN = ("hero", "feedback_map")  # as text, and not drawn by matplotlib
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


@pytest.mark.long
@pytest.mark.parametrize("name", ["norm_axes", "words_to_context", "hero", "feedback_map"])
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
    before = body.partition("<text ")[0] if name in WRITTEN else ""
    letters += [before.rpartition("<g fill=")[2]] if before else []
    assert letters
    assert all("var(--" in attributes for attributes in letters)


HERO = (ROOT / "figures" / "hero.svg").read_text(encoding="utf-8")


def test_the_moving_picture_shows_the_translation_of_the_recorded_translator():
    german, english = re.search("<title>(.*) → (.*)</title>", HERO).groups()
    assert translators.recorded().translate(german) == english
    assert re.findall(r"<text[^>]*>([^<]*)</text>", HERO) == [*german.split(), *english.split()]


def test_its_lines_are_as_wide_as_the_weights_of_cross_attention():
    german, english = re.search("<title>(.*) → (.*)</title>", HERO).groups()
    asked = translators.recorded()
    batch = data.collate([data.Pair(german, english)], asked.german, asked.english)
    with torch.no_grad():
        maps = transformer.attention_maps(asked.model, batch.source, batch.target[:, :-1])["cross"]
    rows = maps[-1][0].mean(dim=0)  # (T, S), the ends of both sentences included
    for t, _ in enumerate(english.split()):
        group = re.search(rf'<g class="l l{t}">(.*?)</g>', HERO)[1]
        widths = [float(width) for width in re.findall(r'stroke-width="([\d.]+)"', group)]
        weights = [24 * float(weight) for weight in rows[t, :-1] if weight >= 0.02]
        assert widths == pytest.approx(weights, abs=0.06)


def test_it_moves_only_where_the_reader_allows_it_and_comes_to_rest_complete():
    sheet = HERO[HERO.index("<style>text") : HERO.rindex("</style>")]
    at_rest, moving = sheet.split("@media (prefers-reduced-motion: no-preference)")
    assert "animation" not in at_rest and "opacity:0}" not in at_rest
    words = len(re.search("<title>.* → (.*)</title>", HERO)[1].split())
    for t in range(words):
        assert f".w{t}{{animation:" in moving and f".l{t}{{animation:" in moving
        assert f'class="w{t}"' in HERO and f'class="l l{t}"' in HERO


def test_readme_begins_with_it_and_says_in_words_what_both_pictures_show():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[([^\]]+)\]\(figures/(\w+)\.svg\)", readme)
    assert [name for _, name in shown] == ["hero", "feedback_map"]
    assert all(len(alt.split()) >= 15 for alt, _ in shown)
    assert readme.index("hero.svg") < readme.index("## ")


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
