"""What a notebook shows is kept as nbformat stores it, and no more than is good."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.grade.outputs import MOST_OUTPUTS, Outputs
from autograder.sandbox.messages import OVERFLOW

NOTE = "[The notebook shows more than is kept: the rest is left out.]\n"


class Cells:
    """A notebook's cells, which show what they are told to."""

    def __init__(self, most=1000):
        self.outputs = Outputs(most)
        self.notebook = new_notebook()
        self.begin()

    def begin(self):
        self.notebook.cells.append(new_code_cell())
        self.outputs.begin(self.notebook.cells[-1].outputs)

    def show(self, kind, **content):
        self.outputs.take(kind, content)

    def printed(self, text, name="stdout"):
        self.show("stream", name=name, text=text)

    def display(self, text, name=None, kind="display_data"):
        transient = {} if name is None else {"display_id": name}
        self.show(kind, data={"text/plain": text}, metadata={}, transient=transient)

    @property
    def texts(self):
        """Of each cell, the text of each output."""
        nbformat.validate(self.notebook)
        return [
            [
                output.get("text") or output.get("data", {}).get("text/plain")
                for output in cell.outputs
            ]
            for cell in self.notebook.cells
        ]


def test_what_follows_on_one_stream_is_one_output():
    cells = Cells()
    for text, name in [("a", "stdout"), ("b", "stdout"), ("c", "stderr"), ("d", "stdout")]:
        cells.printed(text, name)
    cells.begin()
    cells.printed("e")
    assert cells.texts == [["ab", "c", "d"], ["e"]]


def test_each_kind_is_kept_with_its_own_fields():
    cells = Cells()
    cells.printed("a")
    cells.display("b")
    cells.show("execute_result", data={"text/plain": "c"}, metadata={}, execution_count=3)
    cells.show("error", ename="E", evalue="odd", traceback=["one", "two"], more="unknown")
    stored = cells.notebook.cells[0].outputs
    nbformat.validate(cells.notebook)
    assert stored[2].execution_count == 3
    assert stored[3] == {
        "output_type": "error", "ename": "E", "evalue": "odd", "traceback": ["one", "two"],
    }  # fmt: skip


def test_cleared_at_once():
    cells = Cells()
    cells.printed("a")
    cells.show("clear_output", wait=False)
    assert cells.texts == [[]]
    cells.printed("b")
    assert cells.texts == [["b"]]


def test_cleared_when_something_new_comes():
    cells = Cells()
    cells.printed("a")
    cells.show("clear_output", wait=True)
    assert cells.texts == [["a"]]
    cells.printed("b")
    cells.printed("c")
    assert cells.texts == [["bc"]]


def test_clearing_waits_for_its_own_cell_alone():
    cells = Cells()
    cells.printed("a")
    cells.show("clear_output", wait=True)
    cells.begin()
    cells.printed("b")
    assert cells.texts == [["a"], ["b"]]


def test_clearing_at_once_takes_back_clearing_later():
    cells = Cells()
    cells.show("clear_output", wait=True)
    cells.show("clear_output", wait=False)
    cells.printed("a")
    cells.printed("b", "stderr")
    assert cells.texts == [["a", "b"]]


@pytest.mark.parametrize("wait", [1, "yes", None, [True], {}])
def test_an_odd_wish_to_wait_is_none(wait):
    cells = Cells()
    cells.printed("a")
    cells.show("clear_output", wait=wait)
    assert cells.texts == [[]]


def test_a_display_is_changed_wherever_it_stands():
    cells = Cells()
    cells.display("a", "one")
    cells.display("b", "two")
    cells.begin()
    cells.display("c", "one")
    assert cells.texts == [["c", "b"], ["c"]]
    cells.begin()
    cells.display("d", "one", kind="update_display_data")
    assert cells.texts == [["d", "b"], ["d"], []]
    cells.display("e", "nowhere", kind="update_display_data")
    assert cells.texts == [["d", "b"], ["d"], []]


def test_a_display_that_was_cleared_away_is_not_shown_again():
    cells = Cells()
    cells.display("a", "one")
    cells.show("clear_output", wait=False)
    cells.display("b", "one", kind="update_display_data")
    assert cells.texts == [[]]


def test_only_displays_have_a_display_id():
    cells = Cells()
    for kind, content in {
        "stream": {"name": "stdout", "text": "a"},
        "error": {"ename": "E", "evalue": "", "traceback": []},
    }.items():
        cells.show(kind, **content, transient={"display_id": "one"})
        cells.show(kind, **content, transient={"display_id": "one"})
    cells.display("b", "one", kind="update_display_data")
    assert cells.texts == [["aa", None, None]]


def test_what_is_too_much_is_left_out_and_said_once():
    cells = Cells(most=10)
    cells.printed("12345")
    cells.display("12345")
    cells.printed("!")
    cells.begin()
    cells.printed("more")
    cells.show("error", ename="E", evalue="", traceback=[])
    assert cells.texts == [["12345", "12345", NOTE], []]


def test_an_output_too_large_for_a_frame_counts_as_too_much():
    cells = Cells()
    cells.printed("a\n")
    cells.show(OVERFLOW)
    cells.show(OVERFLOW)
    cells.printed("b")
    assert cells.texts == [["a\n" + NOTE]]


def test_many_outputs_are_too_much_however_small():
    cells = Cells(most=10**9)
    for _ in range(MOST_OUTPUTS + 10):
        cells.display("")
    (shown,) = cells.texts
    assert len(shown) == MOST_OUTPUTS + 1
    assert shown[-1] == NOTE


def test_a_display_counts_at_every_place_where_it_stands():
    cells = Cells(most=1000)
    for _ in range(50):
        cells.display("x", "one")
    before = cells.texts
    for _ in range(50):
        cells.display("x" * 500, "one", kind="update_display_data")
    assert sum(len(text) for text in cells.texts[0]) < 1000 + len(NOTE)
    assert cells.texts[0][:5] == before[0][:5]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("stream", {}),
        ("stream", {"name": "stdout", "text": None}),
        ("stream", {"name": "stdout", "text": ["a"]}),
        ("stream", {"name": "stdin", "text": "a"}),
        ("stream", {"name": ["stdout"], "text": "a"}),
        ("display_data", {"data": "text", "metadata": {}}),
        ("display_data", {"data": None}),
        ("update_display_data", {"data": [1], "transient": {"display_id": "one"}}),
        ("execute_result", {"data": {}, "execution_count": -1}),
        ("execute_result", {"data": {}, "execution_count": "3"}),
        ("execute_result", {"data": {}, "execution_count": True}),
        ("execute_result", {"data": {}, "execution_count": 1.5}),
        ("error", {"ename": "E", "evalue": "x"}),
        ("error", {"ename": "E", "evalue": "x", "traceback": "text"}),
        ("error", {"ename": "E", "evalue": "x", "traceback": [1]}),
        ("error", {"ename": None, "evalue": "x", "traceback": []}),
        ("status", {"execution_state": "idle"}),
        ("nonsense", {}),
        ("", {}),
    ],
)
def test_what_is_not_what_its_kind_says_is_left_out(kind, content):
    cells = Cells()
    cells.show(kind, **content)
    assert cells.texts == [[]]


@pytest.mark.parametrize(
    "transient", [None, 7, "one", [], {}, {"display_id": 7}, {"display_id": [1]}]
)
def test_an_odd_display_id_is_none(transient):
    cells = Cells()
    for text in ("a", "b"):
        cells.show("display_data", data={"text/plain": text}, metadata={}, transient=transient)
    assert cells.texts == [["a", "b"]]


def test_of_data_only_texts_are_kept():
    cells = Cells()
    data = {
        "text/plain": "a",
        "text/html": ["<b>"],
        "application/json": {"a": 1},
        "image/png": None,
    }
    cells.show("display_data", data=data, metadata={"image/png": {"width": "1 onerror=x"}})
    assert cells.texts == [["a"]]
    (output,) = cells.notebook.cells[0].outputs
    assert output.data == {"text/plain": "a"} and output.metadata == {}


def test_half_a_character_becomes_a_mark_that_a_file_can_hold():
    cells = Cells()
    cells.printed("a\ud800")
    cells.display("b\udfff")
    cells.show("display_data", data={"text/\ud800": "c"}, metadata={})
    cells.show("error", ename="E\ud800", evalue="\ud800", traceback=["\ud800", "ω"])
    text = nbformat.writes(cells.notebook)
    text.encode("utf-8")
    assert cells.texts[0][:2] == ["a?", "b?"]
    assert cells.notebook.cells[0].outputs[-1].traceback == ["?", "ω"]
