"""Kernels that are forked warm give what kernels give that start cold."""

import os
import subprocess
import sys

import nbformat
from nbclient import NotebookClient

from autograder.sandbox import provisioner

CELLS = (
    "import sys, os, math\nprint(__name__, sys.path[0], os.getcwd(), sys.argv[0].endswith('.py'))",
    "import torch\ntorch.manual_seed(3)\nprint(torch.randn(2))",
    "print(sys.path.index(''), len(sys.path))\nfrom helper import helped\nprint(helped)",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(plt.get_backend())",
    "print(sorted(name for name in dir() if not name.startswith('_'))[:20])",
    "1 / 0",
    "!echo hello",
)


def outputs_with(name, folder):
    """What a notebook gives in a process whose kernels start in this way."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code, id=f"c{place}") for place, code in enumerate(CELLS)]
    )
    (folder / "helper.py").write_text("helped = True")
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook, path)
    program = (
        "import nbformat, sys; from nbclient import NotebookClient; path = sys.argv[1];"
        "nb = nbformat.read(path, 4);"
        "NotebookClient(nb, allow_errors=True, resources={'metadata': {'path': sys.argv[2]}},"
        "extra_arguments=['--log-level=ERROR']).execute(); nbformat.write(nb, path)"
    )
    environment = {**os.environ, "JUPYTER_DEFAULT_PROVISIONER_NAME": name}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, path, folder], env=environment, check=True
    )
    outputs = [in_one_piece(cell.outputs) for cell in nbformat.read(path, 4).cells]
    for output in (item for cell in outputs for item in cell):
        output.get("data", {}).pop("image/png", None)
    return outputs


def in_one_piece(outputs):
    """The outputs of a cell, with what was printed in several pieces joined: on a busy machine it may be."""
    joined = []
    for output in outputs:
        if joined and "text" in output and joined[-1].get("name") == output.get("name"):
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def test_a_warm_kernel_gives_what_a_cold_one_gives(tmp_path):
    cold = outputs_with("local-provisioner", tmp_path)
    assert outputs_with("warm-provisioner", tmp_path) == cold


def test_two_warm_kernels_draw_different_numbers():
    drawn = set()
    try:
        for _ in range(2):
            notebook = nbformat.v4.new_notebook(
                cells=[
                    nbformat.v4.new_code_cell(
                        "import random, numpy, torch\n"
                        "print(random.random(), numpy.random.rand(), torch.rand(1).item())"
                    )
                ]
            )
            client = NotebookClient(notebook, kernel_name="python3")
            manager = client.create_kernel_manager()
            manager.kernel_spec.metadata["kernel_provisioner"] = {
                "provisioner_name": "warm-provisioner"
            }
            client.execute()
            drawn.update(notebook.cells[0].outputs[0].text.split())
    finally:
        provisioner.close()
    assert len(drawn) == 6
