"""What is sent in place of an earlier part does what our reference does, and tells nothing else."""

import ast

import pytest

from assignments import known, load
from autograder.checks.decide import decide
from autograder.checks.follow_through import source_of
from autograder.probe.lent import lent
from autograder.probe.probe import answer

# (assignment, a part, an earlier one that may stand in for the student's)
CALLED = [
    (name, part.name, earlier)
    for name in known()
    for part in load(name).parts
    for earlier in part.may_call
]
STAND_INS = sorted({(name, earlier) for name, _, earlier in CALLED})


def source(assignment, name):
    loaded = load(assignment)
    return source_of(loaded.part(name).reference, loaded.course.libraries)


def defined_in(text):
    """Names of the functions and classes that stand at the left of a source."""
    kinds = ast.FunctionDef | ast.ClassDef
    return {node.name for node in ast.parse(text).body if isinstance(node, kinds)}


def test_parts_build_on_earlier_ones_alone():
    for name in known():
        parts = [part.name for part in load(name).parts]
        for assignment, part, earlier in CALLED:
            if assignment == name:
                assert parts.index(earlier) < parts.index(part)
    assert len(STAND_INS) > 10


@pytest.mark.parametrize(("assignment", "name"), STAND_INS)
def test_a_stand_in_earns_every_point_by_itself(assignment, name):
    namespace = {name: lent(name, source(assignment, name), str)}
    part = load(assignment).part(name)
    verdict = decide(load(assignment), part, lambda message: answer(message, namespace), [""])
    assert verdict.earned == part.points, verdict


@pytest.mark.parametrize(("assignment", "name"), STAND_INS)
def test_a_stand_in_imports_the_outside_world_alone(assignment, name):
    text = source(assignment, name)
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(node.module.split(".")[0])
    assert modules <= {"torch", "numpy", "math", "collections", "__future__"}
    assert "course_utils" not in text
    assert "autograder" not in text


@pytest.mark.parametrize(("assignment", "part", "earlier"), CALLED)
def test_a_stand_in_does_not_bring_the_answer_that_is_asked_for(assignment, part, earlier):
    parts = [one.name for one in load(assignment).parts]
    later = set(parts[parts.index(part) :])
    assert not defined_in(source(assignment, earlier)) & later


@pytest.mark.parametrize(("assignment", "name"), STAND_INS)
def test_a_stand_in_brings_no_other_part_but_those_it_is_built_on(assignment, name):
    parts = {part.name: part for part in load(assignment).parts}
    needed, todo = set(), [name]
    while todo:
        one = todo.pop()
        needed.add(one)
        todo += parts[one].may_call
    assert defined_in(source(assignment, name)) & set(parts) <= needed


def test_a_source_is_the_reference_and_what_it_needs_each_once():
    text = source("a2_self_attention", "basic_self_attention")
    assert "def basic_self_attention" in text
    assert "def self_attention" not in text
    lines = text.splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert len(imports) == len(set(imports))
    assert len(defined_in(text)) == text.count("\ndef ") + text.startswith("def ")
