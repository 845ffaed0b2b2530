"""Which learning rates work for post-LN and for pre-LN: lecture 7's models with warm-up, and with larger weights.

    python sources/recorded/layer_orders.py

prints one line for each setting, order and seed, with the share of right digits at three learning rates.
It takes about a minute of one core. The setting that lecture 7 trains itself is left out.
"""

import torch

from lecture_kit.experiments.layer_orders import accuracy_after_training

SEEDS = range(5)
RATES = (0.003, 0.01, 0.03)
SETTINGS = {"warm-up": {"warm_up": 50}, "Xavier": {"xavier": True}}
ORDERS = {"post-LN": False, "pre-LN": True}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for setting, options in SETTINGS.items():
        for order, norm_first in ORDERS.items():
            for seed in SEEDS:
                shares = [
                    accuracy_after_training(seed, norm_first, rate, **options) for rate in RATES
                ]
                print(
                    f"{setting:<8} {order:<7} {seed}",
                    *[f"{share:.2f}" for share in shares],
                    flush=True,
                )
