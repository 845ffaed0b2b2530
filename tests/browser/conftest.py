"""A real JupyterLab and a real Chromium."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.sample_class import ROOT
from tools import website

TOKEN = "for-this-test-only"
PATIENCE = 300
"""Seconds that nothing takes, whatever else the machine does: a wait ends with what it waits for."""
SCREENSHOTS = ROOT / "build" / "screenshots"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.class.test 127.0.0.1,MAP class.test 127.0.0.1",
    "--window-size=1400,1000",
]
# What axe calls serious or critical.
SERIOUS = """const done = arguments[arguments.length - 1];
    axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(violations
        .filter(({impact}) => ['serious', 'critical'].includes(impact))
        .map(({id, nodes}) => `${id}: ${nodes.slice(0, 2).map(node => node.html.slice(0, 120))}`)));"""


def serious_faults(browser):
    """What axe calls serious or critical, on the page or in the frame that is looked at."""
    website.fetch_packages()
    browser.execute_script((website.PACKAGES / "axe-core/axe.min.js").read_text(encoding="utf-8"))
    return browser.execute_async_script(SERIOUS)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium; where it is not installed the test is left out, but never in CI."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        message = "a browser is needed: apt-get install chromium chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(driver)
    chromium = webdriver.Chrome(options=options, service=service)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    yield chromium
    chromium.quit()


def waited(find, until=bool):
    """What `find()` returns, once it is as wanted; or what it returned at last."""
    deadline, pause = time.monotonic() + PATIENCE, 0.05
    while not until(found := find()) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, 0.25)  # a question costs the page time, too
    return found


UNFOLD = """const [summary, done] = arguments;
    summary.parentElement.addEventListener('toggle', () => done(), {once: true});
    summary.click();"""


def unfold(browser, name):
    """Open or close what is folded below a summary; returns once the page has drawn what was in it.

    A browser tells a page of it later than of the click, and what is closed is not drawn.
    """
    summary = browser.find_element("xpath", f"//summary[text()='{name}']")
    browser.execute_async_script(UNFOLD, summary)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server(arguments: list[str], folder: Path, log: Path):
    """A Jupyter server with given arguments, at its address; it and its kernels end with the block."""
    port = free_port()
    command = [sys.executable, *arguments, "--no-browser", "--allow-root",
               f"--ServerApp.port={port}", f"--IdentityProvider.token={TOKEN}"]  # fmt: skip
    with log.open("w") as told:
        process = subprocess.Popen(
            command, cwd=folder, stdout=told, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield _answering(process, f"http://127.0.0.1:{port}", log)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _answering(process: subprocess.Popen[bytes], address: str, log: Path) -> str:
    deadline = time.monotonic() + 90
    while True:
        try:
            with urllib.request.urlopen(f"{address}/api", timeout=5):
                return address
        except OSError:
            assert process.poll() is None, f"the server ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"the server did not answer: {log.read_text()}"
            time.sleep(0.3)


@pytest.fixture
def serve(tmp_path):
    """Start a Jupyter server with given arguments; end it and its kernels with the test."""
    with ExitStack() as running:
        yield lambda arguments, folder: running.enter_context(
            server(arguments, folder, tmp_path / "server.log")
        )
