"""A class on one machine: JupyterHub, nbgrader's exchange, and grading on submission."""
