"""Compares, decides and names mistakes; knows no assignment, and runs no code of a submission."""
