"""What can keep a class from being graded; messages say what to do."""


class CourseError(Exception):
    """The course folder is not as it must be."""


class EngineError(Exception):
    """Jobs cannot be run."""
