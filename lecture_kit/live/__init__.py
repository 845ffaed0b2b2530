"""Attention that answers to the hand: a view that computes in the reader's browser.

    from lecture_kit import live

    live.attention_view(*live.translator("encoder"))

shows the trained translator's heads. The view needs neither kernel nor network: whatever a notebook
stores, or a page that is made from it, works by itself.
"""

from lecture_kit.live.attention import attention_view
from lecture_kit.live.attentions import Attention, translator
from lecture_kit.live.caching import cache_view
from lecture_kit.live.inside import inside_view
from lecture_kit.live.merges import merges_view
from lecture_kit.live.normalisation import normalisation_view
from lecture_kit.live.page import View
from lecture_kit.live.positions import positions_view
from lecture_kit.live.rotary import rotary_view
from lecture_kit.live.tiles import tiles_view
from lecture_kit.live.translation import translation_view
from lecture_kit.live.writing import writing_view

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
