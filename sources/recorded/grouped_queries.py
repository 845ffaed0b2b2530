"""What fewer key heads cost on the known language, for lecture 10.

    python sources/recorded/grouped_queries.py

prints one line for each number of key heads: nats a token above the entropy for three seeds, bytes of
cache a token, and parameters. It takes about three minutes on one core.
"""

import torch

from course_utils.fast_attention import GroupedQueryAttention
from course_utils.language_models import CausalLanguageModel, next_token_loss
from lecture_kit.experiments.known_language import exact_loss, known_language, train

D_MODEL, HEADS, LAYERS, D_FF = 64, 8, 2, 128
SEEDS = (0, 1, 2)


def grouped(key_heads: int, seed: int) -> CausalLanguageModel:
    """Lecture 9's model with eight query heads that share some key heads."""
    torch.manual_seed(seed)
    language = known_language()
    size, longest = len(language.vocabulary), language.ids.shape[1]
    model = CausalLanguageModel(size, D_MODEL, HEADS, LAYERS, D_FF, dropout=0.0, max_len=longest)
    for layer in model.layers:
        layer.self_attn = GroupedQueryAttention(D_MODEL, HEADS, key_heads)
    return model


def main() -> None:
    """Train nine models, and print a line for each number of key heads."""
    floor = known_language().floor
    print(f"{'key heads':<10}{'seed 0':>8}{'seed 1':>8}{'seed 2':>8}{'cache':>8}{'weights':>9}")
    for key_heads in (8, 2, 1):
        gaps = []
        for seed in SEEDS:
            model = grouped(key_heads, seed)
            train(model, lambda m, batch, _: next_token_loss(m(batch), batch), seed=seed)
            gaps.append(exact_loss(model) - floor)
        cache = 2 * LAYERS * key_heads * (D_MODEL // HEADS) * 4
        weights = sum(part.numel() for part in model.parameters())
        print(
            f"{key_heads:<10}" + "".join(f"{gap:8.4f}" for gap in gaps) + f"{cache:8d}{weights:9d}"
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
