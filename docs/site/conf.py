"""Settings of the website; `make site` builds it with tools/website.py."""

import sys
from pathlib import Path

SITE = Path(__file__).parent
sys.path[:0] = [str(SITE), str(SITE.parent.parent)]

project = "Attention and transformers"
author = "The authors of the course"
copyright = "the authors of the course. Text and figures CC BY 4.0, code BSD 3-Clause"
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinxcontrib.katex",
    "course_cells",
    "course_pages",
]
root_doc = "index"
exclude_patterns = ["extra"]
default_role = "code"
highlight_language = "python"

# Notebooks show what is stored in them.
nb_execution_mode = "off"
nb_merge_streams = True
nb_output_stderr = "show"
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "course_pages.jupyter_anchor"

# Formulas are set while the site is built; pages need KaTeX's style and fonts alone.
html_math_renderer = "katex"
katex_prerender = True
katex_js_path = str(SITE / "node_modules/katex/dist/katex.min.js")
katex_css_path = "katex.min.css"

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
add_module_names = False
napoleon_custom_sections = ["Returns", "Source"]
napoleon_use_rtype = False

templates_path = ["templates"]
html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["letters.css", "course.css"]
html_js_files = [("course.js", {"defer": "defer"})]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
pygments_style = "github-light-high-contrast"
pygments_dark_style = "github-dark"
html_theme_options = {
    "top_of_page_buttons": [],
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#6a3d9a",
        "color-brand-content": "#6a3d9a",
        "color-brand-visited": "#6a3d9a",
        "color-background-secondary": "#f8f6fb",
        "color-foreground-primary": "#1a1a1a",
        "color-foreground-muted": "#5c5c5c",
    },
    "dark_css_variables": {
        "color-brand-primary": "#c3a0ee",
        "color-brand-content": "#c3a0ee",
        "color-brand-visited": "#c3a0ee",
        "color-background-primary": "#141414",
        "color-background-secondary": "#1b1820",
        "color-foreground-primary": "#e6e6e6",
        "color-foreground-muted": "#b4b4b4",
    },
}
