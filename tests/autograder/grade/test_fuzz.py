"""Whatever a student's file, a kernel or a probe says: no error but the ones that are meant, and soon.

Each example of Hypothesis is a seed, from which many odd things are made.
"""

import copy
import json
import random
import socket
import time

import msgspec
import nbformat
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.msgpack import Ext
from nbformat import NotebookNode
from nbgrader.preprocessors import LimitOutput

from assignments import load
from autograder.checks.decide import decide
from autograder.checks.reply import observations_in
from autograder.grade.grading import graded_part
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.messages import ReleasedCell
from autograder.grade.outputs import FIELDS, Outputs
from autograder.grade.report import Restored
from autograder.grade.restore import restore
from autograder.grade.sanitize import Sanitize
from autograder.grade.submission import notebook_in
from autograder.probe.probe import answer
from autograder.probe.wire import LENGTH, MARK, WireError, decode, encode
from autograder.sandbox.channel import LENGTHS, Channel, ChannelClosed
from autograder.sandbox.messages import REPLIES, Reply
from tests.sample_class import ASSIGNMENT, ROOT, SUBMISSIONS, answers_in, filled_in

pytestmark = pytest.mark.long

RIGHT = answers_in(SUBMISSIONS / "right_matrices.py")
SLOWEST = 20.0  # seconds of processor time for a notebook that takes a fiftieth of one: it would go on for ever
A_BATCH = 100
seeds = st.integers(0, 2**64)
quick = settings(max_examples=100, derandomize=True, deadline=None, database=None)
thorough = settings(quick, max_examples=2_000)

TEXTS = (
    "", "x", "\ud800", "\0", "\x1b[31m", "<script>", "![a](b)", "$\\href{x}{y}$", "None", "code", "markdown",
    "check_self_attention", "self_attention", "nbgrader", "\u202e", "é", "x" * 300, "[" * 200, "(" * 300,
)  # fmt: skip
NUMBERS = (0, 1, -1, 4, 5, 1.5, 1e300, float("nan"), float("inf"), 10**30, True, False, None)
NAMES = (
    "cells", "metadata", "nbgrader", "grade_id", "points", "locked", "source", "id", "cell_type", "outputs",
    "execution_count", "attachments", "nbformat", "nbformat_minor", "data", "text", "name", "transient",
    "display_id", "traceback", "ename", "evalue", "image/png", "text/html", "text/plain", "status", "value",
)  # fmt: skip


def odd(draw, depth=3):
    """Any plain value."""
    kind = draw.randrange(8 if depth else 5)
    if kind < 3:
        return draw.choice(TEXTS)
    if kind < 5:
        return draw.choice(NUMBERS)
    if kind == 5:
        return [odd(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice(NAMES + TEXTS): odd(draw, depth - 1) for _ in range(draw.randrange(4))}


def nodes(tree):
    """(container, key) of everything in a tree."""
    todo, found = [tree], []
    while todo:
        one = todo.pop()
        keys = (
            list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        )
        for key in keys:
            found.append((one, key))
            todo.append(one[key])
    return found


def mutate(tree, draw, times):
    """Delete, replace, duplicate, retype or move parts of a tree, in place."""
    for _ in range(times):
        places = nodes(tree)
        if not places:
            return
        container, key = draw.choice(places)
        value = container[key]
        match draw.randrange(6):
            case 0:
                del container[key]
            case 1:
                container[key] = odd(draw)
            case 2 if isinstance(container, list):
                container.insert(key, copy.deepcopy(value))
            case 3:
                container[key] = draw.choice([[value], {"x": value}, str(value), None, repr(value)])
            case 4:
                other, name = draw.choice(places)
                if name in other if isinstance(other, dict) else name < len(other):
                    container[key] = copy.deepcopy(other[name])
            case _ if isinstance(container, dict):
                container[draw.choice(NAMES + TEXTS)] = odd(draw)


def is_a_tree(tree, most=20_000):
    """Whether it has an end, and one that is near."""
    number, todo = 0, [tree]
    while todo and number < most:
        one = todo.pop()
        number += 1
        todo += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return not todo


# ------------------------------------------------------------------------------ notebooks


def released():
    """The cells of the assignment as the gradebook would have them."""
    notebook = nbformat.read(ROOT / f"solutions/{ASSIGNMENT}/{ASSIGNMENT}.ipynb", as_version=4)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader")
        if marks:
            points = marks.get("points") if marks.get("grade") else None
            yield ReleasedCell(marks["grade_id"], cell.cell_type, cell.source, "", marks["locked"],
                               marks["solution"], points)  # fmt: skip


RELEASED = tuple(released())
HANDED_IN = json.loads(nbformat.writes(filled_in(RIGHT)))
HANDED_IN["cells"] = HANDED_IN["cells"][4:9]


def read(text):
    """As a job does, but for running it."""
    began = time.process_time()
    try:
        notebook = notebook_in(text)
    except InvalidSubmission as problem:
        assert str(problem)
        return False
    put_right = restore(notebook, RELEASED)
    assert isinstance(put_right, Restored)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            graded_part(cell.source)
    Sanitize().preprocess(notebook, {})
    nbformat.validate(notebook)
    json.dumps(notebook, ensure_ascii=False).encode()
    names = [
        cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata
    ]
    assert len(names) == len(set(names))
    assert {cell.name for cell in RELEASED if cell.locked} <= set(names)
    assert time.process_time() - began < SLOWEST
    return True


def notebooks(seed):
    """Texts that were a notebook once."""
    draw = random.Random(seed)
    for _ in range(A_BATCH):
        tree = copy.deepcopy(HANDED_IN)
        mutate(tree, draw, draw.choice((1, 1, 2, 2, 5, 10)))
        if not is_a_tree(tree):
            continue
        text = json.dumps(tree, ensure_ascii=draw.random() < 0.5)
        if draw.random() < 0.1:
            place = draw.randrange(len(text))
            text = text[:place] + draw.choice(TEXTS) + text[place + draw.randrange(9) :]
        yield text


def read_many(seed):
    for text in notebooks(seed):
        read(text)


@quick
@given(seeds)
def test_ten_thousand_odd_notebooks(seed):
    read_many(seed)


@pytest.mark.slow
@thorough
@given(seeds)
def test_two_hundred_thousand_odd_notebooks(seed):
    read_many(seed)


@quick
@given(st.text(), st.binary(max_size=2_000))
def test_what_never_was_a_notebook(text, data):
    read(text)
    read(data.decode("latin-1"))
    read('{"nbformat": 3, "worksheets": [' + text + "]}")


@quick
@given(seeds)
def test_odd_notebooks_of_the_old_format(seed):
    draw = random.Random(seed)
    cells = [
        {"cell_type": draw.choice(["code", "heading", "html"]), "input": "1", "level": 1}
        for _ in range(3)
    ]
    tree = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}
    mutate(tree, draw, draw.randrange(9))
    if is_a_tree(tree):
        read(json.dumps(tree))


# ------------------------------------------------------------------------------ kernels


@quick
@given(seeds)
def test_odd_frames(seed):
    draw = random.Random(seed)
    for _ in range(20):
        header = json.dumps(odd(draw)).encode()
        body = draw.randbytes(draw.randrange(50))
        data = LENGTHS.pack(len(header), len(body)) + header + body
        for _ in range(draw.randrange(4)):
            place = draw.randrange(len(data) + 1)
            data = (
                data[:place] + draw.randbytes(draw.randrange(9)) + data[place + draw.randrange(9) :]
            )
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(data)
            theirs.close()
            channel = Channel(ours, REPLIES)
            with pytest.raises(ChannelClosed):  # at the latest where nothing more comes
                while True:
                    found, beside = channel.receive()
                    assert isinstance(found, Reply) and isinstance(beside, bytes)


def output(draw):
    """An output, more or less."""
    kind = draw.choice([*FIELDS, "clear_output", "overflow", "status", ""])
    content = {
        "name": draw.choice(["stdout", "stderr", "x"]),
        "text": draw.choice(TEXTS),
        "data": {
            draw.choice(["text/plain", "text/html", "image/png", "image/svg+xml"]): draw.choice(
                TEXTS
            )
        },
        "metadata": {},
        "execution_count": 1,
        "ename": "E",
        "evalue": "x",
        "traceback": ["x"],
        "transient": {"display_id": draw.choice("ab")},
    }
    mutate(content, draw, draw.choice((0, 1, 3)))
    return kind, content


@quick
@given(seeds)
def test_odd_outputs(seed):
    draw = random.Random(seed)
    outputs = Outputs(2_000)
    cells = [nbformat.v4.new_code_cell("1") for _ in range(3)]
    for cell in cells:
        outputs.begin(cell.outputs)
        for _ in range(12):
            kind, content = output(draw)
            if is_a_tree(content):
                # as it comes out of a frame
                outputs.take(kind, json.loads(json.dumps(content)))
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.validate(notebook)
    Sanitize().preprocess(notebook, {})
    LimitOutput().preprocess(notebook, {})
    nbformat.validate(notebook)
    nbformat.v4.writes_json(notebook).encode()
    assert isinstance(cells[0], NotebookNode)


# ------------------------------------------------------------------------------ probes


def odd_pack(draw):
    """Bytes of a message with everything that its format has."""

    def value(depth):
        kind = draw.randrange(8)
        if kind == 0 and depth:
            return Ext(draw.randrange(-3, 9), msgspec.msgpack.encode(value(depth - 1)))
        if kind == 1 and depth:
            return [value(depth - 1) for _ in range(draw.randrange(4))]
        if kind == 2 and depth:
            return {draw.choice(NAMES): value(depth - 1) for _ in range(draw.randrange(4))}
        if kind == 3:
            return draw.randbytes(draw.randrange(16))
        if kind == 4:
            shape = [draw.choice((0, 1, 2, -1, 1 << 40)) for _ in range(draw.randrange(4))]
            array = [draw.random() < 0.5, draw.choice("?bhilqBHILQefdOSUmx"), shape]
            return Ext(1, msgspec.msgpack.encode(array))
        return draw.choice(
            ("returned", "raised", "unfit", "timeout", "ended", "missing", 1, 1.5, None, True)
        )

    tree = msgspec.msgpack.encode(value(5))
    length = len(tree) if draw.random() < 0.9 else draw.randrange(1 << 20)
    return LENGTH.pack(length) + tree + bytes(draw.choice((0, 0, 8, 16)))


@quick
@given(seeds)
def test_odd_messages(seed):
    draw = random.Random(seed)
    for _ in range(50):
        data = odd_pack(draw)
        if draw.random() < 0.2:
            data = data[: draw.randrange(len(data) + 1)] + draw.randbytes(3)
        for number in (0, 1, 3):
            try:
                found = observations_in(MARK + data, number)
            except WireError:
                continue
            assert len(found) == number and all(seen.status for seen in found)


@pytest.mark.parametrize("outside", (2, 4))
@pytest.mark.parametrize("shape", ([1 << 40, 0], [0, 1 << 21]))
def test_array_of_no_numbers_that_is_long(outside, shape):
    """A tensor without numbers needs no bytes, and to go through its rows may need more than there are."""
    array = Ext(1, msgspec.msgpack.encode([True, "l", shape]))
    content = array if outside == 2 else ["name", array]
    tree = msgspec.msgpack.encode([Ext(outside, msgspec.msgpack.encode(content))])
    with pytest.raises(WireError):
        observations_in(MARK + LENGTH.pack(len(tree)) + tree, 1)


VALUES = (
    None, True, 1, 1.5, "x", (), [], {}, float("nan"), 10**30, "x" * 500,
    torch.zeros(0), torch.zeros(3, 3), torch.full((2, 2), float("nan")), torch.zeros(2, 2, dtype=torch.bool),
    torch.zeros(1, 1, 1, 1), np.zeros((2, 2)), np.float64(1), torch.tensor(1), (torch.zeros(2, 2),),
    torch.full((5, 5), 1e308, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.int64),
)  # fmt: skip
LIES = {
    "status": ("returned", "raised", "unfit", "timeout", "ended", "missing", "", "x"),
    "ended": (None, "exit", "x"),
    "line": ("", "`" * 999),
    "value": VALUES,
    "arguments": ([], [None], [1] * 9, list(VALUES)),
    "gradients": ({}, {"x": None}, {"x": torch.zeros(2, 2)}, {"x": "y"}),
    "error": ({"type": "", "types": [], "message": "", "line": ""},
              {"type": "ValueError" * 99, "types": ["x"] * 99, "message": "\ud800", "line": "`"}),
    "seconds": (0.0, float("nan"), -1.0),
    "unfit": (None, {"kind": ""}, {"kind": "x" * 999}, {"missing": ["x"] * 99, "has": ["x"]},
              {"shapes": [{"name": "x", "asked": [1], "found": [2]}]}, {"shapes": [("x", [1], [2])]}),
    "used": ("", "scaled_dot_product_attention", "x"),
}  # fmt: skip


@settings(quick, max_examples=150)
@given(seeds)
def test_lying_probes(seed):
    draw = random.Random(seed)
    assignment = load(ASSIGNMENT)
    part = draw.choice(assignment.parts)
    space = {"torch": torch}
    for code in RIGHT.values():
        exec(code, space)
    share = draw.choice((0.05, 0.3, 1))

    def probe(message):
        reports = decode(answer(message, space))
        for report in reports:
            if draw.random() < share:
                for name in draw.sample(sorted(LIES), draw.randrange(1, 5)):
                    report[name] = draw.choice(LIES[name])
                if draw.random() < 0.2:
                    report.pop(draw.choice(sorted(report)))
        if draw.random() < 0.1:
            mutate(reports, draw, 2)
        return encode(reports) if draw.random() < 0.9 else MARK + odd_pack(draw)

    verdict = decide(assignment, part, probe, list(RIGHT.values()), failed_before=part.may_call)
    assert 0 <= verdict.earned <= part.points == verdict.points
    assert all(step.earned in (0, step.points) for step in verdict.steps)
    msgspec.json.encode(verdict)
