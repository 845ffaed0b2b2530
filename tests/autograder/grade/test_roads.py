"""A notebook takes the short road of a batch or the long one of nbgrader, and comes out the same."""

import ast
import importlib
import inspect
import json
import re
import tempfile
from dataclasses import replace
from functools import cache

import nbformat
import pytest
from jupyter_client.provisioning import KernelProvisionerFactory
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.preprocessors import LimitOutput
from nbgrader.utils import compute_checksum

from assignments import allowed_modules, known, load
from autograder.checks.verdicts import Obstacle
from autograder.grade.execute import Execute
from autograder.grade.grading import graded_part
from autograder.grade.messages import Job, ReleasedCell
from autograder.grade.restore import restore, solution_cells
from autograder.grade.run import SHELL, run_job
from autograder.grade.sanitize import Sanitize
from autograder.grade.submission import notebook_in
from autograder.sandbox import provisioner
from autograder.sandbox.limits import Limits
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT, SUBMISSIONS, submission

pytestmark = pytest.mark.long

SECONDS_PER_CELL = 40
# of all assignments, so that one zygote is enough
MODULES = sorted({module for name in known() for module in allowed_modules(name)})
# what differs from one run to the next, whichever road it takes
CHANCE = re.compile(r"0x[0-9a-f]{6,}|ipykernel_\d+|\d{4}-\d\d-\d\d \d\d:\d\d UTC|pid \d+")


@pytest.fixture(scope="module")
def roads():
    """Both roads, with one zygote each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DEFAULT_PROVISIONER_NAME", "warm-provisioner")
        KernelProvisionerFactory.clear_instance()
        yield short_road, long_road
        provisioner.close()
        KernelProvisionerFactory.clear_instance()


def short_road(assignment, text, released=()):
    """The graded notebook and the verdicts as they come out of a batch."""
    limits = Limits(seconds_per_cell=SECONDS_PER_CELL, clock_per_cell=SECONDS_PER_CELL + 20)
    job = Job(assignment, text, released, ISOLATION, limits=limits)
    result = run_job(job, provisioner.own_zygote(SHELL, ISOLATION, MODULES))
    assert not result.broken
    return nbformat.reads(result.notebook, as_version=4), result.verdicts


def long_road(assignment, text, released=()):
    """The same, by nbclient and the steps of stock ``nbgrader autograde``."""
    notebook = notebook_in(text)
    restore(notebook, released)
    notebook.metadata.handed_out = solution_cells(released)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    runner = Execute(timeout=SECONDS_PER_CELL)
    with tempfile.TemporaryDirectory() as folder:
        runner.preprocess(notebook, {"metadata": {"path": folder}})
    Sanitize().preprocess(notebook, {})
    LimitOutput().preprocess(notebook, {})
    return notebook, runner.verdicts


def shown(notebook):
    """What each code cell shows, its number of execution included, without what is left to chance."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        outputs = []
        for output in cell.outputs:
            last = outputs[-1] if outputs else {}
            if output.output_type == "stream" and last.get("name") == output.name:
                last["text"] += output.text
            else:
                outputs.append(dict(output))
        text = json.dumps([cell.execution_count, outputs], sort_keys=True, ensure_ascii=False)
        cells.append((cell.source, json.loads(CHANCE.sub("…", text))))
    return cells


def assert_the_same(roads, assignment, text, released=()):
    (short, told), (long, told_too) = (road(assignment, text, released) for road in roads)
    assert told == told_too
    assert shown(short) == shown(long)
    return shown(short)


# ------------------------------------------------------------------------- the sample class


@cache
def released_cells(assignment):
    """nbgrader's cells of an assignment, as a gradebook would list them."""
    solution = nbformat.read(ROOT / f"solutions/{assignment}/{assignment}.ipynb", as_version=4)
    marked = [cell for cell in solution.cells if "nbgrader" in cell.metadata]
    return tuple(
        ReleasedCell(
            marks.grade_id, cell.cell_type, cell.source, compute_checksum(cell), marks.locked,
            marks.solution, marks.points if marks.grade else None,
        )
        for cell in marked
        for marks in [cell.metadata.nbgrader]
    )  # fmt: skip


def test_code_as_it_was_handed_out_is_no_answer_on_either_road(roads):
    name, part = "a7_dropout_and_layer_norm", "SelfAttentionWithDropoutAndNorm"
    text = (ROOT / "exercises" / name / f"{name}.ipynb").read_text(encoding="utf-8")
    given = {cell.id: cell.source for cell in nbformat.reads(text, as_version=4).cells}
    released = tuple(
        replace(cell, source=given[cell.name]) if cell.written else cell
        for cell in released_cells(name)
    )
    (_, short), (_, long) = (road(name, text, released) for road in roads)
    assert short == long and len(short) == 3
    assert {verdict.obstacle for verdict in short.values()} == {Obstacle.UNANSWERED}
    assert "is as it was handed out" in short[part].remark


NOTEBOOKS = sorted(path.stem for path in SUBMISSIONS.glob("*.py") if path.stem != "not_json")


@pytest.mark.parametrize("student", NOTEBOOKS)
def test_the_sample_class_comes_out_the_same(roads, student):
    notebook, released = submission(student), released_cells(ASSIGNMENT)
    if student == "endless_loop":  # once is enough: its visible test would wait for it, too
        released = tuple(cell for cell in released if cell.name != "test_self_attention")
        notebook.cells = [
            cell
            for cell in notebook.cells
            if cell.metadata.get("nbgrader", {}).get("grade_id") != "test_self_attention"
        ]
    cells = assert_the_same(roads, ASSIGNMENT, nbformat.writes(notebook), released)
    assert sum("verdict+json" in str(outputs) for _, (_, outputs) in cells) == 4


def test_a_cell_that_is_stopped_is_in_error_and_the_next_one_runs(roads, monkeypatch):
    monkeypatch.setattr("tests.autograder.grade.test_roads.SECONDS_PER_CELL", 2)
    sources = ["print('before')", "while True: pass", "print('after')"]
    text = nbformat.writes(new_notebook(cells=[*map(new_code_cell, sources)]))
    for road in roads:
        before, stopped, after = shown(road(ASSIGNMENT, text)[0])
        assert before[1] == [1, [{"output_type": "stream", "name": "stdout", "text": "before\n"}]]
        assert after[1] == [3, [{"output_type": "stream", "name": "stdout", "text": "after\n"}]]
        count, outputs = stopped[1]
        assert count == 2
        assert "CellTimeoutError" in [output["ename"] for output in outputs]


# ---------------------------------------------------------------------- answers of the banks


class NotAlone(Exception):
    """An answer needs more than a notebook can import."""


class Renamed(ast.NodeTransformer):
    """An answer under the name that the assignment gives it, and without its place in the bank."""

    def __init__(self, name, other):
        self.name, self.other = name, other

    def visit_Name(self, node):
        return ast.Name(self.other, node.ctx) if node.id == self.name else node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        if node.name == self.name:
            node.name = self.other
        return node

    visit_ClassDef = visit_FunctionDef


@cache
def statements_of(name):
    """The statements of a bank by each name that they bind."""
    bound = {}
    for statement in ast.parse(inspect.getsource(importlib.import_module(name))).body:
        names = {getattr(statement, "name", None)}
        names |= {item.asname or item.name for item in getattr(statement, "names", ())}
        names |= {getattr(target, "id", None) for target in getattr(statement, "targets", ())}
        if hasattr(statement, "decorator_list"):
            kept = [item for item in statement.decorator_list if not in_bank(item)]
            statement.decorator_list = kept
        for one in names - {None}:
            bound.setdefault(one, []).append(statement)
    return bound


def in_bank(decorator):
    return any(isinstance(node, ast.Name) and node.id == "BANK" for node in ast.walk(decorator))


def needed(bound, name, found, allowed):
    """Collect the statements that a name of a bank needs."""
    for statement in bound.get(name, ()):
        if statement in found:
            continue
        names = [item.name for item in getattr(statement, "names", ())]
        origin = getattr(statement, "module", None) or "".join(names)
        if (
            origin.split(".")[0] in ("course_utils", "autograder", "tests")
            and origin not in allowed
        ):
            raise NotAlone(origin)
        found.append(statement)
        for other in {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}:
            needed(bound, other, found, allowed)


def answers_of(assignment):
    """(part, code of a cell) for each answer of the bank that can stand in a notebook."""
    bank = importlib.import_module(f"assignments.{assignment}.answers")
    bound, allowed = statements_of(bank.__name__), allowed_modules(assignment)
    for answer in bank.BANK.answers:
        found = []
        try:
            needed(bound, answer.code.__name__, found, allowed)
        except NotAlone:
            continue
        found.sort(key=lambda statement: statement.lineno)
        text = "\n\n".join(map(ast.unparse, found))
        renamed = Renamed(answer.code.__name__, answer.part).visit(ast.parse(text))
        yield answer.part, ast.unparse(renamed)


@cache
def notebook_of(assignment, most):
    """A notebook in which one answer after the other is given and decided, and its locked cells."""
    by_part = {}
    for part, code in answers_of(assignment):
        by_part.setdefault(part, []).append(code)
    cells, released = [], []
    for part, codes in by_part.items():
        for code in codes[: max(most // len(by_part), 1)]:
            name = f"check_{len(released)}"
            check = f'from autograder.cell import grade\n\ngrade("{assignment}", "{part}")'
            released.append(ReleasedCell(name, "code", check, "", True, False, 1.0))
            metadata = {"nbgrader": {"grade_id": name}}
            cells += [new_code_cell(code), new_code_cell(check, metadata=metadata)]
    return nbformat.writes(new_notebook(cells=cells)), tuple(released)


# of each bank; of those that take long, fewer
SOME = dict.fromkeys(known(), 30)
SOME |= dict.fromkeys(("a6_positional_encoding", "a8_transformer_layer", "a9_transformer"), 11)


EACH = [(assignment, most) for assignment, most in SOME.items()]
ALL = [pytest.param(assignment, 1000, marks=pytest.mark.slow) for assignment in SOME]


@pytest.mark.parametrize(("assignment", "most"), [*EACH, *ALL])
def test_answers_of_the_banks_come_out_the_same(roads, assignment, most):
    text, released = notebook_of(assignment, most)
    cells = assert_the_same(roads, assignment, text, released)
    decided = [outputs for source, (_, outputs) in cells if graded_part(source)]
    assert len(decided) == len(released)
    assert all("verdict+json" in str(outputs) for outputs in decided)


def test_of_the_banks_enough_is_tried():
    checks = [cell for name, most in SOME.items() for cell in notebook_of(name, most)[1]]
    assert len(checks) >= 200
    parts = {(name, part.name) for name in known() for part in load(name).parts}
    assert {graded_part(cell.source) for cell in checks} == parts
