"""What a notebook may find switched is put back at little cost."""

import subprocess
import sys

import pytest

LOOK = """
import sys
import matplotlib, torch
from autograder.probe.switches import as_at_the_start, note_start
note_start()
before = set(sys.modules)
torch.set_default_dtype(torch.float64)
with as_at_the_start():
    assert torch.get_default_dtype() is torch.float32
assert torch.get_default_dtype() is torch.float64
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.long
def test_nothing_is_imported_to_put_switches_back():
    """Each fork of a kernel would do so again: PyTorch's compiler alone takes more than a second."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
