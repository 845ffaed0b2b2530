"""What is made to take the grader's memory or time takes little of either, and costs nothing but itself."""

import gc
import json
import os
import resource
import socket
import sys
import threading
import time
import warnings
import weakref
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from autograder import bounds
from autograder.bounds import OutOfTime, in_time, within
from autograder.checks import notebook_source
from autograder.checks.files_beside import read_beside
from autograder.checks.missing import StoppedCell, Surroundings, what_hides_it, why_not_there
from autograder.checks.notebook_source import (
    Definitions,
    forget,
    statements_of,
)
from autograder.grade import sanitize
from autograder.grade.feedback_page import (
    code_as_html,
    text_as_html,
)
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.large_notebook import PIXEL, TOO_MANY_BYTES, TOO_MANY_LINES
from autograder.grade.outputs import Outputs
from autograder.grade.run import TOO_LARGE, text_of_graded
from autograder.grade.sanitize import NOT_CLEANED, TOO_LONG, TOO_MUCH, Sanitize, harmless_markdown
from autograder.grade.submission import notebook_in, read_text, text_of
from autograder.sandbox.channel import LENGTHS, Channel, ChannelClosed
from autograder.sandbox.messages import REPLIES

MEBIBYTE = 1 << 20


def memory(field):
    """MiB of this process, by the name that Linux has for them."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition(f"{field}:")[2].split()[0]) >> 10


def cost(work):
    """(seconds of processor time, MiB at most, MiB that stay) of some work, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            Path("/proc/self/clear_refs").write_text(
                "5", encoding="ascii"
            )  # the most so far is now
            before, began = memory("VmRSS"), time.process_time()
            work()
            taken = [memory("VmHWM") - before, memory("VmRSS") - before]
            os.write(writing, json.dumps([time.process_time() - began, *taken]).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    assert said, "it did not come to its end"
    return json.loads(said)


def shown(contents, kind="display_data"):
    """What is kept of outputs, as a file has it."""
    cell = new_code_cell()
    outputs = Outputs(8 * MEBIBYTE)
    outputs.begin(cell.outputs)
    for content in contents:
        outputs.take(kind, content)
    return nbformat.v4.writes_json(new_notebook(cells=[cell]))


def pictured():
    picture = {"x": {"image/png": "A" * MEBIBYTE}}
    return harmless_markdown("![a](attachment:x)" * 400, picture)


LONG = "A" * 90_000


def again(shown, named, times=390):
    """A text that shows the same reference over and over."""
    return f"{shown * times}\n\n[x]: {named}\n"


def looked_at(*cells):
    """Read cells as for a part."""
    Definitions.of(cells)
    forget()


def received(values):
    """What comes of a message with such values in it."""
    text = b'{"type":"output","kind":"stream","content":{"x":[' + values + b"1]}}"
    ours, theirs = socket.socketpair()
    send = threading.Thread(
        target=lambda: (theirs.sendall(LENGTHS.pack(len(text), 0) + text), theirs.close())
    )
    send.start()
    with pytest.raises(
        ChannelClosed, match="has ended"
    ):  # no error of its own, and nothing else came
        Channel(ours, REPLIES).receive()
    send.join()


def read(**cell):
    return nbformat.v4.writes_json(notebook_in(json.dumps({"cells": [cell], "nbformat": 4})))


def cleaned(make, text):
    """What is shown of a cell of text."""
    notebook = new_notebook(cells=[make(text)])
    Sanitize().preprocess(notebook, {})
    return notebook.cells[0].source


def refused(data):
    """Read a notebook's file that has too many cells."""
    with pytest.raises(InvalidSubmission, match="more than 2000 cells"):
        text_of(data)


def names(length):
    return ("x" * length + str(number) for number in range(100))


# what is tried -> (how, most seconds of processor time, most MiB on the way)
KINDS = {
    "long names of forms": (
        lambda: shown({"data": {name: ""}, "metadata": {}} for name in names(MEBIBYTE)),
        2,
        32,
    ),
    "a traceback of empty lines": (
        lambda: shown([{"ename": "", "evalue": "", "traceback": [""] * 3_000_000}], kind="error"),
        2,
        64,
    ),
    "blank lines in code": (lambda: statements_of("x = 1" + "\n" * 100_000 + "y = 1"), 1, 32),
    "a heading with a gap": (lambda: harmless_markdown("# a" + " " * 50_000 + "b"), 1, 32),
    "a picture shown 400 times": (pictured, 2, 64),
    "a long word for IPython": (lambda: statements_of("a" * 40_000 + "-?"), 1, 32),
    "many magics below much code": (
        lambda: statements_of("x = 1\n" * 25_000 + "%pwd\n" * 40), 3, 120
    ),
    "blank lines in colours": (lambda: code_as_html("\n \n" * 4_000), 1, 32),
    "long cells": (lambda: looked_at(*(f"a{n} = [" + "1," * 75_000 + "]" for n in range(20))), 6, 400),
    "a message of many values": (lambda: received(b'{"":0},' * (2 * MEBIBYTE)), 3, 160),
    "a notebook of many values": (
        lambda: read(cell_type="code", source="", outputs=[{"": 0}] * 1_500_000), 6, 700
    ),
    "files that name each other": (
        lambda: read_beside(["m0"], {f"m{n}.py": b"m1 a" * 20_000 for n in range(100)}), 3, 64
    ),
    "a file that no cell of many names": (
        lambda: read_beside(["a b c d " * 1_000] * 2_000, {"never.py": b""}), 3, 64
    ),
    # an address, a title or a picture that one text shows over and over
    "a long address in 390 links": (lambda: harmless_markdown(again("[a][x]", f"https://e.org/{LONG}")), 1, 32),
    # words that IPython goes through for each of their letters
    # text that Pygments goes through again for each of its letters
    "blank lines in a block of code": (lambda: text_as_html("```python\n" + "\n \n" * 20_000 + "\n```"), 1, 32),
    # HTML of which a browser makes far more than it says
    "letters set anew in each paragraph": (
        lambda: sanitize.clean("<p>" + "".join(f"<i a={n}>" for n in range(1_000)) + "<p>x" * 5_000), 1, 120
    ),
    "a long text of quotes": (lambda: cleaned(new_markdown_cell, "'" * (15 * MEBIBYTE) + "\U0001f600"), 2, 250),
    "a notebook of many cells": (
        lambda: refused(b'{"nbformat":4,"cells":[' + b"{}," * (15 * MEBIBYTE) + b"{}]}"), 2, 160
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_to_exhaust_the_grader_does_not(kind):
    work, most_seconds, most_memory = KINDS[kind]
    seconds, largest, _ = cost(work)
    assert seconds < most_seconds
    assert largest < most_memory


@pytest.mark.long
def test_what_was_read_of_a_submission_does_not_stay():
    cells = [f"a{number} = [" + "1," * 4_900 + "]" for number in range(60)]
    _, largest, left = cost(lambda: looked_at(*cells))
    assert largest < 300
    assert left < 100


def test_an_output_with_an_odd_field_is_no_error_of_ours():
    deep = []
    for _ in range(5_000):
        deep = [deep]
    for field in ("transient", "metadata", "more"):
        content = {
            "name": "stdout",
            "text": "still here",
            "data": {"text/plain": "and here"},
            field: deep,
        }
        assert "still here" in shown([content], kind="stream")
        assert "and here" in shown([content])


def test_the_end_of_a_traceback_is_what_is_kept():
    lines = [str(number) for number in range(bounds.MOST_TRACEBACK + 5)]
    (cell,) = nbformat.reads(
        shown([{"ename": "E", "evalue": "", "traceback": lines}], kind="error"), as_version=4
    ).cells
    assert cell.outputs[0].traceback == lines[5:]


def test_what_is_repeated_in_all_texts_together_is_bounded():
    text = again("[a][x]", f"https://e.org/{LONG}", 12)
    notebook = new_notebook(cells=[new_markdown_cell(text) for _ in range(40)])
    Sanitize().preprocess(notebook, {})
    assert all("A" * 100 in cell.source for cell in notebook.cells)
    assert sum(len(cell.source) for cell in notebook.cells) < bounds.MOST_RENDERED + 8 * MEBIBYTE
    assert "<pre>" in notebook.cells[-1].source and "<a " in notebook.cells[0].source


@pytest.mark.parametrize("digits", ["1" * 5_000, "0" * 5_000 + "92", "x" + "f" * 5_000])
def test_a_reference_of_many_digits_costs_nothing_but_itself(digits):
    notebook = new_notebook(cells=[new_markdown_cell(f"&#{digits}"), new_markdown_cell("*z*")])
    Sanitize().preprocess(notebook, {})
    assert "<em>z</em>" in notebook.cells[1].source


def test_what_cannot_be_cleaned_at_all_costs_nothing_but_itself(monkeypatch):
    def fail(*_, **__):
        raise ValueError

    monkeypatch.setattr(sanitize, "rendered", fail)
    monkeypatch.setattr(sanitize, "as_typed", fail)
    monkeypatch.setattr(sanitize, "clean", fail)
    code = new_code_cell(outputs=[nbformat.v4.new_output("display_data", {"text/html": "<b>x"})])
    notebook = new_notebook(cells=[new_markdown_cell("a"), code])
    Sanitize().preprocess(notebook, {})
    assert notebook.cells[0].source == TOO_MUCH
    assert notebook.cells[1].outputs[0].text == NOT_CLEANED


def test_html_that_grows_is_shown_as_it_was_typed_and_what_people_write_is_not():
    many = "<p>" + "".join(f"<i a={n}>" for n in range(1_000)) + "<p>x" * 1_000 + "</i>" * 1_000
    assert sanitize.clean(many).startswith("<pre>&lt;p&gt;&lt;i a=0&gt;")
    plain = "<p>a <code>b</code> <em>c</em> <strong>d</strong></p>" * 1_500
    assert sanitize.clean(plain) == plain
    links = '<p><a href="https://e.org">b</a></p>' * 2_000
    assert sanitize.clean(links).count("<a ") == 2_000


@pytest.mark.parametrize("make", [new_markdown_cell, new_raw_cell])
def test_the_beginning_of_a_long_text_is_shown(make):
    shown = cleaned(make, "a" * bounds.LONGEST_TEXT + "zzz")
    assert "a" * bounds.LONGEST_TEXT in shown
    assert "zzz" not in shown
    assert TOO_LONG[1:-1] in shown


def test_python_alone_is_coloured():
    assert "<span" in text_as_html("```python\nx = 1\n```")
    assert "<span" not in text_as_html("```console\nx = 1\n```")


def test_a_picture_that_is_shown_twice_is_there_twice_if_it_is_small():
    twice = "![a](attachment:x) ![b](attachment:x)"
    assert harmless_markdown(twice, {"x": {"image/png": "AAAA"}}).count("AAAA") == 2
    large = harmless_markdown(twice, {"x": {"image/png": "A" * 2 * MEBIBYTE}})
    assert 2 * MEBIBYTE < len(large) < 3 * MEBIBYTE
    assert 'alt="b"' in large


@pytest.mark.parametrize(
    "source", ["\n%pwd", "x = !ls", "f?", "  %pwd", "x =\n!ls", "a\n\n  ;f x", "f? \n"]
)
def test_what_ipython_takes_for_its_own_is_found_on_every_line(source):
    assert notebook_source.SPECIAL.search(f"x = 1\n\n{source}\n\ny = 1")


# ---------------------------------------------------------------------------------- the notebook


def test_old_outputs_do_not_count_for_the_size_of_a_notebook(tmp_path):
    path = tmp_path / "x.ipynb"
    cell = new_code_cell("x = 'ω'", id="mine")
    cell.metadata.nbgrader = {"grade_id": "mine"}
    cell.outputs = [NotebookNode(output_type="stream", name="stdout", text="x" * 20 * MEBIBYTE)]
    text = new_markdown_cell("![x](attachment:x)", attachments={"x": {"image/png": "AAAA"}})
    path.write_text(nbformat.writes(new_notebook(cells=[cell, text])))
    assert path.stat().st_size > bounds.LARGEST_NOTEBOOK
    code, markdown = notebook_in(read_text(path)).cells
    assert (code.source, code.id, code.outputs) == ("x = 'ω'", "mine", [])
    assert code.metadata.nbgrader.grade_id == "mine"
    assert markdown.attachments == {"x": {"image/png": "AAAA"}}


PHOTO = "A" * (40 * MEBIBYTE)  # as text; the picture itself has three quarters of that


def handed_in(*cells, **more):
    """The cells of a notebook's file, after a first one with an answer."""
    answer = {
        "cell_type": "code",
        "metadata": {"nbgrader": {"grade_id": "mine"}},
        "source": ["x = 1\n", "x"],
    }
    whole = {"nbformat": 4, "metadata": {}, "cells": [answer, *cells], **more}
    first, *others = notebook_in(text_of(json.dumps(whole).encode())).cells
    assert (first.source, first.metadata.nbgrader.grade_id) == ("x = 1\nx", "mine")
    return others


def a_text(source, **more):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


def test_a_large_picture_is_left_out_and_named_and_all_else_is_read():
    pictures = {"photo.png": {"image/png": PHOTO}, "small.png": {"image/png": "AAAA"}}
    shown = "![p](attachment:photo.png) **or** ![s](attachment:small.png)"
    (text,) = handed_in(a_text(shown, attachments=pictures))
    note, rest = text.source.split("\n\n")
    assert rest == shown
    assert note == (
        "*Left out, since with it the notebook has more than 16 MiB: the picture `photo.png` (30.0 MiB). "
        "All else was read.*"
    )
    assert text.attachments["small.png"] == {"image/png": "AAAA"}
    assert len(text.attachments["photo.png"]["image/png"]) < 200
    page = harmless_markdown(text.source, text.attachments)
    assert "<strong>or</strong>" in page and "30.0 MiB" in page and 'alt="s"' in page


def test_a_large_picture_within_a_text_is_left_out_and_the_text_stays():
    written = f"Mine: ![my `photo`](data:image/png;base64,{PHOTO}), <img src='data:image/png;base64,AAAA'>."
    text, again = handed_in(a_text(written), a_text([written[:20], written[20:]]))
    assert text.source == again.source and len(text.source) < 500
    assert "the picture `my 'photo'` (30.0 MiB)" in text.source
    assert "Mine: ![my `photo`](data:image/png;base64," in text.source
    assert text.source.endswith(", <img src='data:image/png;base64,AAAA'>.")


def test_of_many_pictures_the_largest_go_and_as_many_stay_as_there_is_room_for():
    sizes = [3, 9, 4, 5, 9]
    cells = [a_text("a", attachments={f"{n}": {"image/png": "A" * n * MEBIBYTE}}) for n in sizes]
    texts = handed_in(*cells)
    assert [text.source.endswith("All else was read.*\n\na") for text in texts] == [
        n == 9 for n in sizes
    ]
    assert [
        len(text.attachments[f"{n}"]["image/png"]) for n, text in zip(sizes, texts, strict=True)
    ] == [n * MEBIBYTE if n < 9 else len(PIXEL) for n in sizes]


@pytest.mark.parametrize(
    ("cell", "more"),
    [
        (a_text("a", metadata={"widgets": PHOTO}), {}),
        (a_text("a"), {"metadata": {"widgets": {"state": [PHOTO]}}}),
        (a_text("a", id=PHOTO, more=PHOTO), {}),
        (a_text("a", attachments=PHOTO), {}),
        (a_text("a", attachments={"x": PHOTO}), {}),
        (a_text("a", attachments={"x": {"text/html": [PHOTO]}}), {}),
        (a_text("a", metadata={"nbgrader": {"grade_id": PHOTO}}), {}),
    ],
)  # fmt: skip
def test_whatever_else_is_large_and_nobody_reads_is_passed_over(cell, more):
    (text,) = handed_in(cell, **more)
    assert text.source.endswith("a") and "nbgrader" not in text.metadata


def test_a_text_or_code_that_is_too_large_is_left_out_and_no_other():
    large = "x" * 17 * MEBIBYTE
    code = {"cell_type": "code", "metadata": {}, "source": large}
    text, left_out, short = handed_in(a_text(large), code, {**code, "source": "y"})
    assert text.source == TOO_MANY_BYTES and left_out.source == f"# {TOO_MANY_BYTES}"
    assert short.source == "y"


def test_a_large_file_in_another_encoding_is_read():
    whole = {"nbformat": 4, "cells": [a_text("ω", metadata={"x": "A" * 20 * MEBIBYTE})]}
    text = json.dumps(whole, ensure_ascii=False)
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert notebook_in(text_of(text.encode(encoding))).cells[0].source == "ω"


@pytest.mark.parametrize("data", [b"x" * 17 * MEBIBYTE, b'{"cells": [' + b" " * 17 * MEBIBYTE])
def test_a_large_file_that_is_no_notebook_is_refused(data):
    with pytest.raises(InvalidSubmission, match="the file has 17 MiB, and is not JSON") as told:
        text_of(data)
    assert told.value.no_json


def test_a_file_that_is_too_large_to_be_read_is_refused(tmp_path):
    path = tmp_path / "x.ipynb"
    with path.open("wb") as file:
        file.truncate(bounds.LARGEST_FILE + MEBIBYTE)
    with pytest.raises(
        InvalidSubmission, match=r"has 129 MiB, more than 128\. Ask for it again without its"
    ):
        read_text(path)


def test_values_that_nobody_reads_do_not_count():
    cell = {"cell_type": "code", "source": "", "metadata": {"x": [0] * 600_000}}
    assert notebook_in(json.dumps({"cells": [cell]})).cells
    assert notebook_in(json.dumps({"cells": [{**cell, "metadata": {"x": "[" * 600_000}}]})).cells
    with pytest.raises(InvalidSubmission, match="more than 500000 values"):
        notebook_in(json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]}))


def test_a_cell_of_more_lines_than_are_read_is_left_out_and_no_other():
    sources = ["x = 1", "\n" * (bounds.MOST_LINES + 1), "y = 2"]
    made = notebook_in(nbformat.writes(new_notebook(cells=[*map(new_code_cell, sources)])))
    assert [cell.source for cell in made.cells] == ["x = 1", f"# {TOO_MANY_LINES}", "y = 2"]


def test_short_cells_stay_beside_many_long_ones():
    cells = [{"cell_type": "code", "source": ["\n"] * 8_000}] * 100
    made = notebook_in(json.dumps({"cells": [*cells, {"cell_type": "code", "source": ["y = 2"]}]}))
    assert made.cells[-1].source == "y = 2"
    assert made.cells[0].source in ("\n" * 8_000, f"# {TOO_MANY_LINES}")


def test_a_graded_notebook_that_is_too_large_is_sent_without_what_makes_it_so():
    cells = [new_code_cell("print()"), new_code_cell("x" * 2_000), new_code_cell("grade()")]
    cells[0].outputs = [nbformat.v4.new_output("stream", text="\\" * 17 * MEBIBYTE)]
    cells[2].outputs = [nbformat.v4.new_output("stream", text="3 of 3 points")]
    cells[2].metadata.nbgrader = {"grade_id": "check_x", "locked": True}
    text = text_of_graded(new_notebook(cells=cells))
    first, second, third = nbformat.reads(text, as_version=4).cells
    assert first.outputs[0].text == TOO_LARGE
    assert second.source == "x" * 2_000
    assert third.outputs[0].text == "3 of 3 points"
    cells[1].source = "\\" * 17 * MEBIBYTE
    text = text_of_graded(new_notebook(cells=cells))
    assert len(text) < MEBIBYTE
    assert "3 of 3 points" in text


# ---------------------------------------------------------------------------------- time


def busy(seconds):
    """Use so many seconds of processor time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1_000))


def test_a_stage_that_takes_too_long_is_ended():
    assert in_time(0.1, lambda: busy(5) or "done", "not done") == "not done"
    assert in_time(5, lambda: busy(0.1) or "done", "not done") == "done"


def test_no_handler_of_errors_on_the_way_takes_the_end_of_a_stage_for_its_own():
    def careless():
        try:
            busy(5)
        except Exception:  # noqa: BLE001
            return "swallowed"

    assert in_time(0.1, careless, "ended") == "ended"


def test_a_stage_within_another_leaves_it_its_time():
    def outer():
        assert in_time(0.1, lambda: busy(5), "inner") == "inner"
        busy(5)

    with pytest.raises(OutOfTime):
        within(0.4, outer)
    busy(0.5)  # no alarm is left over


@pytest.mark.parametrize("called", ["a callback of all collections", "a weak reference's"])
def test_an_alarm_during_garbage_collection_is_put_off_and_not_lost(called, monkeypatch):
    dropped, cycle = [], type("Cycle", (), {})()
    cycle.itself = cycle
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)

    def slow(*_):
        busy(0.2)

    if called == "a weak reference's":
        reference = weakref.ref(cycle, slow)  # noqa: F841 (else it calls nothing)
        del cycle
    else:
        gc.callbacks.append(slow)
    try:
        with pytest.raises(OutOfTime):
            within(0.1, lambda: (gc.collect(), busy(5)))
    finally:
        if slow in gc.callbacks:
            gc.callbacks.remove(slow)
    assert dropped == []


def test_an_alarm_during_the_end_of_an_object_is_put_off_and_not_lost(monkeypatch):
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)

    class Ending:
        def __del__(self):
            busy(0.2)

    with pytest.raises(OutOfTime):
        within(0.1, lambda: (Ending(), busy(5)))
    assert dropped == []


def test_an_alarm_leaves_nothing_switched_half_way():
    def switches():
        while True:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")

    before = list(warnings.filters)
    for _ in range(100):
        with pytest.raises(OutOfTime):
            within(0.001, switches)
        assert torch.is_grad_enabled() and warnings.filters == before


def test_a_cell_of_more_statements_than_are_read_defines_nothing():
    many = "from x import " + ",".join(["a"] * (bounds.MOST_STATEMENTS + 1))
    assert set(Definitions.of((many, "b = 1")).statements) == {"b"}
    half = f"from x import {','.join(['a'] * (bounds.MOST_STATEMENTS // 2 + 1))}"
    assert set(Definitions.of((half, f"{half}\nb = 1")).statements) == {"a"}


def test_what_is_no_name_is_looked_for_nowhere(monkeypatch):
    monkeypatch.setattr("autograder.checks.missing.statements_of", lambda _: pytest.fail("read"))
    stopped = StoppedCell("1/0\nx = 1", "ZeroDivisionError: x", "1/0")
    assert why_not_there("", Surroundings((stopped,))) == ""


@pytest.mark.parametrize(
    "odd",
    ["1+" * 2_900 + "1", "0x1" + "0" * 4000, "f\"{'\u00a0'}\""],
    ids=["a sum of many pieces", "a long number", "a no-break space"],
)
def test_what_python_does_not_write_is_no_error_of_ours(odd):
    assert what_hides_it("f", [f"def f():\n return {odd}"]) == ""
    stopped = StoppedCell(f"1/0\nx = {odd}", "ZeroDivisionError: x", "1/0")
    assert why_not_there("x", Surroundings((stopped,))) == ""
