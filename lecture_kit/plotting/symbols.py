"""Names of the course as formulas, for titles, axes and labels of pictures."""

import re

FORMULAS = {
    "d_k": "$d_k$",
    "√d_k": r"$\sqrt{d_k}$",
    "d_model": r"$d_\mathrm{model}$",
}


def symbol(name):
    """A name such as "d_k" as a formula that matplotlib draws, with its index below the line.

    Args:
        name: one of `FORMULAS`, as the course writes it in code.

    Raises:
        ValueError: the name is not among them.
    """
    if name not in FORMULAS:
        raise ValueError(f"'{name}' has no formula yet; add it to {', '.join(FORMULAS)}")
    return FORMULAS[name]


def bare_names(text):
    """Names with an underscore, such as d_k, that stand in a text and not in a formula of it."""
    without_formulas = re.sub(r"\$[^$]*\$", "", text)
    return re.findall(r"(?<!\w)[A-Za-z]_\w+", without_formulas)
