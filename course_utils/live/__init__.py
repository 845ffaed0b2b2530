"""Attention that answers to the hand: a view that computes in the reader's browser.

    from course_utils import live

    live.attention_view(*live.translator("encoder"))

shows the trained translator's heads. The view needs neither kernel nor network: whatever a notebook
stores, or a page that is made from it, works by itself.
"""

from course_utils.live.attention import attention_view
from course_utils.live.attentions import Attention, translator
from course_utils.live.caching import cache_view
from course_utils.live.inside import inside_view
from course_utils.live.merges import merges_view
from course_utils.live.normalisation import normalisation_view
from course_utils.live.page import View
from course_utils.live.positions import positions_view
from course_utils.live.rotary import rotary_view
from course_utils.live.tiles import tiles_view
from course_utils.live.translation import translation_view
from course_utils.live.writing import writing_view

__all__ = [
    "Attention",
    "View",
    "attention_view",
    "cache_view",
    "inside_view",
    "merges_view",
    "normalisation_view",
    "positions_view",
    "rotary_view",
    "tiles_view",
    "translation_view",
    "translator",
    "writing_view",
]
