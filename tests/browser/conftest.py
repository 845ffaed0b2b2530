"""A real JupyterLab and a real Chromium."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.sample_class import ROOT
from tools import website

TOKEN = "for-this-test-only"
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def serve(tmp_path):
    """Start a Jupyter server with given arguments; end it and its kernels with the test."""
    running = []

    def start(arguments: list[str], folder: Path) -> str:
        port = free_port()
        log = (tmp_path / "server.log").open("w")
        command = [sys.executable, *arguments, "--no-browser", "--allow-root",
                   f"--ServerApp.port={port}", f"--IdentityProvider.token={TOKEN}"]  # fmt: skip
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        running.append((process, log))
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 90
        while True:
            try:
                with urllib.request.urlopen(f"{address}/api", timeout=5):
                    return address
            except OSError:
                said = (tmp_path / "server.log").read_text()
                assert process.poll() is None, f"the server ended: {said}"
                assert time.monotonic() < deadline, f"the server did not answer: {said}"
                time.sleep(0.3)

    yield start
    for process, log in running:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()
