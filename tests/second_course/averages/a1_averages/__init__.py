"""Assignment 1: the average of neighbours, and numbers whose own average is 0."""

from autograder.checks.check import Assignment
from averages.a1_averages.rubric import moving_average, standardise

ASSIGNMENT = Assignment(
    "a1_averages", parts=(moving_average, standardise), disallowed=("batch_norm", "avg_pool1d")
)
