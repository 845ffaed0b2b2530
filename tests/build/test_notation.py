"""The lectures keep to docs/glossary.md: one letter for one thing, colours from one place."""

import re
from dataclasses import dataclass

import pytest

from lecture_kit.plotting import colours
from tests.build.test_minutes import LECTURES
from tests.sample_class import ROOT


@dataclass(frozen=True)
class Rule:
    """A spelling that the notation does not have; `held` are the lectures it is looked for in."""

    name: str
    forbidden: str
    write: str
    held: str = r"\d\d"


RULES = [
    Rule("score", r"\be_\{(ij|ik|\d)|\bs_\{(ij|ik)\}", r"\omega_{ij}"),
    Rule("weight", r"(?<![\\a-z])[aw]_\{ij\}", r"\alpha_{ij}"),
    Rule(
        "width",
        r"\$[dD]\$|\\sqrt\{?[dD]\b|\\times [dD]\b|[^_\w, (][dD] = \d|T\^?2?[dD]\b|T[dD]\^2",
        r"d_\text{model} or d_model",
    ),
    Rule("maps", r"\bU_\{?(q|k|v|query|key|value)\b|\bW_\{?[QKV]\b|W\^[QKV]", "W_q, W_k, W_v"),
    Rule("frequency", r"\\omega_k", r"\theta_k", held="06"),
    Rule("rotation", r"\bR_\{[a-z]{2}\}", "another letter: R is the rotation"),
    Rule(
        "heads", r"\bn_heads\b|\$h\$ heads|\bheads \$h\$|\bhead 0(?![.\d])", "H heads, from 1 to H"
    ),
    Rule("special words", r"‹\w+›", "<pad>"),
    Rule("colours", r"[\"']#[0-9A-Fa-f]{6}[\"']", "plotting.MODELS, plotting.SERIES, …"),
]

CASES = [
    pytest.param(rule, path, id=f"{rule.name}-{path.stem[:2]}")
    for rule in RULES
    for path in LECTURES
    if re.fullmatch(rule.held, path.stem[:2])
]


def offences(rule, text):
    """Lines with a forbidden spelling; alternative texts and further reading are English."""
    return [line.strip() for line in text.splitlines() if re.search(rule.forbidden, line)]


@pytest.mark.parametrize(("rule", "path"), CASES)
def test_a_lecture_keeps_the_notation(rule, path):
    assert offences(rule, path.read_text(encoding="utf-8")) == [], f"write {rule.write}"


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("score", r"$e_{ij} = v^\top$", r"$\omega_{ij}$ and the state $s^{(i)}$"),
        ("score", r"\exp(s_{ij} + m_{ij})", r"\exp(\omega_{ij} + m_{ij})"),
        ("weight", r"$a_{ij}$", r"$\alpha_{ij}$"),
        ("width", r"by $\sqrt{D}$", r"by $\sqrt{d_k}$ and $(B, T, D)$"),
        ("width", r"at $D = 16$", r"$d_\text{model} = 16$, and (B, T, D)"),
        ("width", r"takes $4T^2D$ operations", r"$4T^2 d_\text{model}$"),
        ("maps", r"$q = U_q x$", r"$W_q$, and $U h^{(j)}$"),
        ("maps", r"$W^Q$", r"`w_q`"),
        ("rotation", r"$R_{ab}$", r"$R(m)$ and ROOT"),
        ("heads", "head 0 looks left", "head 1 looks left"),
        ("special words", "‹pad›", "<pad>"),
        ("colours", 'color="#0072B2"', "color=plotting.SERIES[0]  # see #13"),
    ],
)
def test_the_rules_find_what_they_forbid_and_nothing_else(name, wrong, right):
    (rule,) = (rule for rule in RULES if rule.name == name)
    assert offences(rule, wrong)
    assert not offences(rule, right)


def test_the_page_shows_the_colours_of_the_code():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(#\w{6})` \| `(#\w{6})` \|", page, re.MULTILINE)
    assert {name: (light, dark) for name, light, dark in rows} == {
        name: pair
        for name, pair in colours.PAIRS.items()
        if pair[0] in {colours.QUERY, colours.KEY, colours.VALUE, *colours.SERIES}
    }
    for model in colours.MODELS:
        assert model in page
