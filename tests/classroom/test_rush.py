"""Sixty students hand in within a minute, and hub, service and worker are killed in the middle."""

import itertools
import json
import os
import signal
import statistics
import subprocess
import time
from collections import Counter

import msgspec
import pytest

from autograder.service.journal import Event
from tests.classroom.machine import CHECKOUT, Machine, missing
from tests.sample_class import ASSIGNMENT

STUDENTS, SECONDS = 60, 60
# what 9 in 10, and 95 in 100, wait at most on two free cores, with nothing killed
TARGET = 60.0


@pytest.fixture
def machine(tmp_path):
    if why := missing():
        pytest.skip(why)
    made = Machine(tmp_path / "hub.log")
    try:
        names = "\n".join(f"student{number:02}" for number in range(STUDENTS))
        made.write("/srv/list.csv", f"username\n{names}\n")
        made.tool("add", "/srv/list.csv")
        made.sh(
            f"cp -r {CHECKOUT}/exercises/{ASSIGNMENT} /srv/classroom/exchange/attention/outbound/"
        )
        made.start()
        warm(made)
        yield made
    finally:
        made.close()


def warm(machine):
    """Wait until the service is ready to grade."""
    deadline = time.monotonic() + 120
    while "watching" not in machine.log.read_text(errors="replace"):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    time.sleep(15)


def rush(machine):
    command = ["env", "-C", str(CHECKOUT), f"PYTHONPATH={CHECKOUT}", "/srv/environment/bin/python",
               "-W", "ignore", "-m", "tests.classroom.rush", str(STUDENTS), str(SECONDS)]  # fmt: skip
    return subprocess.Popen(machine.inside(*command), stdout=subprocess.PIPE, text=True)


def megabytes(machine):
    """Memory of all processes of the machine, what they share counted once."""
    total = 0
    for number in machine.processes():
        try:
            with open(f"/proc/{number}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total / 1024


def kill(machine, *words):
    """Kill -9 every process whose command line has one of these words; how many there were."""
    numbers = [
        number
        for number, command in machine.processes().items()
        if any(word in command for word in words)
    ]
    for number in numbers:
        os.kill(number, signal.SIGKILL)
    return len(numbers)


def outcome(machine, students):
    """Seconds until feedback by student, in the order in which they handed in; nobody may be missing."""
    said, _ = students.communicate(timeout=600)
    times = json.loads(said.splitlines()[-1])
    waited = {name: there - made for name, (made, there) in times.items()}
    lost = [name for name, (_, there) in times.items() if there < 0]
    assert lost == []
    lines = machine.path("/srv/classroom/course/grading/service/journal.jsonl").read_bytes()
    entries = [msgspec.json.decode(line, type=Event) for line in lines.splitlines()]
    did = Counter((entry.what, entry.student or entry.name.partition("+")[0]) for entry in entries)
    assert all(did["graded", name] == did["in", name] == 1 for name in times)
    order = sorted(times, key=lambda name: times[name][1])
    before = sum(
        times[first][0] > times[second][0] + 5 for first, second in itertools.pairwise(order)
    )
    return waited, before


def report(message, waited, overtaken, memory):
    seconds = sorted(waited.values())
    numbers = {
        "median": statistics.median(seconds),
        "p95": seconds[int(0.95 * len(seconds))],
        "last": seconds[-1],
        "overtaken": overtaken,
        "MB": max(memory),
        "load": os.getloadavg()[0],
    }
    print(message, {name: round(value, 1) for name, value in numbers.items()})
    return numbers


@pytest.mark.slow
def test_sixty_students_hand_in_within_a_minute(machine, capsys):
    students, memory = rush(machine), []
    while students.poll() is None:
        memory.append(megabytes(machine))
        time.sleep(2)
    waited, overtaken = outcome(machine, students)
    with capsys.disabled():
        numbers = report("\nnothing killed:", waited, overtaken, memory)
    if numbers["load"] < 4:  # the machine was this test's alone
        assert numbers["p95"] <= TARGET


@pytest.mark.slow
def test_nothing_is_lost_when_hub_service_and_worker_are_killed(machine, capsys):
    students, memory = rush(machine), []
    time.sleep(15)
    assert kill(machine, "autograder.sandbox.zygote")  # the worker, and what kernels fork from
    time.sleep(15)
    assert kill(machine, "-m autograder watch")
    time.sleep(15)
    machine.kill_hub()
    machine.start()
    while students.poll() is None:
        memory.append(megabytes(machine))
        time.sleep(2)
    waited, overtaken = outcome(machine, students)
    with capsys.disabled():
        report("\nworker, service and hub killed:", waited, overtaken, memory)
