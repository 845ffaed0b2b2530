"""Answers that are known to be right or wrong, and how the checks fare against them; no grading reads this."""
