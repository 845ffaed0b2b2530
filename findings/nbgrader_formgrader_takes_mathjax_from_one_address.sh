#!/usr/bin/env bash
# nbgrader 0.9.6 with nbconvert 7.17.2: `c.HTMLExporter.mathjax_url` and the formgrader's page of a submission.
#
# Expected: the page takes MathJax from the address that is configured, as nbconvert's own templates do, so that a
# grading room without a network, or a school that allows no other hosts, can serve it itself.
# Seen: the formgrader's template calls nbconvert's macro without an address, so its built-in one is loaded whatever is
# configured, and formulas in answers stay dollar signs where that host cannot be reached.
# What to do: put a folder with a `mathjax.html.j2` of your own first among the exporter's template folders.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "nbgrader==0.9.6" "nbconvert==7.17.2"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import re
from pathlib import Path

import nbformat
import nbgrader
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

OWN = "/served/here/mathjax.js"
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("$x^2$")])
named = dict.fromkeys(("base_url", "student", "first_name", "last_name", "notebook_path"), "")
named |= {"assignment_id": "a", "notebook_id": "a", "submission_id": "1", "index": 0, "total": 1}


def loaded_by(template):
    config = Config()
    config.HTMLExporter.mathjax_url = OWN
    config.HTMLExporter.template_name = template
    templates = Path(nbgrader.__file__).parent / "server_extensions/formgrader/templates"
    config.HTMLExporter.extra_template_basedirs = [str(templates)]
    page, _ = HTMLExporter(config=config).from_notebook_node(notebook, resources=dict(named))
    found = [one for one in re.findall(r'<script[^>]* src="([^"]*)"', page) if "mathjax" in one.lower()]
    return [one if one == OWN else "another host" for one in found]


seen = {template: loaded_by(template) for template in ("classic", "formgrade")}
for template, addresses in seen.items():
    print(f"{template}: MathJax from {addresses}")
assert seen == {"classic": [OWN], "formgrade": ["another host"]}, seen
PYTHON
