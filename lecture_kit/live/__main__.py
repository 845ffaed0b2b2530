"""Write the live views that notebooks store anew, with the script and style of today.

    python -m lecture_kit.live lectures/*.ipynb

Words and numbers stay as they are stored, and nothing is executed. After a change of a view's script
this takes a second, where building the lectures takes many minutes.
"""

import sys
from pathlib import Path

import nbformat

from lecture_kit.live.page import renewed


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        notebook = nbformat.read(path, as_version=4)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        shown = [output.data for output in outputs if "text/html" in output.get("data", {})]
        stale = [data for data in shown if renewed(data["text/html"]) != data["text/html"]]
        for data in stale:
            data["text/html"] = renewed(data["text/html"])
        if stale:
            path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        print(f"{path}: {len(stale)} views renewed")


if __name__ == "__main__":
    main(sys.argv[1:])
