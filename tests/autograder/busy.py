"""A machine that has much else to do."""

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def busy_machine(number):
    """Loops that take all the processor time there is."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
