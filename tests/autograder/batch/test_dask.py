"""The same class on a Dask cluster of two workers, one of which is killed in the middle."""

import dataclasses
import os
import signal
import subprocess
import sys

import pytest

from autograder.batch.dask import Dask
from autograder.errors import EngineError
from tests.browser.conftest import free_port
from tests.sample_class import SETTINGS, grade, hand_in, same_inputs
from tests.sample_class.small import outcome, small_class

ALONE = dataclasses.replace(SETTINGS, feedback=False)


@pytest.fixture
def start(tmp_path):
    """Start one of Dask's programs on loopback; ended with the test."""
    running = []

    def start(*arguments):
        log = (tmp_path / f"{len(running)}.log").open("w")
        command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        running.append((process, log))
        return process

    yield start
    for process, log in running:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    continue
        log.close()


@pytest.mark.slow
def test_a_cluster_gives_what_this_machine_gives(tmp_path, start):
    here, there = tmp_path / "here", tmp_path / "there"
    hand_in(here, small_class())
    hand_in(there, small_class())
    same_inputs(here, there)
    expected = grade(here, settings=ALONE)

    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    workers = [
        start(
            "dask_worker", address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--local-directory", str(tmp_path / name),
        )
        for name in ("one", "two")
    ]  # fmt: skip
    done = []

    def progress(count, of, student):
        done.append(student)
        if count == 3:
            workers[0].kill()

    settings = dataclasses.replace(ALONE, scheduler=address)
    rows = grade(there, settings=settings, progress=progress)
    assert workers[0].wait(10) == -signal.SIGKILL
    assert len(done) == len(rows)
    for row, right in zip(rows, expected, strict=True):
        assert dataclasses.replace(row, seconds=0) == dataclasses.replace(right, seconds=0)
    assert outcome(there) == outcome(here)


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr("autograder.batch.dask.SECONDS_TO_CONNECT", 1)
    with pytest.raises(EngineError, match="no Dask scheduler answers"):
        Dask("tcp://127.0.0.1:9")
