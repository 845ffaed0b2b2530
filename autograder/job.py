"""The unit of work of a batch: one submission in, its graded notebook and scores out, all JSON.

A job knows nothing of the course folder, the gradebook or other submissions, so it can run in
another process or on another machine that has this package. By hand, or for a cluster's own queue:

    python -m autograder.job JOB_FILE RESULT_FILE
"""

from __future__ import annotations

import argparse
import base64
import errno
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import LimitOutput
from traitlets.config import Config

from autograder import sandbox, warm
from autograder.engine import Job, Result
from autograder.execute import Execute
from autograder.files import write_whole
from autograder.forks import ZygoteError
from autograder.harmless import Harmless
from autograder.intake import ReleasedCell, restore

PROVISIONERS = {sandbox.FULL: "sandboxed-provisioner", sandbox.NONE: "warm-provisioner"}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
KEPT_METADATA = ("nbgrader", "deletable", "editable")


def run_job(job: Job) -> Result:
    """Grade one submission.

    Args:
        job: ``notebook`` and its other ``files`` (name -> base64), what was ``released`` (a list
            of `ReleasedCell` as dicts), ``seconds_per_cell`` and ``seconds`` in all, its
            ``isolation`` and ``limits`` (`sandbox.Limits` as a dict).

    Returns:
        ``notebook`` as graded (JSON text), ``scores`` by grade_id (None: a person must look),
        ``unanswered`` (names), ``verdicts`` by part, ``restored``, ``remark``, ``seconds`` by
        stage; or ``broken``, why it could not be graded.
    """
    began = time.perf_counter()
    notebook = nbformat.reads(job["notebook"], as_version=4)
    restored = restore(notebook, [ReleasedCell(**cell) for cell in job["released"]])
    notebook.metadata = NotebookNode(
        kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"},
        restored=restored,
    )
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory(prefix=f"ag-{os.getpid()}-") as folder:
        for name, content in job["files"].items():
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(base64.b64decode(content))
        prepared = time.perf_counter()
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = PROVISIONERS[job["isolation"]]
        runner = Execute(
            config=Config({"SandboxedProvisioner": {"limits": sandbox.Limits(**job["limits"])}}),
            kernel_manager_class=warm.QuickManager,
            timeout=job["seconds_per_cell"],
            most_output=job["limits"]["output"],
            extra_arguments=["--log-level=ERROR"],
            shutdown_kernel="immediate",  # nothing that a kernel does while it leaves can count
        )
        late = threading.Timer(job["seconds"], end_kernel, [runner])
        late.start()
        try:
            runner.preprocess(notebook, {"metadata": {"path": folder}})
        finally:
            late.cancel()
    executed = time.perf_counter()
    unanswered = [
        cell.metadata.nbgrader.grade_id
        for cell in notebook.cells
        if utils.is_solution(cell)
        and cell.metadata.nbgrader.checksum == utils.compute_checksum(cell)
    ]
    Harmless().preprocess(notebook, {})
    LimitOutput().preprocess(notebook, {})
    for cell in notebook.cells:
        kept = {name: cell.metadata[name] for name in KEPT_METADATA if name in cell.metadata}
        cell.metadata = NotebookNode(kept)
    graded = [cell for cell in notebook.cells if utils.is_grade(cell)]
    return {
        "notebook": nbformat.writes(notebook),
        "scores": {c.metadata.nbgrader.grade_id: utils.determine_grade(c)[0] for c in graded},
        "unanswered": unanswered,
        "verdicts": {name: verdict.as_dict() for name, verdict in runner.verdicts.items()},
        "restored": restored,
        "remark": f"the notebook took more than {job['seconds']:g} seconds"
        if executed - prepared >= job["seconds"]
        else "",
        "seconds": {"prepare": prepared - began, "run": executed - prepared},
    }


def attempt(job: Job) -> Result:
    """Grade one submission; where that fails, the result says why and a person will look.

    Raises:
        ZygoteError: kernels cannot be had, which is no fault of the submission.
        OSError: the machine has no room; nor is this.
    """
    try:
        return run_job(job)
    except ZygoteError:
        raise
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        return {"broken": f"grading stopped with {type(error).__name__}: {error}"[:500]}
    except Exception as error:  # noqa: BLE001 (the batch goes on)
        return {"broken": f"grading stopped with {type(error).__name__}: {error}"[:500]}


def end_kernel(runner: Execute) -> None:
    """Kill the kernel of a run that takes too long; what was earned until then stays earned."""
    process = getattr(getattr(runner.km, "provisioner", None), "process", None)
    if process is not None:
        process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.job", description=__doc__)
    parser.add_argument("job", type=Path, help="the file that holds the job")
    parser.add_argument("result", type=Path, help="the file that the result is written to")
    options = parser.parse_args()
    result = attempt(json.loads(options.job.read_text(encoding="utf-8")))
    write_whole(options.result, json.dumps(result))


if __name__ == "__main__":
    main()
