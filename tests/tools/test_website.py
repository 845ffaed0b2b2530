"""How the website is gathered, and the start of what sets formulas, slow on a busy machine."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from sphinxcontrib import katex

from tools import website

SLOW = """
import socket, sys, time
place = socket.socket(socket.AF_UNIX)
time.sleep({before})
place.bind(sys.argv[1])
time.sleep({between})
place.listen()
place.accept()[0].sendall(b"here")
"""


@pytest.fixture(scope="module")
def course_pages():
    spec = spec_from_file_location("course_pages", website.SITE / "course_pages.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_in_code_stay_as_they_are():
    page, link = website.ROOT / "docs/authors.md", "[lecture 2](02_basic_self_attention.py)"
    text = f"{link}\n\n````\n```python\n# {link}\n```\n````\n\n{link}\n"
    kept = website.within_site(page, text, "https://host/owner/course")
    assert kept.count(link) == 1 and f"# {link}" in kept
    assert kept.count("/blob/main/docs/02_basic_self_attention.py") == 2


def answer_with(monkeypatch, program):
    def command(socket):
        return [sys.executable, "-c", program, str(socket)]

    monkeypatch.setattr(katex.KaTeXServer, "build_command", command)


@pytest.mark.parametrize("before, between", [(0, 0.3), (0.3, 0)])
def test_formulas_wait_for_their_server(course_pages, monkeypatch, tmp_path, before, between):
    """It made its socket and does not listen yet, or has made none yet."""
    answer_with(monkeypatch, SLOW.format(before=before, between=between))
    process, connection = course_pages.started_katex(tmp_path, 20)
    with process, connection:
        assert connection.recv(4) == b"here"


@pytest.mark.parametrize("program", ["import time; time.sleep(60)", "raise SystemExit(1)"])
def test_a_server_that_never_listens_is_named_and_ended(
    course_pages, monkeypatch, tmp_path, program
):
    answer_with(monkeypatch, program)
    with pytest.raises(katex.KaTeXError, match="KaTeX server did not"):
        course_pages.started_katex(tmp_path, 0.5)
