"""The repository keeps its own promises: environment, links, alt text, nothing that names a machine."""

import re
import subprocess
import tomllib

import nbformat
import pytest
import yaml

from sources.links import dead_links
from tests.sample_class import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOTEBOOKS = sorted([*ROOT.glob("lectures/*.ipynb"), *ROOT.glob("exercises/*/*.ipynb")])
LONGEST, LONGEST_OF_ENGINE = 800, 450  # lines of a file
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
FROM_PIP = {"copydetect>=0.5"}  # which conda-forge lacks


def test_conda_users_get_the_packages_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    listed = {item for item in environment["dependencies"] if isinstance(item, str)}
    wanted = {f"python{project['requires-python']}", "pip"}
    wanted |= {
        in_conda(requirement)
        for requirement in project["dependencies"]
        # what is for some systems only, pip brings
        if ";" not in requirement and requirement not in FROM_PIP
    }
    assert listed >= wanted
    testing = listed - wanted
    assert testing <= set(map(in_conda, project["optional-dependencies"]["dev"]))
    runners = {re.match(r"[\w-]+", requirement).group() for requirement in testing}
    assert runners >= {"hypothesis", "nbval", "pytest", "pytest-xdist"}
    assert environment["dependencies"][-1] == {"pip": ["--editable .[dev]"]}, "and all the rest"


def in_conda(requirement):
    name, version = re.match(r"([\w-]+)(.*)", requirement).groups()
    return CONDA_NAMES.get(name, name) + version


def test_authors_with_conda_read_what_make_test_runs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [flags] = re.findall(r'--nbval (-m ".+") \$\(TESTS\)', makefile)
    [folders] = re.findall(r"^TESTS = (.*)", makefile, re.MULTILINE)
    guide = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
    assert f"python -m pytest -n 2 --nbval {flags} {folders}" in guide


def test_the_lock_pins_every_package_of_pyproject():
    everything = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = everything["project"]
    lock = (ROOT / "requirements.lock").read_text()
    for requirement in project["dependencies"] + project["optional-dependencies"]["dev"]:
        name = re.match(r"[\w-]+", requirement).group()
        if requirement in everything["dependency-groups"]["sandbox"]:
            continue
        assert re.search(rf"^{name}==", lock, re.MULTILINE), f"{name}: run `make lock`"
    assert "\ntorch==2.13.0\n" in lock
    assert not re.search(r"^nvidia", lock, re.MULTILINE)


def test_the_program_that_comes_ready_made_is_locked_by_its_digests():
    everything = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [requirement] = everything["dependency-groups"]["sandbox"]
    assert requirement in everything["project"]["dependencies"]
    lock = (ROOT / "sandbox.lock").read_text()
    pinned = requirement.partition(";")[0]
    assert re.search(rf"^{re.escape(pinned)} ;.*\\$", lock, re.MULTILINE), "run `make lock`"
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", lock)) >= 2


def read_workflow(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def commands_of(workflow):
    """Every line that a workflow has a shell run, and the lines of the course's scripts among them."""
    for step in steps_of(workflow):
        for command in step.get("run", "").splitlines():
            yield command
            for script in re.findall(r"(?<!\S)\.ci/\w+", command):
                yield from (ROOT / script).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_runs_is_there(path):
    commands = [line for line in commands_of(read_workflow(path)) if "apt-get install" not in line]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands:
        for job in re.findall(r"\bmake ([a-z][\w-]*)", command):
            assert f"\n{job}:" in makefile, f"{path.name}: the Makefile has no {job}"
        for module in re.findall(r"python -m (?!venv|pytest)([\w.]+)", command):
            place = ROOT.joinpath(*module.split("."))
            assert place.is_dir() or place.with_suffix(".py").exists(), f"{path.name}: {module}"
        for word in command.split():
            if re.fullmatch(r"\.?\w[\w.-]*(/[\w.-]+)+", word) and not word.startswith(".venv/"):
                assert (ROOT / word).exists(), f"{path.name} names {word}, which is not there"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_named_as_its_file_and_takes_nobody_elses_actions(path):
    workflow = read_workflow(path)
    assert workflow["name"] == path.stem
    starts = workflow[True]  # YAML 1.1 takes the key `on` for a truth value
    after = starts.get("workflow_run", {}) if isinstance(starts, dict) else {}
    assert {f"{name}.yml" for name in after.get("workflows", [])} <= {one.name for one in WORKFLOWS}
    for step in steps_of(workflow):
        assert len({"run", "uses"} & step.keys()) == 1, step
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1"))


def markdown_of(path):
    notebook = nbformat.read(path, as_version=4)
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings_that_are_there(path):
    assert dead_links(path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_is_described(path):
    for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", markdown_of(path)):
        assert len(alt.split()) >= 8, f"the alt text of {target} says too little: '{alt}'"
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                alt = output.metadata.get("image/png", {}).get("alt", "")
                assert len(alt.split()) >= 8, f"a figure of cell {cell.id} has no alt text"


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listed.stdout.split("\0")


def test_everything_in_the_repository_is_text():
    """No package, archive or database that a command left behind."""
    files = [ROOT / name for name in tracked() if name and (ROOT / name).is_file()]
    assert len(files) > 300
    assert [path.name for path in files if b"\0" in path.read_bytes()] == []


def lines_of_code(path):
    """Lines of a file; of an assignment's notebook those that are no text, which is as long as it is."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.name == "notebook.py":
        lines = [line for line in lines if not line.startswith("#")]
    return len(lines)


def test_no_file_of_code_is_too_long_to_keep_in_mind():
    """Lectures are texts, and as long as they are."""
    lines = {
        name: lines_of_code(ROOT / name)
        for name in tracked()
        if name.endswith(".py")
        and not name.startswith("sources/lectures/")
        and (ROOT / name).is_file()
    }
    assert len(lines) > 200
    most = {
        name: LONGEST_OF_ENGINE if name.startswith("autograder/") else LONGEST for name in lines
    }
    too_long = [
        f"{name}: {count} lines, {most[name]} at most"
        for name, count in lines.items()
        if count > most[name]
    ]
    assert too_long == [], "say one thing less in it, or give a part of it a file of its own"


def tracked_text():
    for name in tracked():
        path = ROOT / name
        if name and path.is_file() and path.suffix in {".py", ".md", ".yml", ".toml"}:
            yield name, path.read_text(encoding="utf-8")
        elif path.suffix == ".ipynb":
            # what people read: in the letters of an encoded picture any word may turn up
            for cell in nbformat.read(path, as_version=4).cells:
                texts = [output.get("text", "") for output in cell.get("outputs", [])]
                yield name, "\n".join([cell.source, *texts])


def test_nothing_names_one_machine_or_a_package_index():
    marks = re.compile(
        r"(?<![\w.])/(work|farm|root|home)/|https?://[\w.]*(pypi|pythonhosted)|TO[D]O|FIX[M]E"
    )
    found = [
        f"{name}: {match.group()}"
        for name, text in tracked_text()
        if name != "tests/test_repository.py"
        for match in marks.finditer(text)
    ]
    assert found == []
