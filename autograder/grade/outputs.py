"""What a running notebook shows, as nbformat stores it; a kernel may send anything."""

from __future__ import annotations

from itertools import islice
from typing import Any

from nbformat import NotebookNode, from_dict

from autograder.bounds import (
    LARGEST_COUNT,
    LONGEST_KIND,
    MOST_FORMS,
    MOST_OUTPUTS,
    MOST_TRACEBACK,
    SIZE_OF_LINE,
)
from autograder.sandbox.messages import OVERFLOW

# what nbformat keeps of each kind of output; its own makers ask a schema about each
FIELDS = {
    "stream": ("name", "text"),
    "display_data": ("data", "metadata"),
    "update_display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}
SHOWN = tuple(FIELDS)


class Outputs:
    """Collects outputs for one cell after another, up to a number of characters for all."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._shown = self._number = 0
        self._cell: list[NotebookNode] = []
        self._clear_first = False
        self._displayed: dict[str, list[NotebookNode]] = {}

    def begin(self, cell: list[NotebookNode]) -> None:
        """From now on, outputs are those of this cell."""
        if cell is not self._cell:
            self._cell, self._clear_first = cell, False

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Take an output, unless it is not what its kind says, or too much has been shown by now."""
        if kind == "clear_output":
            self._clear_first = content.get("wait") is True
            if not self._clear_first:
                self._cell.clear()
            return
        if kind == OVERFLOW:
            self._is_kept(self.most + 1)
            return
        if kind not in SHOWN or not is_plain(kind, content):
            return
        name = display_id(content) if "data" in FIELDS[kind] else ""
        content = {field: content.get(field) for field in FIELDS[kind]}
        copies = len(self._displayed.get(name, ())) + (kind != "update_display_data")
        if self._is_kept(copies * size_of(kind, content)):
            self._put(kind, without_half_characters(content), name)

    def _is_kept(self, size: int) -> bool:
        """Count one more output; the first that is too much leaves a note in its place."""
        kept_so_far = self._shown <= self.most and self._number <= MOST_OUTPUTS
        self._shown += size
        self._number += 1
        kept = self._shown <= self.most and self._number <= MOST_OUTPUTS
        if kept_so_far and not kept:
            note = "[The notebook shows more than is kept: the rest is left out.]\n"
            self._put("stream", {"name": "stdout", "text": note})
        return kept

    def _put(self, kind: str, content: dict[str, Any], name: str = "") -> None:
        """Show an output in its cell, and wherever one of the same display id stands."""
        for shown in self._displayed.get(name, ()):
            shown.data, shown.metadata = NotebookNode(content["data"]), NotebookNode()
        if kind == "update_display_data":
            return
        if self._clear_first:
            self._cell.clear()
            self._clear_first = False
        last = self._cell[-1] if self._cell else None
        if kind == "stream" and last and last.output_type == kind and last.name == content["name"]:
            last.text += content["text"]
            return
        kept = {name: content[name] for name in FIELDS[kind]}
        output = from_dict({"output_type": kind, **kept})
        self._cell.append(output)
        if name:
            self._displayed.setdefault(name, []).append(output)


def is_count(value: object) -> bool:
    """Whether nbformat takes this for a number in the order of execution."""
    return value is None or (type(value) is int and 0 <= value < LARGEST_COUNT)


def display_id(content: dict[str, Any]) -> str:
    """The id under which an output can be changed later; empty if it cannot, as where it is too long."""
    transient = content.get("transient")
    name = transient.get("display_id") if isinstance(transient, dict) else None
    return name if isinstance(name, str) and len(name) <= LONGEST_KIND else ""


def without_half_characters(value: Any) -> Any:
    """The same texts, but for halves of characters, which no file can hold."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {
            without_half_characters(name): without_half_characters(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [without_half_characters(item) for item in value]
    return value


def size_of(kind: str, content: dict[str, Any]) -> int:
    """How much a plain output takes, in characters; what the format puts around a line counts, too."""
    if kind == "stream":
        return _size_of_text(content["text"])
    if kind == "error":
        return sum(map(_size_of_text, (content["ename"], content["evalue"], *content["traceback"])))
    return sum(map(_size_of_text, content["data"].values()))


def _size_of_text(text: str) -> int:
    return len(text) + SIZE_OF_LINE * text.count("\n")


def is_plain(kind: str, content: dict[str, Any]) -> bool:
    """Whether an output is what its kind says. Odd data of one that is are taken out."""
    if kind == "execute_result" and not is_count(content.get("execution_count")):
        return False
    if kind == "stream":
        return isinstance(content.get("text"), str) and content.get("name") in ("stdout", "stderr")
    if kind == "error":
        lines = content.get("traceback")
        if not isinstance(lines, list):
            return False
        # the last lines say what went wrong
        content["traceback"] = lines = lines[-MOST_TRACEBACK:]
        texts = [content.get("ename"), content.get("evalue"), *lines]
        return all(isinstance(text, str) for text in texts)
    if kind in SHOWN:
        if not isinstance(content.get("data"), dict):
            return False
        plain = (
            (name, text)
            for name, text in content["data"].items()
            if isinstance(text, str) and len(name) <= LONGEST_KIND
        )
        content["data"] = dict(islice(plain, MOST_FORMS))
        content["metadata"] = {}
    return True
