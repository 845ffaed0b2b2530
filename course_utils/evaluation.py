"""Running a model without training it, and leaving it as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[nn.Module]:
    """Within this context every module is in eval mode and no gradients are recorded.

    Afterwards each module is in the mode it had before, also after an error. `model.train()`
    would not do: it also wakes those parts that someone had put to eval mode on purpose.
    """
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        for module, training in modes.items():
            module.training = training
