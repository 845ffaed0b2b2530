"""What coming in late costs: a plugin that nbgrader's own commands and this grader call alike."""

from __future__ import annotations

import math

from nbgrader.plugins import BasePlugin
from traitlets import Float

from autograder.points import as_written

DAY = 24 * 60 * 60


class PercentADay(BasePlugin):
    """A share of the earned points for each day that has begun, after hours that cost nothing.

    ``nbgrader_config.py`` names it and sets it:

        c.AssignLatePenalties.plugin_class = "autograder.batch.late_penalty.PercentADay"
        c.PercentADay.grace_hours = 2
        c.PercentADay.percent_a_day = 10
        c.PercentADay.most_percent = 50
    """

    grace_hours = Float(0.0, min=0.0, help="hours after the due date that cost nothing").tag(
        config=True
    )
    percent_a_day = Float(
        10.0, min=0.0, max=100.0, help="of the earned points, for each day begun after the grace"
    ).tag(config=True)
    most_percent = Float(
        100.0, min=0.0, max=100.0, help="of the earned points, however late it is"
    ).tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Points to take off, to the last digit; None where nothing is taken off.

        Args:
            student_id: nobody is treated differently; an extension moves the due date instead.
            score: the points that were earned.
            total_seconds_late: since the due date, an extension included.
        """
        after_grace = total_seconds_late - 3600 * self.grace_hours
        if after_grace <= 0:
            return None
        percent = min(self.percent_a_day * math.ceil(after_grace / DAY), self.most_percent)
        return float(as_written(score) * as_written(percent) / 100)
