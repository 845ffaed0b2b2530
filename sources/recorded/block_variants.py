"""What each part of today's block changes, and how that depends on the length of training, for lecture 11.

    python sources/recorded/block_variants.py

prints one line for each variant and each number of steps: the loss on new sentences for five seeds, in
nats a word. A second table follows with the differences to the block of 2017, seed by seed, as mean and
standard deviation. All variants of a seed get the same batches, and each number of steps is a run of its
own, with its own schedule. The variants of the lecture's curve are trained for six numbers of steps, the
others for three. It takes about 20 minutes on one core.
"""

import torch
from torch import Tensor

from lecture_kit.experiments.block_variants import (
    Variant,
    VariantModel,
    english_text,
    held_out_loss,
    train,
)

SEEDS = range(5)
CURVE, TABLE = (50, 100, 200, 400, 600, 1000), (100, 200, 600)
BASE = "2017, norm first"
VARIANTS = {
    BASE: (Variant(), CURVE),
    "RMSNorm": (Variant(rms_norm=True), CURVE),
    "no biases": (Variant(biases=False), TABLE),
    "GELU": (Variant(feed_forward="gelu"), TABLE),
    "SwiGLU": (Variant(feed_forward="swiglu"), CURVE),
    "bilinear": (Variant(feed_forward="bilinear"), CURVE),
    "rotary": (Variant(rotary=True), CURVE),
    "all four": (Variant(True, "swiglu", True, biases=False), CURVE),
    "no factor": (Variant(factor=False), TABLE),
    "rotary, no factor": (Variant(rotary=True, factor=False), TABLE),
    "all four, no factor": (Variant(True, "swiglu", True, biases=False, factor=False), TABLE),
}


def all_losses() -> dict[str, dict[int, Tensor]]:
    """Train every variant, print its losses, and return them: variant → steps → (seeds,)."""
    print(f"{'variant':<20}{'weights':>8}{'steps':>6}" + "".join(f"  seed {s}" for s in SEEDS))
    found: dict[str, dict[int, Tensor]] = {}
    for name, (variant, lengths) in VARIANTS.items():
        model = VariantModel(len(english_text()[0]), variant)
        weights = sum(parameter.numel() for parameter in model.parameters())
        for steps in lengths:
            losses = [held_out_loss(train(variant, seed, steps)) for seed in SEEDS]
            numbers = "".join(f"{loss:8.4f}" for loss in losses)
            print(f"{name:<20}{weights:>8}{steps:>6}{numbers}", flush=True)
            found.setdefault(name, {})[steps] = torch.tensor(losses, dtype=torch.float64)
    return found


def main() -> None:
    """Print all losses, and then their differences to the block of 2017, seed by seed."""
    found = all_losses()
    base = found.pop(BASE)
    print(f"\n{'difference to 2017':<20}{'steps':>6}    mean      sd")
    for name, by_steps in found.items():
        for steps, losses in by_steps.items():
            difference = losses - base[steps]
            print(f"{name:<20}{steps:>6}{difference.mean():+8.4f}{difference.std():8.4f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
