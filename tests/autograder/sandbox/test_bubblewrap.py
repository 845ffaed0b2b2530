"""What a submission can see: the modules that its assignment allows, and nothing that knows an answer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assignments import COURSE as COURSE_ITSELF
from assignments import allowed_modules, known, load
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.client import KernelClient
from autograder.sandbox.limits import Limits
from tests.sample_class import ROOT

ALLOWED = sorted({allowed_modules(name) for name in known()}, key=lambda names: (len(names), names))
# the fewest modules and the most, and in between what takes long
SOME_OR_ALL = [
    ALLOWED[0],
    *(pytest.param(names, marks=pytest.mark.long) for names in ALLOWED[1:-1]),
    ALLOWED[-1],
]
COURSE, KIT = map(bubblewrap.folder_of, ("course_utils", "lecture_kit"))
EVERYTHING = {
    str(path.relative_to(ROOT).with_suffix("")).replace("/", ".").removesuffix(".__init__")
    for package in ("assignments", "autograder", "course_utils", "lecture_kit")
    for path in (ROOT / package).rglob("*.py")
}
# of the grader, what runs beside a submission
SEEN = ("autograder.probe", "autograder.sandbox")
ALIAS = {"autograder.cell"}  # what `autograder.sandbox.silent_cell` is called there
OPEN = {f"autograder{name}" for name in ("", ".alarms", ".arrays", ".errors", ".files", ".patches")}

IMPORT = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
own = [module for name, module in sys.modules.items() if name.split(".")[0] in ("course_utils", "lecture_kit")]
print(json.dumps([module.__file__ for module in own]))
"""


def module_of(path):
    text = str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
    return text.removesuffix(".__init__")


def visible(modules):
    """Names of the modules that a sandbox with these modules may import, of ours and the course's."""
    course = {module_of(path) for path in bubblewrap.files_of(modules) if path.suffix == ".py"}
    ours = {name for name in EVERYTHING if name in OPEN or name.startswith(SEEN)}
    return course | ours


# ------------------------------------------------------------------------ whose walls, if any


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with such programs, each of which says this when it may not make namespaces."""

    def pretend(system, own):
        there = {}
        for name, message in {"system": system, bubblewrap.OWN: own}.items():
            if message is not None:
                path = tmp_path / name / "bwrap"
                path.parent.mkdir()
                path.write_text(
                    "#!/bin/sh\n"
                    '[ "$1" = --version ] && { echo bubblewrap 1.2.3; exit 0; }\n'
                    f'echo "{message}" >&2\n[ -z "{message}" ]\n'
                )
                path.chmod(0o755)
                there[name] = str(path)
        monkeypatch.setattr(bubblewrap, "programs", lambda: tuple(there.values()))
        bubblewrap.missing.cache_clear()
        return there

    yield pretend
    bubblewrap.missing.cache_clear()


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="walls need Linux")


@on_linux
def test_the_systems_own_bubblewrap_comes_first(machine):
    there = machine("", "")
    assert bubblewrap.bubblewrap() == there["system"]
    said = bubblewrap.in_words(bubblewrap.FULL)
    assert said == f"full (bubblewrap 1.2.3, the system's, {there['system']})"
    assert bubblewrap.in_words(bubblewrap.NONE) == "none"


@on_linux
@pytest.mark.parametrize("system", [None, "bwrap: unknown option --cap-add"])
def test_where_the_system_has_none_that_works_the_courses_own_does(machine, system):
    assert bubblewrap.command(())[0:1] == [bubblewrap.bubblewrap()]
    there = machine(system, "")
    assert bubblewrap.bubblewrap() == there[bubblewrap.OWN]
    assert bubblewrap.in_words(bubblewrap.FULL) == "full (bubblewrap 1.2.3, the course's own)"


@on_linux
def test_where_there_is_none_or_none_may_work_it_is_said_what_to_do(machine):
    machine(None, None)
    with pytest.raises(
        bubblewrap.SandboxError, match=r"there is no program `bwrap`\. Install it: "
    ):
        bubblewrap.bubblewrap()
    machine("No permission", "Neither")
    with pytest.raises(
        bubblewrap.SandboxError, match=r"may not make namespaces here: No permission\."
    ):
        bubblewrap.bubblewrap()


@on_linux
def test_the_courses_own_bubblewrap_is_there():
    assert any(bubblewrap.OWN in program for program in bubblewrap.programs())


# ------------------------------------------------------------------- which files are shown at all


@pytest.mark.parametrize("modules", SOME_OR_ALL, ids=len)
def test_the_files_of_modules_are_those_that_importing_them_reads(modules):
    run = subprocess.run(
        [sys.executable, "-c", IMPORT, *modules], capture_output=True, text=True, check=True
    )
    shown = {path for path in bubblewrap.files_of(modules) if path.suffix == ".py"}
    assert shown == {Path(path) for path in json.loads(run.stdout)}


def test_a_style_sheet_comes_with_what_plots():
    styles = set(KIT.glob("plotting/*.mplstyle"))
    assert styles
    assert styles <= bubblewrap.files_of(["lecture_kit.plotting"])
    assert not styles & bubblewrap.files_of(["course_utils.signoff"])


def test_no_modules_are_no_files_and_an_unknown_one_is_its_package_alone():
    assert bubblewrap.files_of([]) == set()
    assert bubblewrap.files_of(["course_utils.no_such_module"]) == {COURSE / "__init__.py"}


def test_what_is_handed_to_answers_brings_nothing_else_along():
    assert bubblewrap.files_of(COURSE_ITSELF.handed_over) == {
        KIT / "__init__.py",
        KIT / "handed_over.py",
    }


@pytest.mark.parametrize("name", known())
def test_an_assignment_is_not_shown_its_answers_or_bars_them_by_name(name):
    assignment = load(name)
    shown = bubblewrap.files_of(allowed_modules(name))
    for part in assignment.parts:
        reference = part.reference
        disallowed = assignment.disallowed if part.disallowed is None else part.disallowed
        hidden = Path(sys.modules[reference.__module__].__file__) not in shown
        assert hidden or reference.__name__ in disallowed, part


# ------------------------------------------------------------------------------ seen from inside

# each way gets a module's name and its file, and must not come back
WAYS = '''
import ast, builtins, gc, importlib, importlib.machinery, importlib.util, json, linecache, os, pkgutil
import runpy, sys, types, warnings

warnings.simplefilter("ignore")


def by_import(name, file): exec(f"import {name}", {})
def by_from(name, file): exec(f"from {name} import *", {})
def by_attribute(name, file): exec(f"import {name.split('.')[0]}; {name}.__doc__", {})
def by_builtin(name, file): __import__(name)
def by_importlib(name, file): importlib.import_module(name)
def by_spec(name, file): importlib.util.find_spec(name).loader.get_code(name)
def by_modules(name, file): sys.modules[name]
def by_runpy(name, file): runpy.run_module(name)
def by_pkgutil(name, file): pkgutil.resolve_name(name + ":__doc__")
def by_loader(name, file): importlib.machinery.SourceFileLoader(name, file).load_module()
def by_reading(name, file): open(file).read()
def by_bytecode(name, file): open(importlib.util.cache_from_source(file), "rb").read()
def by_listing(name, file):
    if os.path.basename(file) not in os.listdir(os.path.dirname(file)): raise FileNotFoundError(file)
def by_magic(name, file):
    get_ipython().run_line_magic("load", file)
def by_lines(name, file):
    if not linecache.getlines(file): raise FileNotFoundError(file)


def attempts(name, file):
    """The ways that led somewhere."""
    found = []
    for way in list(globals().values()):
        if isinstance(way, types.FunctionType) and way.__name__.startswith("by_"):
            try:
                way(name, file)
            except (ImportError, KeyError, AttributeError, OSError, ValueError):
                continue
            found.append(way.__name__)
    return found
'''  # fmt: skip

LOOK = '''
def module_names():
    """Modules whose code is somewhere in this process, wherever it hides."""
    seen = set()
    gc.unfreeze()
    for thing in gc.get_objects():
        if isinstance(thing, types.ModuleType):
            seen.add(thing.__name__)
        elif isinstance(thing, (types.FunctionType, type)):
            seen.add(getattr(thing, "__module__", None))
        elif isinstance(thing, dict) and isinstance(thing.get("__name__"), str):
            seen.add(thing["__name__"])
    for frame in sys._current_frames().values():
        while frame:
            seen.add(frame.f_globals.get("__name__"))
            frame = frame.f_back
    for thing in vars(builtins).values():
        seen.add(getattr(thing, "__module__", None))
    seen.update(sys.modules)
    return {name for name in seen if isinstance(name, str)}


def files_of_the_course():
    """Files in our folders, and files anywhere else that look like ours."""
    own, alike = [], []
    for folder, below, files in os.walk("/"):
        if folder in ("/usr", "/proc", "/sys", "/dev", PREFIX, BASE):
            below[:] = []
            continue
        for file in files:
            (own if folder.startswith(ROOT) else alike).append(os.path.join(folder, file))
    alike = [path for path in alike if path.endswith((".py", ".pyc", ".ipynb", ".json", ".db"))]
    return own, alike


print(json.dumps({
    "ways": {name: attempts(name, file) for name, file in ASKED.items()},
    "modules": sorted(module_names()),
    "files": files_of_the_course(),
    "code": sorted({
        code.co_filename for code in gc.get_objects() if isinstance(code, types.CodeType)
    }),
    "lines": sorted(linecache.cache),
}))
'''  # fmt: skip


@pytest.fixture(scope="module", params=SOME_OR_ALL, ids=len)
def look(request):
    """The modules that are allowed, and what a submission found that looked everywhere."""
    if bubblewrap.missing():
        pytest.skip(bubblewrap.missing())
    files = {}
    for name in sorted(EVERYTHING):
        path = ROOT.joinpath(*name.split("."))
        files[name] = str(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    places = {"ASKED": files, "ROOT": str(ROOT), "PREFIX": sys.prefix, "BASE": sys.base_prefix}
    constants = "\n".join(f"{name} = {value!r}" for name, value in places.items())
    shown = []
    zygote = kernels.own_kernels(bubblewrap.FULL, request.param)
    with KernelClient(zygote, Limits()) as kernel:
        for code in (WAYS, constants, LOOK):
            kernel.run(code, "id", lambda kind, content: shown.append(content))
    kernels.close()
    assert all("text" in content for content in shown), shown
    return request.param, json.loads("".join(content["text"] for content in shown))


def of_ours(names):
    return {
        name
        for name in names
        if name.split(".")[0] in ("assignments", "autograder", "course_utils", "lecture_kit")
    }


def test_what_is_allowed_can_be_imported(look):
    modules, found = look
    for name in (*modules, *OPEN, "autograder.probe.probe", "autograder.sandbox.kernel"):
        assert {"by_import", "by_importlib", "by_modules", "by_reading"} <= set(found["ways"][name])


def test_nothing_else_can_be_had_in_any_way(look):
    modules, found = look
    hidden = set(found["ways"]) - visible(modules) - ALIAS
    assert {
        "assignments",
        "assignments.a2_self_attention.answers",
        "autograder.checks.decide",
        "autograder.grade.run",
    } <= hidden
    assert "course_utils.inside" in hidden
    assert {"course_utils.transformer"} - set(modules) <= hidden
    ways = {name: found["ways"][name] for name in sorted(hidden)}
    assert {name: way for name, way in ways.items() if way} == {}


def test_no_other_module_is_in_the_process(look):
    modules, found = look
    assert of_ours(found["modules"]) <= visible(modules) | ALIAS


def test_no_other_code_or_source_is_in_the_process(look):
    modules, found = look
    paths = [path for path in (*found["code"], *found["lines"]) if path.startswith(f"{ROOT}/")]
    own = {module_of(Path(path)) for path in paths if not path.startswith(sys.prefix)}
    assert own
    assert own <= visible(modules)


def test_no_other_file_is_on_the_disk(look):
    modules, found = look
    own, alike = found["files"]
    shown = {module_of(Path(path)) for path in own if path.endswith(".py")}
    assert shown == visible(modules)
    rest = {Path(path) for path in own if not path.endswith((".py", ".pyc"))}
    with_data = {KIT / f"trained/{name.rpartition('.')[2]}.json" for name in visible(modules)}
    assert rest <= set(KIT.glob("plotting/*.mplstyle")) | with_data
    bytecode = {Path(path).name.split(".")[0] for path in own if path.endswith(".pyc")}
    assert bytecode <= {Path(path).stem for path in own if path.endswith(".py")}
    assert alike == []
