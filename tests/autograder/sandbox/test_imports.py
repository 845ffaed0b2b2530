"""What a notebook imports of the files beside it, and that none of it is machine code."""

import sysconfig
import textwrap
from pathlib import Path

import pytest

from autograder.checks.files_beside import read_beside
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.client import KernelClient
from autograder.sandbox.limits import Limits
from tests.sample_class import ISOLATION


@pytest.fixture(scope="module")
def zygote():
    yield kernels.own_kernels(ISOLATION)
    kernels.close()


def said_by(zygote, code, files):
    """What a kernel shows when it runs this with these files beside it."""
    shown = []
    with KernelClient(zygote, Limits(), files.items()) as kernel:
        kernel.run(textwrap.dedent(code), "id", lambda kind, content: shown.append(str(content)))
    return "\n".join(shown)


def test_what_lies_beside_it_is_imported(zygote):
    files = {
        "looks.py": b"print('IT RAN')",
        "package/__init__.py": b"",
        "package/inner.py": b"import looks",
    }
    assert "IT RAN" in said_by(zygote, "import package.inner", files)


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
