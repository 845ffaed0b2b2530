"""Which learning rates work with post-LN, pre-LN and no norm, with warm-up, and with larger weights.

    python sources/recorded/layer_orders.py             after 120 steps, five seeds
    python sources/recorded/layer_orders.py --longer    after 480 steps, two seeds

prints one line for each setting, order and seed, with the share of right digits at three learning rates.
The first takes about three minutes of one core, the second five. Lecture 7 trains post-LN and pre-LN for
120 steps without either itself.
"""

import argparse

import torch

from lecture_kit.experiments.layer_orders import STEPS, accuracy_after_training

SEEDS, FEWER_SEEDS = range(5), range(2)
LONGER = 4 * STEPS
RATES = (0.003, 0.01, 0.03)
SETTINGS = {
    "default": {},
    "warm-up": {"warm_up": 50},
    "Xavier": {"xavier": True},
    "both": {"xavier": True, "warm_up": 50},
}
ORDERS = {
    "post-LN": {"norm_first": False},
    "pre-LN": {"norm_first": True},
    "no norm": {"norm_first": True, "with_norms": False},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--longer", action="store_true", help="four times as many steps")
    longer = parser.parse_args().longer
    torch.set_num_threads(1)
    for setting, options in SETTINGS.items():
        for order, kind in ORDERS.items():
            for seed in FEWER_SEEDS if longer else SEEDS:
                shares = [
                    accuracy_after_training(
                        seed,
                        learning_rate=rate,
                        steps=LONGER if longer else STEPS,
                        **kind,
                        **options,
                    )
                    for rate in RATES
                ]
                print(
                    f"{setting:<8} {order:<7} {seed}",
                    *[f"{share:.2f}" for share in shares],
                    flush=True,
                )


if __name__ == "__main__":
    main()
