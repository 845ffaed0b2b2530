"""Run a notebook, and decide its checks outside the process that runs it.

The notebook's kernel answers the probe's requests and nothing more: inputs go in, arrays come
out. What is right is computed here, where no code of the submission has ever run.
"""

from __future__ import annotations

import ast
import base64
from typing import Any
from uuid import uuid4

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from nbgrader.preprocessors import Execute as NbGraderExecute
from traitlets import Integer

from autograder.checks import load
from autograder.forks import ZygoteError
from autograder.probe import ANSWERS_MIME, TARGET
from autograder.report import as_bundle
from autograder.verdict import PartVerdict, decide, nothing

OUTPUTS = ("stream", "display_data", "update_display_data", "execute_result", "error")


class Execute(NbGraderExecute):
    """nbgrader's `Execute`, except for the cells that earn points: those are not run but decided.

    Such a cell calls `autograder.cell.grade`; `Intake` has restored its text before. Its outputs
    become what that call would show in the notebook, and the points.

    Attributes:
        verdicts: after a run, the verdict on each part.
    """

    most_output = Integer(8 << 20, help="Characters that a notebook may print and show.").tag(
        config=True
    )

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        self.verdicts: dict[str, PartVerdict] = {}
        self._decided: dict[int, PartVerdict] = {}
        self._cells: list[str] = []
        self._died = ""
        self._listening = False
        self._probing = False
        self._answer = b""
        self._shown = 0
        outcome = super().preprocess(nb, resources)
        # only now, when nothing that the notebook has sent can change what stands here
        for index, verdict in self._decided.items():
            self.nb.cells[index].outputs = [
                new_output("display_data", as_bundle(verdict)),
                new_output("execute_result", {"text/plain": repr(verdict.earned)}),
            ]
        return outcome

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        if cell.cell_type != "code":
            return cell, resources
        asked = graded_part(cell.source)
        if asked:
            self._decide(cell, *asked, resources, index)
        elif cell.source.strip():
            self._cells.append(cell.source)
            self._run(cell, resources, index)
        return cell, resources

    def _run(self, cell: NotebookNode, resources: ResourcesDict, index: int) -> None:
        if self._died:
            return
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        place = f"in the cell `{name}`" if name else f"in cell {index + 1}"
        try:
            super().preprocess_cell(cell, resources, index)
        except DeadKernelError as error:
            if getattr(self.km.provisioner.process, "lost", False):
                raise ZygoteError("a kernel ended with what it was forked from") from error
            self._died = (
                f"The notebook's process ended {place}, and nothing after it could run. Is there an "
                "`exit()`, or does it need more memory or time than there is?"
            )
        except CellTimeoutError:
            self._died = (
                f"The notebook was stopped {place}: it did not end within {self.timeout} seconds, "
                "nor when it was asked to. Is there a loop without an end?"
            )

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        """Take an output, unless the notebook has shown too much by now."""
        kind, content = msg["msg_type"], msg["content"]
        if kind.startswith("comm_"):
            return None  # nothing here answers widgets
        if kind in OUTPUTS and self._probing:
            if kind == "display_data":
                self._answer = _answer(content.get("data", {})) or self._answer
            return None
        if not _is_plain(kind, content):
            return None
        if kind in OUTPUTS:
            before = self._shown
            self._shown += len(str(content))
            if self._shown > self.most_output:
                if before <= self.most_output:
                    note = f"[The notebook shows more than {self.most_output} characters: the rest "
                    note += "is left out.]\n"
                    cell.outputs.append(new_output("stream", name="stdout", text=note))
                return None
        return super().process_message(msg, cell, cell_index)

    def _send(self, message: bytes) -> None:
        """Put a message for the probe before the next cell, on the channel that cells go."""
        opening = {"comm_id": uuid4().hex, "target_name": TARGET, "data": {}}
        channel = self.kc.shell_channel.socket
        self.kc.session.send(channel, "comm_open", opening, buffers=[message])

    def _decide(
        self, cell: NotebookNode, name: str, part_name: str, resources: ResourcesDict, index: int
    ) -> None:
        assignment = load(name)
        part = assignment.part(part_name)

        def probe(message: bytes) -> bytes:
            self._answer, self._probing = b"", True
            try:
                if not self._listening:
                    self._listening = True
                    listen = new_code_cell("from autograder.probe import listen\nlisten()")
                    self._run(listen, resources, index)
                self._send(message)
                request = new_code_cell("from autograder.probe import serve\nserve()")
                self._run(request, resources, index)
            finally:
                self._probing = False
            return self._answer

        verdict = decide(
            assignment,
            part,
            probe,
            self._cells,
            failed_before=[earlier for earlier, held in self.verdicts.items() if not held.right],
        )
        if self._died:
            verdict = nothing(part, self._died)
        self.verdicts[part_name] = self._decided[index] = verdict
        self.nb.cells[index] = cell  # where running the request has put the request
        cell.outputs = []


def _is_plain(kind: str, content: dict[str, Any]) -> bool:
    """Whether an output is what its kind says; a kernel may send anything. Odd data are left out."""
    if not isinstance(content.get("execution_count"), int | None):
        return False
    if kind == "stream":
        return isinstance(content.get("text"), str) and content.get("name") in ("stdout", "stderr")
    if kind == "error":
        texts = [content.get("ename"), content.get("evalue"), *content.get("traceback", [])]
        return all(isinstance(text, str) for text in texts)
    if kind in OUTPUTS:
        if not isinstance(content.get("data"), dict):
            return False
        content["data"] = {
            name: text for name, text in content["data"].items() if isinstance(text, str)
        }
        content["metadata"] = {}
    return True


def graded_part(source: str) -> tuple[str, str] | None:
    """The (assignment, part) that a cell decides, None for every other cell."""
    if "autograder.cell" not in source:
        return None
    try:
        last = ast.parse(source).body[-1]
    except (SyntaxError, ValueError, IndexError):
        return None
    match last:
        case ast.Expr(ast.Call(ast.Name("grade"), [ast.Constant(name), ast.Constant(part)], [])):
            return name, part
    return None


def _answer(data: object) -> bytes:
    """What the probe published; no bytes, which is no message of the probe, if it is not that."""
    text = data.get(ANSWERS_MIME) if isinstance(data, dict) else None
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
