"""What is found inside six models that copy, for lecture 12.

    python sources/recorded/looking_inside.py

trains models of two layers on random tokens that repeat, and prints one line for each: the share of
right tokens; the best induction score of a head in layer 1; the share right without layer 1, and
without the head of layer 1 that is missed most; the head that is missed most of all, its score and the
share right without it; and the place, counted from the first copy of the token, whose vector before
layer 1 has to be put back, with the share of the answer that it brings back. It takes about two minutes
on one core.
"""

import torch

from course_utils.inside import ablate_heads, induction_score, patch_activation
from course_utils.modern import attention_maps
from course_utils.repeated_tokens import HEADS, VOCABULARY, distinct, new_model, train

SEEDS = range(6)
PERIOD, LENGTH, ROWS = 12, 24, 200
PLACE = 5  # of the token in the first copy that is replaced


def share_right(logits: torch.Tensor, ids: torch.Tensor) -> float:
    """Of the tokens of the second copy after its first, which share is said."""
    said = logits[:, PERIOD - 1 : -1].argmax(dim=-1)
    return (said == ids[:, PERIOD:]).float().mean().item()


def log_probability(logits: torch.Tensor, query: int, answer: torch.Tensor) -> float:
    """Of the answers (B,) at the place `query` of the logits (B, T, V), on average."""
    row = logits[:, query].log_softmax(dim=-1)
    return row.gather(1, answer.unsqueeze(1)).mean().item()


def main() -> None:
    """Train, look inside, and print a line for each seed."""
    print("seed  right   score  no layer 1   one away   needed  its score  without   place  share")
    for seed in SEEDS:
        model = train(new_model(seed), 800, seed)
        ids = distinct(ROWS, LENGTH, PERIOD, torch.Generator().manual_seed(99))
        scores = torch.stack([induction_score(one, PERIOD) for one in attention_maps(model, ids)])
        with torch.no_grad():
            right = share_right(model(ids), ids)
        everything = [(1, head) for head in range(HEADS)]
        without_layer = share_right(ablate_heads(model, ids, everything), ids)
        without = {
            (layer, head): share_right(ablate_heads(model, ids, [(layer, head)]), ids)
            for layer in range(2)
            for head in range(HEADS)
        }
        one_away = min(share for (layer, _), share in without.items() if layer == 1)
        needed = min(without, key=lambda pair: without[pair])

        corrupted = ids.clone()
        corrupted[:, PLACE] = (ids[:, PLACE] + 1) % VOCABULARY
        query, answer = PLACE + PERIOD, ids[:, PLACE + 1]
        with torch.no_grad():
            clean = log_probability(model(ids), query, answer)
            broken = log_probability(model(corrupted), query, answer)
        shares = [
            (log_probability(logits, query, answer) - broken) / (clean - broken)
            for logits in (
                patch_activation(model, ids, corrupted, 1, place) for place in range(LENGTH)
            )
        ]
        place = max(range(LENGTH), key=lambda at: shares[at])
        elsewhere = max(share for at, share in enumerate(shares) if at != place)
        print(
            f"{seed:4d}{right:7.3f}{scores[1].max():8.3f}{without_layer:12.3f}{one_away:11.3f}"
            f"     {needed[0]}.{needed[1]}{scores[needed]:11.3f}{without[needed]:9.3f}"
            f"{place - PLACE:+8d}{shares[place]:7.2f}{elsewhere:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
