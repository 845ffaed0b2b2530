"""What fewer KV heads cost on the known language, for lecture 10.

    python sources/recorded/grouped_queries.py

prints one line for each model: the largest learning rate, the number of KV heads, the seed, and the nats a
token above the entropy. Models of one seed see the same sentences and begin with different
parameters. It takes about fourteen minutes on one core.
"""

import torch

from course_utils.fast_attention import GroupedQueryAttention
from course_utils.language_models import CausalLanguageModel, next_token_loss
from lecture_kit.experiments.known_language import PEAK, exact_loss, known_language, train

D_MODEL, HEADS, LAYERS, D_FF = 64, 8, 2, 128
# The largest learning rate, numbers of KV heads, and how many seeds.
RUNS = [(PEAK, (8, 2, 1), 5), (2 * PEAK, (8, 1), 4)]


def grouped(kv_heads: int, seed: int) -> CausalLanguageModel:
    """Lecture 9's model with eight query heads that share some KV heads."""
    torch.manual_seed(seed)
    language = known_language()
    size, longest = len(language.vocabulary), language.ids.shape[1]
    model = CausalLanguageModel(size, D_MODEL, HEADS, LAYERS, D_FF, dropout=0.0, max_len=longest)
    for layer in model.layers:
        layer.self_attn = GroupedQueryAttention(D_MODEL, HEADS, kv_heads)
    return model


def main() -> None:
    """Train all models, and print a line for each."""
    floor = known_language().floor
    for peak, choices, seeds in RUNS:
        for seed in range(seeds):
            for kv_heads in choices:
                model = grouped(kv_heads, seed)
                train(
                    model,
                    lambda m, batch, _: next_token_loss(m(batch), batch),
                    seed=seed,
                    peak=peak,
                )
                gap = exact_loss(model) - floor
                print(f"{peak} {kv_heads} {seed} {gap:.4f}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
