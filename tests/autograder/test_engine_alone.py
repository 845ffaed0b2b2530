"""The grader is a package of its own: it installs and imports without any course."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.sample_class import ROOT

ENGINE = tomllib.loads((ROOT / "autograder" / "pyproject.toml").read_text(encoding="utf-8"))
COURSE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BROUGHT_BY_THOSE = {
    "alembic",
    "ipython",
    "jupyter_client",
    "markupsafe",
    "matplotlib_inline",
    "traitlets",
    "typing_extensions",
}


def test_it_needs_nothing_that_the_course_does_not_lock():
    extras = ENGINE["project"]["optional-dependencies"]
    needed = {*ENGINE["project"]["dependencies"], *extras["torch"]}
    assert needed <= set(COURSE["project"]["dependencies"])
    assert extras["dask"] == COURSE["project"]["optional-dependencies"]["dask"]
    for field in ("version", "requires-python"):
        assert ENGINE["project"][field] == COURSE["project"][field]


def test_it_asks_for_every_package_that_it_imports():
    needed = ENGINE["project"]["dependencies"] + ENGINE["project"]["optional-dependencies"]["torch"]
    asked = {re.match(r"(?:python-)?([\w-]+)", item)[1] for item in needed}
    asked |= BROUGHT_BY_THOSE | {"distributed"}
    imported = {
        name.lower()
        for path in (ROOT / "autograder").rglob("*.py")
        for name in re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
    }
    assert imported - set(sys.stdlib_module_names) - {"autograder"} <= asked


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """What a wheel of the engine holds."""
    folder = tmp_path_factory.mktemp("engine")
    shutil.copytree(
        ROOT / "autograder", folder / "autograder", ignore=shutil.ignore_patterns("__pycache__")
    )
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "./autograder",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run(
        [*wheel, "--wheel-dir", "wheels", "--quiet"], cwd=folder, check=True, capture_output=True
    )
    [path] = (folder / "wheels").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.mark.long
def test_a_wheel_holds_the_engine_and_no_course(unpacked):
    assert {path.name for path in unpacked.iterdir() if "dist-info" not in path.name} == {
        "autograder"
    }
    for kind in ("*.py", "*.html"):
        there = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob(kind)}
        assert there == {
            path.relative_to(ROOT).as_posix() for path in (ROOT / "autograder").rglob(kind)
        }


@pytest.mark.long
def test_it_decides_without_the_course(unpacked):
    program = (
        "import importlib.util as found, autograder.checks.decide as decide\n"
        "import autograder.batch.classroom, autograder.release.assignment\n"
        "print(decide.__file__, found.find_spec('course_utils'), found.find_spec('assignments'))\n"
        "from autograder.checks.course import known\n"
        "try: known()\nexcept LookupError as error: print(error)\n"
    )
    # -S: what is installed for development would be found by its own way
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", program],
        cwd=unpacked,
        env={"PYTHONPATH": f"{unpacked}:{packages}", "HOME": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{unpacked}/autograder/checks/decide.py None None\n")
    assert "there is no package `assignments`" in done.stdout
