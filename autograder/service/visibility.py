"""What a student is shown: the feedback page, points alone, or a line that says what is waited for."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from autograder.batch.feedback_zip import page_of
from autograder.batch.release_text import title_of
from autograder.batch.student_result import StudentResult
from autograder.files import write_whole
from autograder.pages import render
from autograder.service.course import WatchedCourse
from autograder.service.inbox import Incoming, utc
from autograder.service.journal import QueueItem

AT = "%Y-%m-%d %H:%M UTC"
NO_PAGE, POINTS = "no page", "points"
titled = cache(title_of)  # a title is read once


class Visibility:
    """Hands feedback out where nbgrader looks for it; nothing where there is no exchange."""

    def __init__(self, course: WatchedCourse) -> None:
        self.course = course

    def is_behind(self, item: QueueItem) -> bool:
        """Whether the student of a graded submission sees something else than there is to see by now."""
        return (item.shown, item.hand) != (self._mark(item.arrival), self.hand(item.arrival))

    def hand(self, arrival: Incoming) -> str:
        """What persons have entered for a student's work, as `Event.hand` holds it."""
        return self.course.entered.hands.get(arrival.work, "")

    def _mark(self, arrival: Incoming) -> str:
        """What there is to be shown of a graded submission, as `Event.shown` holds it."""
        if self.course.settings.rules(arrival.assignment).show == "points":
            due = self.course.entered.due(*arrival.work)
            if due is None or utc(time.time()) < due:
                return POINTS
        try:
            return f"page {self._page(arrival).stat().st_mtime_ns}"
        except FileNotFoundError:
            return NO_PAGE

    def _page(self, arrival: Incoming) -> Path:
        return page_of(self.course.folder, arrival.assignment, arrival.student)

    def show(self, arrival: Incoming, row: StudentResult) -> str:
        """Hand out what a student is to see of a graded submission; what that is, as `Event.shown` holds it."""
        mark = self._mark(arrival)
        if mark == POINTS:
            self._hand_out(arrival, self._points_page(arrival, row))
        elif mark != NO_PAGE:
            self._hand_out(arrival, self._page(arrival).read_bytes())
        return mark

    def _points_page(self, arrival: Incoming, row: StudentResult) -> str:
        """The page that gives points by part, and no reasons."""
        due = self.course.entered.due(*arrival.work)
        return render(
            "points.html",
            title=titled(self.course.folder, arrival.assignment),
            earned=row.points,
            of=row.of,
            parts=[(name, row.parts.get(name, 0.0), of) for name, of in row.possible.items()],
            others=row.of - sum(row.possible.values()),
            penalty=row.penalty,
            due=due.strftime(AT) if due else "",
        )

    def show_notice(self, arrival: Incoming, message: str) -> None:
        """Hand out a sentence that says why a submission has not been graded."""
        title = titled(self.course.folder, arrival.assignment)
        came_in = arrival.came_in.strftime(AT)
        self._hand_out(
            arrival, render("notice.html", title=title, came_in=came_in, message=message)
        )

    def _hand_out(self, arrival: Incoming, page: str | bytes) -> None:
        """Put a page where students can open it whose names for it they know; they cannot list them."""
        if self.course.exchange is None:
            return
        feedback = self.course.exchange.feedback
        if not feedback.exists():
            feedback.mkdir(parents=True)
            feedback.chmod(0o711)
        for key in arrival.keys:
            path = feedback / f"{key}.html"
            write_whole(path, page)
            path.chmod(0o644)
