"""A notebook imports the files that were read with it, as they were read, and no others."""

import contextlib
import io
import py_compile
import sysconfig
import tempfile
import textwrap
import zipfile
from pathlib import Path

import pytest

from autograder.checks.notebook_source import modules_beside, read_beside
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.client import KernelClient
from autograder.sandbox.limits import Limits
from tests.sample_class import ISOLATION

SECRET = "print('IT RAN')\n"


@pytest.fixture(scope="module")
def zygote():
    yield kernels.own_kernels(ISOLATION)
    kernels.close()


def said_by(zygote, code, files, let=()):
    """What a kernel shows when it runs this with these files beside it, of which some may be imported."""
    shown = []
    with KernelClient(zygote, Limits(), files.items()) as kernel:
        for name in let:
            kernel.let_import(name, files[name])
        kernel.run(textwrap.dedent(code), "id", lambda kind, content: shown.append(str(content)))
    return "\n".join(shown)


def compiled():
    """A module as Python keeps it once it has been imported."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "looks.py").write_text(SECRET)
        return Path(py_compile.compile(str(folder / "looks.py"))).read_bytes()


def zipped():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("looks.py", SECRET)
    return held.getvalue()


FILES = {
    "looks.py": SECRET.encode(),
    "old.pyc": compiled(),
    "own.zip": zipped(),
    "package/__init__.py": SECRET.encode(),
    "package/inner.py": b"",
    "start.pth": b"import looks\n",
    "own" + sysconfig.get_config_var("EXT_SUFFIX"): b"\x7fELF",
}
ROADS = {
    "by its name in pieces": "import importlib\nimportlib.import_module('lo' + 'oks')",
    "by the built-in": "__import__('lo' + 'oks')",
    "as a backend of pictures": "import matplotlib.pyplot as plt\nplt.switch_backend('module://lo' + 'oks')",
    "as a module to be run": "import runpy\nrunpy.run_module('lo' + 'oks')",
    "from another place": "import os, sys\nsys.path.insert(0, os.getcwd())\nimport looks",
    "from a finder's cache": (
        "import sys\nsys.path_importer_cache.clear()\nimport importlib\n"
        "importlib.invalidate_caches()\n__import__('looks')"
    ),
    "from an archive": "import sys\nsys.path.insert(0, 'own.zip')\nimport looks",
    "as what was compiled": "import os\nos.rename('old.pyc', 'other.pyc')\nimport other",
    "as what was compiled before": (
        "import os, sys\nos.makedirs('__pycache__')\n"
        "os.rename('old.pyc', f'__pycache__/looks.{sys.implementation.cache_tag}.pyc')\nimport looks"
    ),
    "as a package": "__import__('pack' + 'age.inner')",
    "as a package that is copied": "import shutil\nshutil.copytree('package', 'other')\nimport other.inner",
    "at the start of a place": "import site, os\nsite.addsitedir(os.getcwd())",
    "as a file that is written": "open('mine.py', 'w').write(\"print('IT' + ' RAN')\")\nimport mine",
    "as a file that is drawn": (
        "import numpy as np\nnp.savetxt('mine.py', [\"print('IT' + ' RAN')\"], fmt='%s')\nimport mine"
    ),
    "as a module of machine code": "import own",
}


@pytest.mark.parametrize("road", ROADS)
def test_what_was_not_read_is_not_imported(zygote, road):
    said = said_by(zygote, ROADS[road], FILES)
    assert "IT RAN" not in said, said
    assert "Error" in said or road == "at the start of a place"


def test_what_was_read_is_imported_as_it_was_read(zygote):
    code = """
        import looks, package.inner
        open('looks.py', 'w').write("print('CHANGED')")
        import importlib
        importlib.reload(looks)
    """
    said = said_by(zygote, code, FILES, let=["looks.py", "package/__init__.py", "package/inner.py"])
    assert said.count("IT RAN") == 3 and "CHANGED" not in said, said


def test_libraries_are_imported_as_ever(zygote):
    code = "import colorsys, json.tool, numpy.polynomial, torch.optim.swa_utils\nprint('done')"
    assert "done" in said_by(zygote, code, FILES)


@pytest.mark.skipif(ISOLATION != bubblewrap.FULL, reason="there is no sandbox here")
@pytest.mark.parametrize(
    "road",
    [
        "import ctypes, shutil\nctypes.CDLL('./copied.so')",
        "import torch\ntorch.classes.load_library('copied.so')",
        "import torch\ntorch.ops.load_library('copied.so')",
        "import numpy as np\nnp.ctypeslib.load_library('copied', '.')",
        (
            "import mmap\nheld = open('copied.so', 'rb')\n"
            "mmap.mmap(held.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)"
        ),
        "import os\nos.memfd_create('x')",
    ],
)
def test_no_machine_code_of_a_submission_is_mapped(zygote, road):
    # which modules are files of their own differs from one Python to the next
    library = min(Path(sysconfig.get_path("stdlib"), "lib-dynload").glob("*.so"))
    said = said_by(zygote, f"{road}\nprint('IT' + ' RAN')", {"copied.so": library.read_bytes()})
    assert "IT RAN" not in said, said


def test_what_no_python_finds_is_not_there_either(zygote):
    """A notebook is taken at its word with a module that is not there, so none may be there that is not found."""
    code = """
    import sys

    def found(name):
        return any(one.find_spec(name, None) for one in sys.meta_path)

    places = {name.partition(".")[0] for name, one in sys.modules.items() if getattr(one, "__file__", None)}
    print(sorted(one for one in places - {"__main__"} if not found(one)), "and no others")
    import _pydevd_bundle
    """
    said = said_by(zygote, code, {})
    assert "[] and no others" in said and "No module named '_pydevd_bundle'" in said, said


def test_which_files_are_read():
    files = {
        "looks.py": b"import deeper",
        "deeper.py": b"",
        "a/same.py": b"1",
        "b/same.py": b"2",
        "package/__init__.py": b"",
        "never.py": b"",
        "data.txt": b"",
    }
    read = read_beside(["import looks", "from a import same", "import package"], files)
    assert set(read) == set(files) - {"never.py", "data.txt"}
    written = read_beside(["%%writefile own/mine.py\nx = 1\n", "import mine"], {})
    assert written == {"own/mine.py": b"x = 1\n"}
    assert modules_beside(["import package"], files) == (("package", ""),)
