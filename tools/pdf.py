"""Print the lectures as PDF, as the website shows them on paper.

    python -m tools.pdf                 into build/pdf/
    python -m tools.pdf --only "1-8"    a part of the course, see tools/part.py

Formulas and pictures are those of the website; where a view would move, its table stands. Chromium or Chrome does
the printing. Without either, open a page of the website in any browser and print it there, which gives the same.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.order import by_number
from tools import website
from tools.part import PartError, part_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 300  # for one lecture, on a busy machine


class PrintError(Exception):
    """Nothing can be printed; the message says why and what to do."""


def browser() -> str:
    """The program that prints.

    Raises:
        PrintError: there is none on PATH.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        raise PrintError(
            f"expected one of {', '.join(BROWSERS)} on PATH, found none. Install Chromium (on Debian and Ubuntu: "
            "apt-get install chromium), or open a lecture of the website in a browser and print it there"
        )
    return found


def print_page(page: Path, target: Path) -> None:
    """Write an HTML page as a PDF with an outline, tagged for screen readers.

    Raises:
        PrintError: there is no program for it, or it wrote nothing.
    """
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    flags += [
        "--export-tagged-pdf",
        "--generate-pdf-document-outline",
        "--virtual-time-budget=20000",
    ]
    program = browser()
    with tempfile.TemporaryDirectory() as profile:
        command = [program, *flags, f"--user-data-dir={profile}", f"--print-to-pdf={target}"]
        done = subprocess.run(
            [*command, page.resolve().as_uri()],
            capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    if done.returncode or not target.exists():
        raise PrintError(f"{program} did not print {page}: {done.stderr.strip()[-400:]}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=website.ROOT / "build/pdf")
    parser.add_argument("--only", default="", help='a part of the course, as "1-8"')
    chosen = parser.parse_args(arguments)
    try:
        browser()  # said before a minute of building
        part = part_of(chosen.only)
        chosen.to.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder, "site")
            website.build(site, part=part)
            for page in sorted(site.glob("lectures/*.html"), key=by_number):
                target = chosen.to / f"{page.stem}.pdf"
                print_page(page, target)
                print(f"{target}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
    except (PartError, PrintError) as error:
        sys.exit(f"not printed: {error}")


if __name__ == "__main__":
    main()
