"""A course on averages: a folder for each assignment."""

from autograder.verdict.content import Course

COURSE = Course(__name__)
