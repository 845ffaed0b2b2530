"""Every lecture's sheet has its displayed formulas, each with its section, and the letters in them."""

import re

import nbformat
import pytest

from tests.sample_class import ROOT
from tools import formula_sheets

LECTURES = sorted(ROOT.glob("lectures/*.ipynb"))


def text_of(lecture):
    cells = nbformat.read(lecture, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem[:2])
def test_a_sheet_has_all_displayed_formulas_below_their_sections(lecture):
    text, sheet = text_of(lecture), formula_sheets.sheet(lecture)
    displayed = re.findall(r"\$\$.+?\$\$", text, re.DOTALL)
    assert displayed and re.findall(r"\$\$.+?\$\$", sheet, re.DOTALL) == displayed
    named = re.findall(r"^\*\*\[(.+?)\]\(\.\./lectures/(\S+?)#", sheet, re.MULTILINE)
    assert {name for _, name in named} == {lecture.name}
    for heading, _ in named:
        assert re.search(rf"^##+ {re.escape(heading)}$", text, re.MULTILINE)
    for link in re.findall(r"\]\(([^)#]+)", sheet):
        assert (ROOT / formula_sheets.FOLDER / link).resolve().exists()
    first = sheet.index(displayed[0])
    assert sheet.index(named[0][0]) < first < sheet.index("## Letters and shapes")


@pytest.mark.parametrize(
    ("lecture", "there", "not_there"),
    [
        ("01", ["`annotations`", "`d_h`", "(S, 2d_h)"], ["`query`", "`mask`", "`pe`"]),
        ("03", ["`query`", "`w_q`", "(T, d_k)", "`V`"], ["`mask`", "`annotations`", "`num_heads`"]),
        ("04", ["`mask`", "`B`"], ["`pe`", "`weight`, `bias`"]),
        ("06", ["`pe`", "`frequencies`", "`R`"], ["`annotations`", "`d_ff`"]),
        # 𝑚ₖ is another letter than the mask's, and dropout's lecture has no mask
        ("07", ["`d_ff`", "`weight`, `bias`, `eps`"], ["`mask`", "`R`"]),
        # its 𝑐⁽ʲ⁾ is no context of a decoder
        ("10", ["`num_heads`", "`scores`"], ["`context`", "`annotations`"]),
    ],
)
def test_a_sheet_has_the_letters_of_its_lecture_and_no_others(lecture, there, not_there):
    (path,) = (path for path in LECTURES if path.name.startswith(lecture))
    table = formula_sheets.sheet(path).partition("## Letters and shapes")[2]
    assert [code for code in there if code not in table] == []
    assert [code for code in not_there if code in table] == []


@pytest.mark.parametrize(
    ("symbol", "used", "found"),
    [
        ("x^{(i)}", r"x^{(i)} W_q", True),
        ("x^{(i)}", r"\max(i)", False),
        ("T", r"T \times S", True),
        ("T", r"\text{Total}", False),
        (r"\omega_{ij}", r"\omega_{2j}", True),
        (r"\omega_{ij}", r"\omega_j", True),
        ("m_{ij}", "m_k x_k", False),
        (r"d_\text{model}", r"d_\text{ff}", False),
        ("R(m)", "R(i) q", True),
    ],
)
def test_a_letter_is_found_with_any_index_and_in_no_word(symbol, used, found):
    assert formula_sheets.is_in(symbol, used) is found
