"""What can keep a class from being graded; messages say what to do."""

from autograder.files import cut, printable

LONGEST_MESSAGE = 1_500


class CourseError(Exception):
    """The course folder, or a file that it is given, is not as it must be.

    Args:
        message: quotes what others wrote, so it loses what a terminal would obey, and ends somewhere.
    """

    def __init__(self, message: str) -> None:
        super().__init__(cut(printable(message), LONGEST_MESSAGE))


class EngineError(Exception):
    """Jobs cannot be run."""
