"""Grades a class, and says why: packages that import only downwards.

release    from what an author writes to what students open
batch      a class: folders, gradebook, engines, reports
grade      one submission, from file to result
checks     compares, decides, names mistakes; knows no assignment and runs no submission
sandbox    where a submission's code runs
probe      runs beside it, inside the sandbox; knows no answer
"""

from autograder import patches

patches.for_everybody()
