"""A course on averages: a folder for each assignment."""

from autograder.checks.course import Course

COURSE = Course(__name__)
