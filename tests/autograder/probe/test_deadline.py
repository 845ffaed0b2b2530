"""A deadline counts from now, in the time by which the system ends a process."""

import gc
import resource
import subprocess
import sys
import time

import pytest

from autograder.probe import deadline
from autograder.probe.deadline import SECONDS_OF_GRACE


class Late(Exception):
    pass


def test_the_limit_is_as_far_off_as_it_says():
    with deadline.deadline(5, 60, Late):
        soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    left = soft - deadline._processor_time()
    assert 5 + SECONDS_OF_GRACE - 0.5 < left <= 5 + SECONDS_OF_GRACE + 1


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one clock")
def test_a_process_whose_clocks_have_parted_goes_on():
    code = (
        "import time\n"
        "from autograder.probe.deadline import deadline\n"
        "while time.process_time() < 5: pass\n"
        "time.process_time = lambda: 0.0\n"  # as after minutes of work, where the two differ
        "with deadline(1, 60, TimeoutError): sum(range(10_000_000))\n"
        "print('went on')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "went on\n"), ran.stderr


def test_a_loop_is_stopped():
    with pytest.raises(Late), deadline.deadline(0.2, 60, Late):
        while True:
            pass


@pytest.mark.parametrize("seconds", [0.05, 60], ids=["short", "without an end"])
def test_a_callback_of_garbage_collection_neither_loses_the_error_nor_outlasts_it(
    seconds, monkeypatch
):
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)

    def callback(phase, _):
        until = time.process_time() + seconds
        while phase == "stop" and time.process_time() < until:
            pass

    began, others = time.process_time(), gc.callbacks[:]
    gc.disable()  # one collection, of what is young: of all that pytest holds, it could take longer than a callback
    gc.callbacks[:] = [callback]  # what is raised in those of other packages is dropped as well
    try:
        with pytest.raises(Late), deadline.deadline(0.02, 60, Late):
            gc.collect(0)
            gc.callbacks.clear()
            while True:
                pass
    finally:
        gc.callbacks[:] = others
        gc.enable()
    assert time.process_time() - began < 30  # of the 60 that the longer one would take
    late = [
        one for one in dropped if one.exc_type is Late
    ]  # what else is collected may drop its own
    assert len(late) == (seconds > 1)  # as any error in a callback is


def test_seconds_on_the_clock_stop_what_waits_and_not_what_computes():
    with deadline.deadline(60, 0.1, Late):
        until = time.process_time() + 0.4
        while time.process_time() < until:
            pass
    with pytest.raises(Late), deadline.deadline(60, 0.1, Late):
        time.sleep(60)


def test_limits_are_as_before_afterwards():
    before = resource.getrlimit(resource.RLIMIT_CPU)
    with deadline.deadline(5, 60, Late):
        pass
    assert resource.getrlimit(resource.RLIMIT_CPU) == before
