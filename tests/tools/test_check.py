"""What `make check` runs for a change, and what it says where there is no such name."""

import pytest

from tools.check import commands_for, main

EXACT = "a5_multi_head_attention"


def words(name):
    return [" ".join(command) for command in commands_for(name)]


@pytest.mark.parametrize("name", ["a5", EXACT])
def test_an_assignment_is_built_and_its_points_are_tried(name):
    said = words(name)
    assert f"sources/build.py {EXACT}" in said[0]
    assert any(f"{EXACT} or split_heads or merge_heads" in command for command in said)
    assert any(f"--nbval solutions/{EXACT}" in command for command in said)


def test_a_lecture_is_built_executed_and_read():
    said = words("02")
    assert "sources/build.py 02_basic_self_attention" in said[0]
    assert any("tests/build/test_prose.py" in command for command in said)
    assert any("--nbval lectures/02_basic_self_attention.ipynb" in command for command in said)


def test_a_figure_is_drawn_and_its_text_is_tried():
    said = words("soft_lookup")
    assert "figures/make_soft_lookup.py" in said[0]
    assert any("tests/build/test_figures.py" in command for command in said)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("a5_multihead_attention", "Did you mean a5_multi_head_attention?"), ("zzz", "found 'zzz'")],
)
def test_a_name_that_is_not_there_is_refused(name, meant, capsys):
    assert main([name]) == 2
    assert meant in capsys.readouterr().err
