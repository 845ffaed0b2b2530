"""What each part of today's block changes, and how that depends on the learning rate, for lecture 11.

    python sources/recorded/block_variants.py

prints one line for each variant, number of steps and learning rate: the loss on new sentences for up to
five seeds, in nats a word. All variants of a seed get the same batches, and every number is a run of its
own, with its own schedule. The largest rate has one seed, to see whether the loss rises again. It takes
about 20 minutes on one quiet core.
"""

import torch

from lecture_kit.experiments.block_variants import (
    Variant,
    VariantModel,
    english_text,
    held_out_loss,
    train,
)

SEEDS = {  # how many, by number of steps and learning rate
    200: {0.003: 5, 0.012: 5, 0.024: 5, 0.048: 1},
    600: {0.003: 5, 0.012: 3, 0.024: 1},
}
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

LONG = ("2017, norm first", "SwiGLU", "bilinear", "rotary", "all four, no scale")  # 600 steps, too


def main() -> None:
    """Train all variants, and print their losses."""
    heads = "".join(f"  seed {seed}" for seed in range(5))
    print(f"{'variant':<18}{'weights':>8}{'steps':>6}{'rate':>7}{heads}")
    for name, variant in VARIANTS.items():
        model = VariantModel(len(english_text()[0]), variant)
        weights = sum(parameter.numel() for parameter in model.parameters())
        for steps in (200, 600) if name in LONG else (200,):
            for rate, seeds in SEEDS[steps].items():
                losses = [held_out_loss(train(variant, seed, steps, rate)) for seed in range(seeds)]
                numbers = "".join(f"{loss:8.4f}" for loss in losses)
                print(f"{name:<18}{weights:>8}{steps:>6}{rate:>7}{numbers}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
