"""The view of a key/value cache: what is computed and what is read, token by token."""

from collections.abc import Sequence

from lecture_kit.live.checked import as_words
from lecture_kit.live.page import View, framed, plain_table

WORDS = range(2, 13)


def cache_view(
    words: Sequence[str],
    prompt: int = 3,
    *,
    caption: str = "A cache of keys and values that grows token by token",
) -> View:
    """A view in which a causal model reads a prompt and then generates, with a cache or without one.

    Args:
        words: 2 to 12 tokens, in the order in which they are read and generated.
        prompt: how many of them are read at once before the first one is generated.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 50 kB.

    Raises:
        ValueError: too few or too many words, a prompt that leaves none to generate, or no caption.

    Source: Pope et al. (2022), section 2; lecture 10.
    """
    shown = as_words("words", words)
    if len(shown) not in WORDS:
        raise ValueError(
            f"words: expected {WORDS[0]} to {WORDS[-1]}; found {len(shown)}. The picture has a row and a "
            "column for each."
        )
    if prompt not in range(1, len(shown)):
        raise ValueError(
            f"prompt: expected a whole number from 1 to {len(shown) - 1}; found {prompt!r:.40}. At least "
            "one word is generated."
        )
    rows = []
    for count in range(prompt, len(shown) + 1):
        name = "the prompt" if count == prompt else shown[count - 1]
        without = sum(range(prompt, count + 1))
        rows.append((name, [str(prompt if count == prompt else 1), str(count), str(without)]))
    heads = ["rows computed", "keys in the cache afterwards", "rows so far without a cache"]
    content = {"words": shown, "prompt": prompt}
    return framed("caching", caption, content, plain_table(caption, heads, rows), height=560)
