"""Runs beside a submission's code, inside the walls: it uses what was written there and reports."""
