"""Relations of weights: shares that sum to one, and masks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.explain.evidence import Array, ResultPair


def shared_among_others(pair: ResultPair) -> Iterator[str]:
    """Weights that are right in proportion, but shared among too many keys, or too few."""
    right, found = pair.expected, pair.found
    if not pair.unit_axes or found.min() < 0:
        return
    shows_hidden = ((found > 1e-7) & (right == 0)).any()
    hides_shown = ((found <= 1e-7) & (right > 1e-5)).any()
    for axis in pair.unit_axes:
        both = (right > 0) & (found > 1e-7)
        if both.sum() - both.any(axis).sum() < 4:
            continue
        ratio = np.where(both, found / np.where(both, right, 1.0), np.nan)
        flat = np.where(both, ratio, -np.inf).max(axis) - np.where(both, ratio, np.inf).min(axis)
        some = both.any(axis)
        if (flat[some] > 1e-3 * np.nanmax(ratio)).any():
            continue
        many = pair.axis(axis).many
        if shows_hidden and not hides_shown:
            yield (
                f"in {pair.yours}, {many} that should be hidden have a share; the others are right in "
                "proportion. Where does the mask act, and what does it leave of the hidden scores?"
            )
        if hides_shown and not shows_hidden:
            square = right.ndim > 1 and right.shape[-1] == right.shape[-2]
            if square and axis == right.ndim - 1:
                if not np.triu(found, 1).any() and pair.close(_shares(np.tril(right)), found):
                    yield (
                        f"in {pair.yours}, every word sees only itself and what stands before it; the "
                        "rest is right in proportion. Is there a causal mask that was not asked for?"
                    )
                diagonal = np.eye(right.shape[-1], dtype=bool)
                if not found[..., diagonal].any():
                    yield (
                        f"in {pair.yours}, no word sees itself; the rest is right in proportion. Why "
                        "is the diagonal hidden?"
                    )
            yield (
                f"in {pair.yours}, some {many} are hidden that should have a share; the others are "
                "right in proportion. What hides them?"
            )


def _shares(values: Array) -> Array:
    return values / values.sum(-1, keepdims=True)


def not_shares(pair: ResultPair) -> Iterator[str]:
    """Where shares should sum to one, they do not, or are all alike, or all in one place."""
    right, found = pair.expected, pair.found
    # shares of one axis may sum to one along another by chance
    in_both = [axis for axis in pair.unit_axes if axis in pair.found_unit_axes]
    for axis in in_both or pair.unit_axes:
        where = pair.axis(axis)
        if axis in pair.found_unit_axes:
            if np.ptp(found, axis=axis).max() < 1e-6 < np.ptp(right, axis=axis).max():
                yield (
                    f"{pair.yours} are the same for all {where.many}. What are the scores before the "
                    "softmax, and do they differ?"
                )
            if (found.max(axis) > 1 - 1e-6).all() and not (right.max(axis) > 1 - 1e-3).any():
                yield (
                    f"{pair.yours} give everything to one of the {where.many} and nothing to the "
                    "others. A softmax shares out: is there an argmax, or are the scores far too large?"
                )
            return
        sums = found.sum(axis)
        if found.min() < -1e-6:
            yield (
                f"{pair.yours} should be shares, and some are negative. Which step makes shares of "
                "scores?"
            )
        elif (np.abs(sums[right.sum(axis) > 0] - 1) > 1e-3).all():
            yield (
                f"{pair.yours} should sum to one along {where}, and do nowhere. What is changed after "
                "the softmax, or divided by the wrong sum?"
            )


def masks_differ(pair: ResultPair) -> Iterator[str]:
    """Truth values: the opposite everywhere, too many of them, or too few."""
    if pair.kind != "bool":
        return
    right = pair.expected != 0
    if not np.isfinite(pair.found).all():
        if (np.isneginf(pair.found) == ~right).all() and not pair.found[right].any():
            yield (
                f"{pair.yours} holds 0 and −∞, to be added to scores. Asked are truth values: True "
                "where a word may be seen. At which place do you make numbers of them?"
            )
        return
    if not np.isin(pair.found, (0, 1)).all():
        yield (
            f"{pair.yours} holds numbers where True and False are asked. Which comparison makes truth "
            "values of them?"
        )
        return
    found = pair.found != 0
    if (found == ~right).all():
        yield (
            f"{pair.yours} is the opposite of what is asked, everywhere. Does True mean “may be "
            "seen” or “is hidden”?"
        )
        return
    if found.all():
        yield f"{pair.yours} shows everything. Which condition hides something?"
    if not found.any():
        yield f"{pair.yours} hides everything. Which condition lets something be seen?"
    if found[right].all():
        yield (
            f"everything that should be seen is, but {pair.yours} also shows what should be hidden. "
            "Which condition is missing, or is there an “or” where both must hold?"
        )
    if not found[~right].any():
        yield (
            f"everything that should be hidden is, but {pair.yours} also hides what should be seen. "
            "Which condition is too strict?"
        )
