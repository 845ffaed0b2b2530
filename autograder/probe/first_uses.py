"""What PyTorch imports only when something is first used, hundreds of modules that no answer's time is for."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable


def _compare() -> None:
    import torch

    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))


def _optimise() -> None:
    importlib.import_module("torch._dynamo")


# how code names what would import it, and what imports it
_TO_DO: dict[re.Pattern[str], Callable[[], None]] = {
    re.compile(r"\b(assert_close|gradcheck)\b"): _compare,
    re.compile(r"\b(optim|checkpoint|torch\.func|functional_call)\b|[\"']meta[\"']"): _optimise,
}


def get_ready_for(code: str) -> None:
    """Import now, before any clock runs, what code will have imported when it runs; each is done once.

    Not for all beforehand, since most answers use none of it, and it takes a second or two.
    """
    for pattern, load in list(_TO_DO.items()):
        if pattern.search(code):
            del _TO_DO[pattern]
            with contextlib.suppress(Exception):  # then it fails where it is used
                load()
