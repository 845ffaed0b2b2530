"""Grading on submission: what comes in is collected, graded in a fair order, and handed back."""
