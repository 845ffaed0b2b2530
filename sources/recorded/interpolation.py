"""How far models see whose positions are pressed together, for lecture 11.

    python sources/recorded/interpolation.py

trains four models on rows of 32 random tokens that repeat, and prints which share of the next tokens
they say on rows of 128, for blocks of 12, 30 and 60 tokens: with positions as they are and divided by
4, at once and after 20 and 60 more steps on rows of 128. It takes about two minutes on one core.
"""

import copy

import torch

from lecture_kit.experiments.repeated_tokens import new_model, share_right, train

SEEDS = range(4)
LONG, DISTANCES, FACTORS = 128, (12, 30, 60), (1.0, 4.0)


def main() -> None:
    """Train, and print a line for each seed, factor and number of further steps."""
    print("seed factor steps" + "".join(f"{distance:>6}" for distance in DISTANCES))
    for seed in SEEDS:
        trained = train(new_model(seed), 800, seed)
        for factor in FACTORS:
            for steps in (0, 20, 60):
                model = copy.deepcopy(trained)
                train(model, steps, 100 + seed, LONG, (6, 64), factor)
                shares = [share_right(model, distance, LONG, factor) for distance in DISTANCES]
                numbers = "".join(f"{share:6.2f}" for share in shares)
                print(f"{seed:>4}{factor:>7.0f}{steps:>6}{numbers}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
