"""A kernel of Jupyter's own runs the notebook, and checks are decided outside it.

This is the road of `self_check` on macOS, where processes are not forked as on Linux. Everything else goes
the road of `autograder.grade.run`. What is shown and what is decided is the same.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from uuid import uuid4

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.preprocessors import Execute as NbGraderExecute
from traitlets import Integer

from autograder.checks.verdicts import PartVerdict
from autograder.grade.grading import ENDED, STUCK, Grading, NotebookStopped
from autograder.grade.outputs import SHOWN, Outputs, is_count
from autograder.grade.run import SHELL, SandboxedKernel
from autograder.grade.submission import files_beside
from autograder.probe.disallowed import Disallowed
from autograder.probe.probe import ANSWERS_MIME, TARGET
from autograder.sandbox.forks import ZygoteError
from autograder.sandbox.limits import Limits
from autograder.sandbox.provisioner import own_zygote


class Execute(NbGraderExecute):
    """nbgrader's `Execute`, except for the cells that earn points: those are not run but decided.

    Attributes:
        verdicts: after a run, the verdict on each part.
    """

    most_output = Integer(8 << 20, help="Characters that a notebook may print and show.").tag(
        config=True
    )

    def __init__(self, **kwargs: Any) -> None:
        # tracebacks are plain, as they are in a batch
        kwargs.setdefault(
            "extra_arguments",
            [
                "--log-level=ERROR",
                "--InteractiveShell.xmode=Plain",
                "--InteractiveShell.colors=nocolor",
            ],
        )
        super().__init__(**kwargs)

    @property
    def verdicts(self) -> dict[str, PartVerdict]:
        return self._grading.verdicts

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        self._files = files_beside(Path(resources["metadata"]["path"]))[0]
        handed_out = nb.metadata.pop("handed_out", {})
        self._grading = Grading(self, self._files, handed_out=handed_out)
        self._outputs = Outputs(self.most_output)
        self._listening = False
        self._answer: bytes | None = None  # of the probe, while it is asked
        outcome = super().preprocess(nb, resources)
        self._grading.finish()
        return outcome

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        self._grading.take(cell, index)
        return cell, resources

    def run(self, cell: NotebookNode, index: int, own: bool = True) -> None:
        """See `grading.Kernel`; a cell that is not the notebook's ``own`` is not counted."""
        try:
            self.execute_cell(cell, index, store_history=own)
        except DeadKernelError as error:
            if getattr(self.km.provisioner.process, "lost", False):
                raise ZygoteError("a kernel ended with what it was forked from") from error
            raise NotebookStopped(ENDED) from None
        except CellTimeoutError:
            raise NotebookStopped(STUCK) from None
        finally:
            if not is_count(cell.execution_count):
                cell.execution_count = None
            self.nb.cells[index] = cell

    def ask(self, message: bytes) -> bytes:
        """See `grading.Kernel`; the message goes before a cell, on the channel that cells go."""
        index = len(self.nb.cells) - 1
        last = self.nb.cells[index]
        self._answer = b""
        try:
            if not self._listening:
                self._listening = True
                self._run_hidden("from autograder.probe.probe import listen\nlisten()", index)
            opening = {"comm_id": uuid4().hex, "target_name": TARGET, "data": {}}
            channel = self.kc.shell_channel.socket
            self.kc.session.send(channel, "comm_open", opening, buffers=[message])
            self._run_hidden("from autograder.probe.probe import serve\nserve()", index)
            return self._answer
        finally:
            self._answer = None
            self.nb.cells[index] = last  # where running the request has put the request

    def closed(self, disallowed: Disallowed) -> SandboxedKernel:
        """See `grading.Kernel`; such a one is never Jupyter's."""
        return SandboxedKernel(own_zygote(SHELL), Limits(), self._files, closed=disallowed)

    def _run_hidden(self, code: str, index: int) -> None:
        self.run(new_code_cell(code), index, own=False)

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        """Take an output as `Outputs` does; a kernel may send anything."""
        kind, content = msg["msg_type"], msg["content"]
        if kind.startswith("comm_"):
            return None  # nothing here answers widgets
        if kind not in (*SHOWN, "clear_output"):
            return super().process_message(msg, cell, cell_index)
        if self._answer is not None:
            if kind == "display_data":
                self._answer = _answer(content.get("data", {})) or self._answer
            return None
        self._outputs.begin(cell.outputs)
        self._outputs.take(kind, content)
        return None


def _answer(data: object) -> bytes:
    """What the probe published; no bytes, which is no message of the probe, if it is not that."""
    text = data.get(ANSWERS_MIME) if isinstance(data, dict) else None
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
