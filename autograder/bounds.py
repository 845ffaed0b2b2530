"""How much the grader takes of what was handed in, and how long it looks at it: each limit once.

Whoever runs a submission is confined (`sandbox/limits.py`), and both ends of a channel measure what they
send (`sandbox/channel.py`, `probe/wire.py`). The limits here are those of the process that decides: it reads
texts that a student wrote and outputs that a student's code made, and either may be there to take all its memory
or its time. Sizes are looked at before anything is parsed, and each submission has its processor time for what no
size foretells. Who goes beyond a limit loses what is beyond it, and nothing else.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from autograder.alarms import is_to_be_done_whole

# what is handed in: bytes of a notebook's file, of what is left of it without old outputs and the largest
# pictures, and of all files beside it; how many files, how deep, and bytes of a file's or folder's name
LARGEST_FILE, LARGEST_NOTEBOOK, LARGEST_FILES = 128 << 20, 16 << 20, 16 << 20
MOST_FILES, DEEPEST_FOLDER, LONGEST_NAME = 300, 8, 200
LONGEST_TIME = 100  # bytes of the file that says when it came in
# of one account in the exchange: folders that are looked at, the newest, and those that are taken before
# others have their turn, and that wait to be graded
MOST_HAND_INS, MOST_IN_TURN, MOST_WAITING = 1_000, 5, 20
MOST_CELLS = 2_000
# of one cell in a large notebook: bytes of nbgrader's marks, values in what is attached, bytes of its fields' names
LARGEST_MARKS, MOST_ATTACHED, SIZE_OF_FIELDS = 2_000, 1_000, 100
MOST_LINES = 200_000  # of all cells; the format stores each by itself
# requests to look again: characters of one, how many are read, bytes of them in the metadata of a large notebook
LONGEST_APPEAL, MOST_APPEALS, LARGEST_APPEALS = 500, 100, 200_000

# tables of people: bytes of the file, rows, and cells of all rows; bytes of a file with a
# course's settings
LARGEST_TABLE, MOST_ROWS, MOST_TABLE_CELLS = 64 << 20, 200_000, 2_000_000
LARGEST_SETTINGS = 1 << 20

# code that is read: letters of a cell or of a file beside the notebook, and of all that one part can reach
LONGEST_CODE, MOST_CODE = 200_000, 1_000_000
# letters of a definition that its author is asked about, with what it calls
LONGEST_ASKED_ABOUT = 12_000
# letters of a word in a line that IPython reads, which goes through them again for each
LONGEST_MAGIC = 1_000
MOST_MAGICS = 100  # of a cell that IPython reads as a whole, which it does once for each
MOST_NESTED = 10  # cell magics, each in the text of another
# of a cell and of all that one part can reach, each import of a name by itself
MOST_STATEMENTS = 50_000
# cells that are remembered for the next submissions and for one, letters of the former, and those that a
# submission may bring along before they are forgotten with it
MOST_KEPT, MOST_AT_ONCE, LONGEST_KEPT, MOST_LETTERS_KEPT = 32, 64, 10_000, 300_000

# answers: names in them, texts, and lists in lists
LONGEST_WORD, MOST_WORDS, MOST_AXES = 80, 20, 8
LONGEST_PROBLEM, LONGEST_VALUE, DEEPEST_VALUE = 1_200, 2_000, 50

# outputs: how many of a notebook, forms of one, letters of a form's or a display's name, lines of a
# traceback, and what the format takes for a line beside its letters
MOST_OUTPUTS, MOST_FORMS, LONGEST_KIND, MOST_TRACEBACK, SIZE_OF_LINE = 2_000, 20, 200, 1_000, 10
LARGEST_COUNT = 1 << 31  # of a cell, in the order of execution
LARGEST_RESULT = 32 << 20  # bytes of a graded notebook that is sent, the files beside it aside

# text that is rendered: characters of one and of those that are kept, blanks in a row, and letters of
# Markdown's own in one text; more would take its reader minutes
LONGEST_TEXT, LONGEST_RENDERED, LONGEST_GAP = 100_000, 10_000, 300
MOST_MARKS = 2_000
# characters of the pictures, addresses and titles of a text that stand in it more than once, and of the HTML
# that all texts and outputs are made to: after it they are shown as they were typed
ROOM_FOR_COPIES, MOST_RENDERED = 1 << 20, 8 << 20
# elements that a browser may make of HTML: it opens what sets letters anew in each block that follows
MOST_ELEMENTS = 400_000
LONGEST_COLOURED = 12_000  # characters of a cell whose code is shown in colours
# of a student's page, which stays small enough for a mail and a telephone: characters of HTML
ROOM_FOR_CODE, ROOM_FOR_TEXT, ROOM_FOR_OUTPUTS = 120_000, 60_000, 160_000

# seconds of processor time to read and decide one submission; what is not decided by then waits for a person
SECONDS_TO_DECIDE = 60.0
SECONDS_BETWEEN_ALARMS = 1.0

MOST_MEMORY = 1 << 30  # bytes of the process, beyond what its imports take


Made = TypeVar("Made")


class OutOfTime(BaseException):
    """A stage has used its processor time. No `except Exception` on the way takes it for its own."""


def in_time(seconds: float, make: Callable[[], Made], otherwise: Made) -> Made:
    """What is made within so many seconds of processor time, or else the other thing."""
    try:
        return within(seconds, make)
    except OutOfTime:
        return otherwise


def within(seconds: float, make: Callable[[], Made]) -> Made:
    """What is made within so many seconds of processor time.

    What is made may exchange nothing with a kernel, since a frame of which half was sent ends the channel.
    In another thread than the first, and where there is no such clock, sizes alone have to do.

    Raises:
        OutOfTime: the time is up, in the middle of what runs, and again until it ends.
    """
    if not hasattr(signal, "setitimer") or (
        threading.current_thread() is not threading.main_thread()
    ):
        return make()
    over = False  # an alarm on the way then stops nothing
    collecting = False

    def follow(phase: str, _info: object) -> None:
        nonlocal collecting
        collecting = phase == "start"

    def ring(_signal: int, frame: FrameType | None) -> None:
        if over:
            return
        if collecting or is_to_be_done_whole(frame, within.__code__):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.001, SECONDS_BETWEEN_ALARMS)
            return
        raise OutOfTime

    gc.callbacks.append(follow)
    handler = signal.signal(signal.SIGVTALRM, ring)
    outer = signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, 0.001), SECONDS_BETWEEN_ALARMS)
    try:
        return make()
    finally:
        over = True
        signal.setitimer(signal.ITIMER_VIRTUAL, *outer)
        signal.signal(signal.SIGVTALRM, handler)
        gc.callbacks.remove(follow)
