"""What an alarm that ends code by an error has to wait for."""

from __future__ import annotations

import _weakrefset
import gc
import weakref
from types import CodeType, FrameType

METHODS = {"__enter__", "__exit__", "__del__"}
FILES = {weakref.__file__, _weakrefset.__file__}


def is_to_be_done_whole(frame: FrameType | None, caller: CodeType | None = None) -> bool:
    """Whether what runs is such that an error raised in it would be dropped, or leave a switch half-way.

    Python drops what is raised in callbacks of garbage collection and of weak references, and in finalizers.
    A context manager that is stopped on its way in or out leaves the process as it should be inside:
    `torch.no_grad()`, for one, without gradients for all that follows.

    Args:
        caller: the function around it, at which to stop looking.
    """
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None and frame.f_code is not caller:
        code = frame.f_code
        if code in callbacks or code.co_name in METHODS or code.co_filename in FILES:
            return True
        frame = frame.f_back
    return False
