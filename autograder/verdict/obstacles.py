"""What kept a part from being decided, or a call from coming back, in the words of a class report."""

BARRED, UNANSWERED, MISSING = "a barred function was used", "not answered", "not defined"
TIME_LIMIT, STOPPED = "the time limit was reached", "the notebook stopped before it"
