"""Measure how fast the course's reference code is, beside PyTorch's own and beside itself, and how
fast a class is graded, beside stock ``nbgrader autograde``.

Every comparison is made in pairs: ours, theirs, ours, theirs …, so that a machine whose speed
drifts slows both. A ratio is the median over the pairs; below 1 means that ours is faster.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
import torch
from nbformat import NotebookNode
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograder.batch.course import scores_in
from autograder.checks.course import allowed_modules, load
from autograder.checks.decide import disallowed_lists_of
from autograder.grade.grading import Grading, graded_part
from autograder.grade.run import SandboxedKernel
from autograder.grade.self_check import add_checks
from autograder.probe.disallowed import Disallowed
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.kernels import Kernels, own_kernels
from autograder.sandbox.limits import Limits
from course_utils.attention import MultiHeadAttention
from course_utils.masks import causal_mask, padding_mask
from course_utils.transformer import Transformer, greedy_decode, greedy_decode_cached

Job = Callable[[], object]


def paired(ours: Job, theirs: Job, pairs: int, seconds_each: float = 0.02) -> tuple[float, float]:
    """Run two jobs in turn; return the median seconds of ours and the median ratio ours / theirs.

    Each turn repeats its job often enough to last about `seconds_each`.
    """
    for job in (ours, theirs):
        job()
    begin = time.perf_counter()
    ours()
    repeats = max(1, round(seconds_each / (time.perf_counter() - begin)))
    spent, ratios = [], []
    for number in range(pairs):
        # who goes first changes from pair to pair, so that going first is no advantage
        order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        seconds = {}
        for job in order:
            begin = time.perf_counter()
            for _ in range(repeats):
                job()
            seconds[job] = (time.perf_counter() - begin) / repeats
        spent.append(seconds[ours])
        ratios.append(seconds[ours] / seconds[theirs])
    return statistics.median(spent), statistics.median(ratios)


def attention_jobs(batch: int, length: int, width: int, heads: int, mask: bool) -> tuple[Job, Job]:
    """Forward and backward of self-attention: ours, and nn.MultiheadAttention with weights."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(width, heads)
    theirs = nn.MultiheadAttention(width, heads, batch_first=True)
    x = torch.randn(batch, length, width, requires_grad=True)
    allowed = causal_mask(length) if mask else None

    def run_ours():
        output, _ = ours(x, x, x, allowed)
        output.sum().backward()

    def run_theirs():
        # its mask says which keys are hidden; it is asked for every head's weights, as ours gives
        hidden = None if allowed is None else ~allowed
        output, _ = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
        output.sum().backward()

    return run_ours, run_theirs


class PyTorchTransformer(nn.Module):
    """nn.Transformer with embeddings and generator, of the same sizes as our model."""

    def __init__(self, model: Transformer, heads: int, layers: int, d_ff: int):
        super().__init__()
        width = model.d_model
        self.model = model  # its embeddings, positions and generator are used
        self.core = nn.Transformer(width, heads, layers, layers, d_ff, 0.0, batch_first=True)

    def forward(self, src, tgt):
        future = ~causal_mask(tgt.shape[1])
        hidden_src, hidden_tgt = src == self.model.pad_id, tgt == self.model.pad_id
        hidden = self.core(
            self.model._embed(self.model.src_embedding, src),
            self.model._embed(self.model.tgt_embedding, tgt),
            tgt_mask=future,
            src_key_padding_mask=hidden_src,
            tgt_key_padding_mask=hidden_tgt,
            memory_key_padding_mask=hidden_src,
        )
        return self.model.generator(hidden)


def training_jobs(batch: int, source: int, target: int) -> tuple[Job, Job]:
    """One training step, with Adam, at lecture 8's size."""
    torch.manual_seed(0)
    width, heads, layers, d_ff, words = 64, 4, 2, 256, 200
    src = torch.randint(3, words, (batch, source))
    tgt = torch.randint(3, words, (batch, target + 1))
    src[: batch // 2, -3:] = 0
    tgt[: batch // 2, -3:] = 0
    assert not padding_mask(src).all()
    loss_function = nn.CrossEntropyLoss(ignore_index=0)

    def step_of(model: nn.Module) -> Job:
        parameters = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(parameters)

        def step():
            optimizer.zero_grad()
            logits = model(src, tgt[:, :-1])
            loss_function(logits.flatten(0, 1), tgt[:, 1:].flatten()).backward()
            optimizer.step()

        return step

    def new_model() -> Transformer:
        return Transformer(words, words, width, heads, layers, d_ff, dropout=0.0)

    theirs = PyTorchTransformer(new_model(), heads, layers, d_ff)
    for layer in (*theirs.model.encoder_layers, *theirs.model.decoder_layers):
        layer.requires_grad_(False)  # not used: nn.Transformer stands in their place
    return step_of(new_model()), step_of(theirs)


def decoding_jobs(length: int) -> tuple[Job, Job]:
    """Greedy decoding of `length` words for one sentence, with the key/value cache and without."""
    torch.manual_seed(0)
    model = Transformer(200, 200, 64, 4, 2, 256, dropout=0.0, max_len=length + 1)
    with torch.no_grad():
        model.generator.bias[2] = -1e9  # never ends, so that the length is what was asked for
    src = torch.randint(3, 200, (1, 20))

    def run_cached():
        return greedy_decode_cached(model, src, 1, 2, length)

    def run_plain():
        return greedy_decode(model, src, 1, 2, length)

    assert torch.equal(run_cached(), run_plain())
    return run_cached, run_plain


def bench_reference(pairs: int) -> None:
    """Print the table of the reference code."""
    print(
        f"reference code, torch {torch.__version__}, {torch.get_num_threads()} thread(s), ", end=""
    )
    print(f"median of {pairs} pairs\n")
    row = "{:<58}{:>10}{:>9}"
    print(row.format("what", "ours", "ratio"))
    rows = []
    for batch, length, width, heads, mask in [
        (96, 14, 64, 4, False), (96, 14, 64, 4, True), (32, 14, 64, 4, True),
        (16, 64, 128, 8, False), (16, 64, 128, 8, True), (4, 256, 256, 8, True),
        (2, 512, 512, 8, True),
    ]:  # fmt: skip
        masked = "causal" if mask else "no mask"
        name = f"attention, B={batch} T={length} d_model={width} H={heads} {masked}"
        rows.append((f"{name} / nn.Multihead…", attention_jobs(batch, length, width, heads, mask)))
    for batch, source, target in [(96, 12, 13), (96, 24, 26)]:
        name = f"training step, B={batch} S={source} T={target} / nn.Transformer"
        rows.append((name, training_jobs(batch, source, target)))
    for length in (32, 64, 128, 256, 512):
        name = f"greedy decoding of {length} words, cached / not cached"
        rows.append((name, decoding_jobs(length)))
    for name, (ours, theirs) in rows:
        seconds, ratio = paired(ours, theirs, pairs)
        print(row.format(name, f"{1000 * seconds:.2f} ms", f"{ratio:.2f}"), flush=True)


GRADED = "a5_multi_head_attention"
KINDS = {"right": None, "heads not split": "split_heads", "heads not merged": "merge_heads"}


def filled_in(wrong: str | None, mark: str) -> NotebookNode:
    """The release with the right answers, one of them wrong; ``mark`` makes it like no other."""
    solution = nbformat.read(ROOT / f"solutions/{GRADED}/{GRADED}.ipynb", as_version=4)
    answers = {
        cell.metadata.nbgrader.grade_id: cell.source.replace("### BEGIN SOLUTION", "").replace(
            "### END SOLUTION", ""
        )
        for cell in solution.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    notebook = nbformat.read(ROOT / f"exercises/{GRADED}/{GRADED}.ipynb", as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            text = answers[name]
            cell.source = text.replace(".transpose(1, 2)", "") if name == wrong else text
            cell.source += f"\n# {mark}"
    return notebook


# nbgrader alone: its own kernels, in which check cells run as a student's own Jupyter runs them
STOCK = """\
c = get_config()
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
"""


def hand_in(course: Path, submissions: int, config: str = "") -> None:
    """Make a course folder in which a third of the class is right and two thirds made a mistake.

    Args:
        course: the folder.
        submissions: how many.
        config: the text of ``nbgrader_config.py``; the course's own if empty.
    """
    (course / "solutions" / GRADED).mkdir(parents=True)
    own = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    (course / "nbgrader_config.py").write_text(config or own, encoding="utf-8")
    shutil.copy(ROOT / f"solutions/{GRADED}/{GRADED}.ipynb", course / "solutions" / GRADED)
    for number in range(submissions):
        folder = course / "submitted" / f"student{number:04d}" / GRADED
        folder.mkdir(parents=True)
        wrong = list(KINDS.values())[number % len(KINDS)]
        nbformat.write(filled_in(wrong, str(number)), folder / f"{GRADED}.ipynb")
    timed(course, "nbgrader", "generate_assignment", GRADED, "--create")


@dataclass(frozen=True)
class Run:
    """A command that has run: its seconds, how much memory the machine lacked, and the scores."""

    seconds: float
    memory: float
    scores: list[tuple]


def timed(course: Path, *command: str) -> Run:
    """Run a Python module in a course folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    before = least = psutil.virtual_memory().available
    begin = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=course, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while process.poll() is None:
            least = min(least, psutil.virtual_memory().available)
            time.sleep(0.05)
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Run(seconds, (before - least) / 2**20, scores_in(course))


OURS = ("autograder", "grade", GRADED, "--no-feedback")


def bench_grading(submissions: int, larger: list[int]) -> bool:
    """Print how long classes take, ours and stock nbgrader on the same submissions.

    Stock nbgrader grades one after the other, so a larger class takes it as much longer.

    Returns:
        whether both gave the same scores.
    """
    print(f"\ngrading {GRADED}, {os.cpu_count()} workers, sandboxed; without feedback pages\n")
    row = "{:<52}{:>10}{:>12}{:>10}"
    print(row.format("", "seconds", "ms each", "MiB"))

    def show(name: str, run: Run, number: int) -> None:
        each = 1000 * run.seconds / number
        print(
            row.format(name, f"{run.seconds:.1f}", f"{each:.0f}", f"{run.memory:.0f}"), flush=True
        )

    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in (submissions, *larger):
            course = Path(folder, str(number))
            hand_in(course, number)
            runs[number] = timed(course, *OURS)
            show(f"{number} submissions, ours, start included", runs[number], number)
        show("the same again: nothing is new", timed(course, *OURS), number)
        course = Path(folder, "stock")
        hand_in(course, submissions, STOCK)
        stock = timed(course, "nbgrader", "autograde", GRADED)
        show(f"{submissions} submissions, nbgrader autograde", stock, submissions)
    print()
    for number, run in runs.items():
        faster = stock.seconds / submissions * number / run.seconds
        print(f"times faster, {number} submissions, start included {faster:6.1f}")
    least, most = runs[submissions], runs[number]
    if number > submissions:
        more = (most.seconds - least.seconds) / (number - submissions)
        print(f"each further submission {1000 * more:.0f} ms")
        print(f"flat cost {least.seconds - submissions * more:.1f} s")
    same = least.scores == stock.scores
    print(f"same scores  {'yes' if same else 'NO'}")
    return same


class Timed(SandboxedKernel):
    """Notes how long a submission's stages take, in seconds."""

    def __init__(self, zygote: Kernels, disallowed_lists: Sequence[Disallowed]) -> None:
        super().__init__(zygote, Limits(), {}, disallowed_lists)
        self.spent = dict.fromkeys(STAGES, 0.0)

    def run(self, cell: NotebookNode, index: int) -> None:
        with self.during("cells"):
            super().run(cell, index)

    def ask(self, message: bytes) -> bytes:
        with self.during("probes"):
            return super().ask(message)

    @contextlib.contextmanager
    def during(self, stage: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.spent[stage] += time.perf_counter() - begin


STAGES = {
    "bare": "a fork that only executes the cells, no kernel",
    "start": "fork, confinement, a kernel that answers",
    "cells": "the notebook's cells, visible tests among them",
    "probes": "the probe's requests in the kernel",
    "decide": "reference, comparison, naming mistakes",
    "end": "letting go of the kernel",
}


def bare_fork(cells: list[str]) -> float:
    """Seconds of a fork of this process that executes cells and leaves."""
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        for cell in cells:
            with contextlib.suppress(Exception):
                exec(compile(cell, "cell", "exec"), namespace)  # noqa: S102 (what is measured)
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - begin


def stages_of(notebook: NotebookNode, zygote: Kernels) -> dict[str, float]:
    """Grade one notebook; the seconds of each stage."""
    cells = [cell.source for cell in notebook.cells if not graded_part(cell.source)]
    bare = bare_fork([source for source in cells if "def " in source or "import " in source])
    begin = time.perf_counter()
    timing = Timed(zygote, disallowed_lists_of(load(GRADED)))
    with timing:
        timing.kernel.run("", "nothing", lambda *_: None)
        started = time.perf_counter()
        grading = Grading(timing, load(GRADED))
        for index, cell in enumerate(notebook.cells):
            grading.take(cell, index)
        decided = time.perf_counter()
    ended = time.perf_counter()
    asked = timing.spent["cells"] + timing.spent["probes"]
    own = {"bare": bare, "start": started - begin, "decide": decided - started - asked}
    return {**timing.spent, **own, "end": ended - decided}


def bench_stages(runs: int) -> None:
    """Print where one submission's milliseconds go, one at a time on an idle machine."""
    torch.set_num_threads(1)
    print("\none submission alone, median milliseconds\n")
    row = "{:<52}" + "{:>18}" * len(KINDS)
    print(row.format("", *KINDS))
    zygote = own_kernels(bubblewrap.FULL, allowed_modules(GRADED))
    columns = []
    for wrong in KINDS.values():
        spent = []
        for number in range(runs + 1):  # the first one is not counted
            notebook = filled_in(wrong, str(number))
            add_checks(notebook, load(GRADED))
            spent.append(stages_of(notebook, zygote))
        columns.append(
            {stage: 1000 * statistics.median(one[stage] for one in spent[1:]) for stage in STAGES}
        )
    for stage, what in STAGES.items():
        print(row.format(what, *(f"{column[stage]:.0f}" for column in columns)))
    totals = [sum(column.values()) - column["bare"] for column in columns]
    print(row.format("all but the bare fork", *(f"{total:.0f}" for total in totals)))
    kernels.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=25, help="pairs a row; 0 for none")
    parser.add_argument("--submissions", type=int, default=48, help="to grade; 0 for none")
    parser.add_argument(
        "--large", type=int, nargs="*", default=[300], help="also grade classes as large as these"
    )
    options = parser.parse_args()
    if options.pairs:
        bench_reference(options.pairs)
    if options.submissions:
        bench_stages(15)
        if not bench_grading(options.submissions, options.large):
            sys.exit("the grader and stock nbgrader give other scores")


if __name__ == "__main__":
    main()
