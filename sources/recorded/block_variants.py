"""What each part of today's block changes, and how that depends on the learning rate, for lecture 11.

    python sources/recorded/block_variants.py

prints one line for each variant, number of steps and learning rate: the loss on new sentences for five
seeds, in nats a word. All variants of a seed get the same batches, and every line is five runs of their
own, each with its own schedule. It takes about half an hour on one quiet core.
"""

import torch

from lecture_kit.experiments.block_variants import (
    Variant,
    VariantModel,
    english_text,
    held_out_loss,
    train,
)

SEEDS = range(5)
RATES = {200: (0.003, 0.012, 0.024, 0.048), 600: (0.003, 0.012, 0.024)}  # by number of steps
VARIANTS = {
    "2017, norm first": Variant(),
    "RMSNorm": Variant(rms_norm=True),
    "no biases": Variant(biases=False),
    "SwiGLU": Variant(feed_forward="swiglu"),
    "bilinear": Variant(feed_forward="bilinear"),
    "rotary": Variant(rotary=True),
    "all four": Variant(True, "swiglu", True, biases=False),
    "no scale": Variant(scaled=False),
    "rotary, no scale": Variant(rotary=True, scaled=False),
    "all four, no scale": Variant(True, "swiglu", True, biases=False, scaled=False),
}


def main() -> None:
    """Train all variants, and print their losses."""
    heads = "".join(f"  seed {seed}" for seed in SEEDS)
    print(f"{'variant':<18}{'weights':>8}{'steps':>6}{'rate':>7}{heads}")
    for name, variant in VARIANTS.items():
        model = VariantModel(len(english_text()[0]), variant)
        weights = sum(parameter.numel() for parameter in model.parameters())
        for steps, rates in RATES.items():
            for rate in rates:
                losses = [held_out_loss(train(variant, seed, steps, rate)) for seed in SEEDS]
                numbers = "".join(f"{loss:8.4f}" for loss in losses)
                print(f"{name:<18}{weights:>8}{steps:>6}{rate:>7}{numbers}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
