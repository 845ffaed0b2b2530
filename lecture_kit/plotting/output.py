"""A picture in a notebook: with its alternative text, its caption, and colours for dark pages.

Programs that show notebooks choose one form of an output. JupyterLab, nbconvert, VS Code and
MyST-NB take HTML before PNG, and none of them gives a PNG an `alt` attribute. So a picture is
written as HTML: an image with `alt`, and its caption below. The image is an SVG that follows the
page's colours; where only plain image elements are let through, it is the PNG on white.
"""

import base64
import io
import re
from html import escape

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.collections import QuadMesh
from matplotlib.text import Text
from PIL import Image

from lecture_kit.plotting.colours import MAP_PAIRS, PAIRS
from lecture_kit.plotting.symbols import bare_names

# Screens show 96 pixels per inch of figure; more are stored, so that a PNG stays crisp on a
# projector and when a reader zooms in.
DISPLAY_DPI = 96
PIXEL_RATIO = 1.5
COLOURS = 128

# On a narrow page, NARROW pixels wide, the smallest letters still have SMALLEST pixels.
NARROW = 600
SMALLEST = 9

# SVG images take their colours from `color-scheme`. JupyterLab and exported pages say in `body`,
# websites made with Sphinx in `html` which theme they show.
FOLLOW_THE_PAGE = (
    '[data-jp-theme-light="true"] img,[data-theme="light"] img{color-scheme:light}'
    '[data-jp-theme-light="false"] img,[data-theme="dark"] img{color-scheme:dark}'
)

SVG_SETTINGS = {"svg.fonttype": "path", "svg.hashsalt": "attention-course"}


def picture(figure, alt, caption=None):
    """Display a figure so that its alternative text reaches the reader, then close it.

    Args:
        figure: a matplotlib Figure.
        alt: what the picture shows, in words, for readers who cannot see it.
        caption: one sentence below the picture for everybody; None for none.

    Raises:
        ValueError: the alternative text is empty, letters would be smaller than 9 pixels on a page
            of 600, or a name such as d_k stands in the figure with its underscore.
    """
    _refuse_empty(alt)
    refuse_small_letters(figure)
    refuse_bare_names(figure)
    png, svg = _encoded(png_of(figure)), _encoded(svg_of(figure).encode())
    plt.close(figure)
    width = round(figure.get_figwidth() * DISPLAY_DPI)
    legend = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    html = (
        f'<figure style="margin:0"><style>{FOLLOW_THE_PAGE}</style><picture>'
        f'<source type="image/svg+xml" srcset="data:image/svg+xml;base64,{svg}">'
        f'<img alt="{escape(alt)}" width="{width}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{png}"></picture>{legend}</figure>'
    )
    display(
        {"text/html": html, "image/png": png, "text/plain": alt},
        metadata={"image/png": {"alt": alt, "width": width}},
        raw=True,
    )


def png_of(figure):
    """The figure as the bytes of a PNG with few colours: a third of the size."""
    drawn, stored = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DISPLAY_DPI * PIXEL_RATIO)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
            stored, format="png", optimize=True
        )
    return stored.getvalue()


def svg_of(figure):
    """The figure as SVG text that follows the page's theme; the same figure, the same text."""
    drawn = io.StringIO()
    for mesh in figure.findobj(QuadMesh):
        mesh.set_rasterized(False)  # else a colour bar is an image, whose edges are blurred
        mesh.set_edgecolor("face")  # else hairlines show between its cells
    with mpl.rc_context(SVG_SETTINGS):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    short = re.sub(r"<!--.*?-->", "", rounded(drawn.getvalue()), flags=re.DOTALL)
    return themed(re.sub(r">\s+<", "><", short))


def rounded(svg):
    """The same picture with coordinates to 0.001 of a point.

    The last of matplotlib's six digits differ from one processor to the next, and no eye sees them.
    Letters keep their scale, which multiplies numbers in the thousands, and comments their text.
    """
    return re.sub(
        r"(<!--.*?-->|scale\([^)]*\)|base64,[\w\s+/=]+)|(-?\d+\.\d{4,})",
        lambda found: found[1] or f"{round(float(found[2]), 3) + 0.0:.3f}".rstrip("0").rstrip("."),
        svg,
        flags=re.DOTALL,
    )


def themed(svg):
    """The same picture, with the course's colours replaced by those for dark pages on dark pages.

    So are the colours of the cells of a map and of the numbers on them. A map that was stored as
    an image gets a partner with the colours for dark pages, and each page shows one of the two.
    """
    pairs = PAIRS | MAP_PAIRS
    names = {light: name for name, (light, _) in pairs.items()}
    used = set()

    def by_name(found):
        name = names.get(found[0].lower())
        used.update({name} - {None})
        return f"var(--{name})" if name else found[0]

    body = re.sub(r"#[0-9a-fA-F]{6}\b", by_name, svg)
    body, images = re.subn(r"<image\b[^>]*/>", _with_partner, body)
    light = "".join(f"--{name}:{pairs[name][0]};" for name in pairs if name in used)
    dark = "".join(f"--{name}:{pairs[name][1]};" for name in pairs if name in used)
    light, dark = f":root{{{light}}}", f":root{{{dark}}}"
    if images:
        light += ".on-dark{display:none}"
        dark += ".on-light{display:none}.on-dark{display:inline}"
    sheet = f"<style>{light}@media (prefers-color-scheme: dark){{{dark}}}</style>"
    return re.sub(r"(<svg\b[^>]*>)", lambda tag: f"{tag[1]}\n {sheet}", body, count=1)


def _with_partner(found):
    """An image of an SVG, and after it the same with the colours of dark pages if it is a map."""
    stored = re.search(r"base64,([\w\s+/=]+)", found[0])
    with Image.open(io.BytesIO(base64.b64decode(stored[1]))) as image:
        pixels = np.array(image.convert("RGBA"))
    swapped = pixels.copy()
    for light, dark in [*MAP_PAIRS.values(), PAIRS["paper"]]:
        here = (pixels[..., :3] == _channels(light)).all(axis=-1)
        swapped[here, :3] = _channels(dark)
    if (swapped == pixels).all():
        return found[0]
    drawn = io.BytesIO()
    Image.fromarray(swapped).save(drawn, format="png", optimize=True)
    partner = found[0].replace(stored[1], _encoded(drawn.getvalue()))
    partner = re.sub(r'\bid="([^"]*)"', r'id="\1-dark"', partner)
    return found[0].replace("<image", '<image class="on-light"', 1) + partner.replace(
        "<image", '<image class="on-dark"', 1
    )


def _channels(colour):
    return list(bytes.fromhex(colour.removeprefix("#")))


def refuse_small_letters(figure):
    """Raise a ValueError that names text too small to read on a narrow page."""
    smallest = SMALLEST * 72 * figure.get_figwidth() / NARROW
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text.get_fontsize() < smallest:
            raise ValueError(
                f"'{text.get_text()}' has {text.get_fontsize():g} points; in a figure "
                f"{figure.get_figwidth():g} inches wide, letters need {smallest:.1f} to be readable "
                "on a narrow page. Make the figure narrower, or the letters larger."
            )


def refuse_bare_names(figure):
    """Raise a ValueError that quotes text with a name that is no formula, such as a bare d_k."""
    for text in figure.findobj(Text):
        if text.get_visible() and bare_names(text.get_text()):
            raise ValueError(
                f"'{text.get_text()}' has a bare underscore; write plotting.symbol("
                f"'{bare_names(text.get_text())[0]}') instead"
            )


def _refuse_empty(alt):
    if not alt.strip():
        raise ValueError(
            "alt is empty; describe what the picture shows for readers who cannot see it"
        )


def _encoded(data):
    return base64.b64encode(data).decode("ascii")
