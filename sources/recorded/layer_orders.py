"""Which learning rates work with post-LN, pre-LN and no norm, with warm-up, and with larger weights.

    python sources/recorded/layer_orders.py

prints one line for each setting, order and seed, with the share of right digits at three learning rates.
It takes about three minutes of one core. Lecture 7 trains post-LN and pre-LN without either itself.
"""

import torch

from lecture_kit.experiments.layer_orders import accuracy_after_training

SEEDS = range(5)
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

if __name__ == "__main__":
    torch.set_num_threads(1)
    for setting, options in SETTINGS.items():
        for order, kind in ORDERS.items():
            for seed in SEEDS:
                shares = [
                    accuracy_after_training(seed, learning_rate=rate, **kind, **options)
                    for rate in RATES
                ]
                print(
                    f"{setting:<8} {order:<7} {seed}",
                    *[f"{share:.2f}" for share in shares],
                    flush=True,
                )
