"""A course of one assignment that is not about attention, which the same engine grades.

The folder is laid out as anyone's own course would be; `docs/own_course.md` shows its files.
"""
