"""The types of course_utils: all of them are there, and what they say of shapes is so."""

import ast
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

import course_utils

FOLDER = Path(__file__).parent
SHAPED = re.compile(r"""(Bool|Float|Float32|Int|Num)\[(Tensor|np\.ndarray), '.*?'\]""")


def functions_of(path):
    """What a module gives to others: functions and methods, by their names."""
    for scope in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(scope, ast.Module | ast.ClassDef):
            for node in scope.body:
                if isinstance(node, ast.FunctionDef) and not re.match("_(?!_)", node.name):
                    yield f"{path.stem}.{getattr(scope, 'name', '')}.{node.name}", node


PUBLIC = dict(
    chain.from_iterable(map(functions_of, Path(course_utils.__file__).parent.glob("*.py")))
)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_and_result_has_a_type_and_every_tensor_a_shape(name):
    function = PUBLIC[name]
    arguments = [*function.args.args, *function.args.kwonlyargs]
    types = [one.annotation for one in arguments if one.arg != "self"]
    if not name.endswith("__init__"):
        types.append(function.returns)
    assert None not in types
    for written in map(ast.unparse, types):
        assert not re.search("Tensor|ndarray", SHAPED.sub("", written)), written


def test_what_comes_and_goes_has_the_shapes_that_are_written():
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"--ignore={__file__}",
        str(FOLDER),
    ]
    command = [sys.executable, "-m", f"{__package__}.checked", *options]
    run = subprocess.run(
        command, cwd=FOLDER.parents[1], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
