"""The start of the process that sets formulas, which on a busy machine is slow."""

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
