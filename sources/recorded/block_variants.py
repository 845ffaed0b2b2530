"""What each part of today's block changes, for lecture 11.

    python sources/recorded/block_variants.py

prints one line for each variant and each number of steps: the loss on new sentences for five seeds, in
nats a word. All variants of a seed get the same batches. It takes about ten minutes on one core.
"""

import torch

from course_utils.block_variants import Variant, VariantModel, english_text, held_out_loss, train

SEEDS = range(5)
STEPS = (100, 200, 600)
VARIANTS = {
    "2017, norm first": Variant(),
    "RMSNorm": Variant(rms_norm=True),
    "no biases": Variant(biases=False),
    "GELU": Variant(feed_forward="gelu"),
    "SwiGLU": Variant(feed_forward="swiglu"),
    "bilinear": Variant(feed_forward="bilinear"),
    "rotary": Variant(rotary=True),
    "all four": Variant(rms_norm=True, biases=False, feed_forward="swiglu", rotary=True),
    "no factor": Variant(factor=False),
    "rotary, no factor": Variant(rotary=True, factor=False),
    "all four, no factor": Variant(True, "swiglu", True, False, False),
}


def main() -> None:
    """Train every variant, and print its losses."""
    print(f"{'variant':<20}{'weights':>8}{'steps':>6}" + "".join(f"  seed {s}" for s in SEEDS))
    for name, variant in VARIANTS.items():
        model = VariantModel(len(english_text()[0]), variant)
        weights = sum(parameter.numel() for parameter in model.parameters())
        for steps in STEPS:
            losses = [held_out_loss(train(variant, seed, steps)) for seed in SEEDS]
            numbers = "".join(f"{loss:8.4f}" for loss in losses)
            print(f"{name:<20}{weights:>8}{steps:>6}{numbers}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
