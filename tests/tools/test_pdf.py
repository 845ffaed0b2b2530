"""Lectures can be printed, and where nothing can print them that is said before anything is built."""

import os
import re
import shutil

import pytest

from tools import pdf


def test_without_chromium_it_is_said_what_to_do_before_the_site_is_built(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(pdf.website, "build", lambda *_, **__: pytest.fail("the site was built"))
    with pytest.raises(SystemExit) as stopped:
        pdf.main(["--to", str(tmp_path / "pdf")])
    said = str(stopped.value)
    assert said.startswith("not printed: expected one of chromium, ") and "found none" in said
    assert "apt-get install chromium" in said and "print it there" in said
    assert not (tmp_path / "pdf").exists()


def test_a_program_that_prints_nothing_is_named(monkeypatch, tmp_path):
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho out of order >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(pdf.PrintError, match=r"did not print .*page\.html: out of order"):
        pdf.print_page(tmp_path / "page.html", tmp_path / "page.pdf")


@pytest.mark.long
def test_a_page_becomes_a_pdf_with_its_pages_and_tags(tmp_path):
    if not any(map(shutil.which, pdf.BROWSERS)) and not os.environ.get("CI"):
        pytest.skip("a browser is needed: apt-get install chromium")
    page = tmp_path / "page.html"
    page.write_text('<html lang="en"><h1>One</h1><h1 style="break-before: page">Two</h1></html>')
    pdf.print_page(page, tmp_path / "page.pdf")
    data = (tmp_path / "page.pdf").read_bytes()
    assert data.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", data)) == 2
    assert b"/StructTreeRoot" in data and b"/Outlines" in data
