"""Answers that are known to be right or wrong: how a course writes them, and how the checks fare against them."""
