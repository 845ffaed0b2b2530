"""Grades a class, and says why: rooms that import only downwards.

release    from what an author writes to what students open
batch      a class: folders, gradebook, engines, reports
notebook   one submission, from file to result
verdict    compares, decides, names mistakes; knows no assignment and runs no submission
kernels    where a submission's code runs
probe      runs beside it, inside the walls; knows no answer
"""

from autograder import patches

patches.for_everybody()
