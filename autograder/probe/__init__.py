"""Runs beside a submission's code, inside the sandbox: it uses what was written there and reports."""
