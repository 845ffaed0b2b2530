"""Random tokens that come again: a task that only looking back can solve, and models that learn it.

A block of random tokens is repeated until the row is full. From the second copy on, the next token is
the one that followed the same token in the copy before; nothing else tells it.

Shapes: B batch, T length, V = 64 tokens.
"""

import torch
import torch.nn.functional as F

from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel

VOCABULARY, D_MODEL, HEADS, D_FF = 64, 64, 4, 128
D_FF_ALONE = 342  # of a single layer that has as many weights as two
LENGTH, BATCH, RATE = 32, 32, 3e-3
SHORTEST, LONGEST = 6, 16  # blocks in training


def repeated(number, length, periods, generator):
    """Rows of random tokens, each a block that is repeated.

    Args:
        number: B, how many rows.
        length: T; the last copy may be cut short.
        periods: (shortest, longest) block, both included.
        generator: a `torch.Generator`.

    Returns:
        ids: (B, T) int64 tensor.
        period: (B,) int64 tensor, the length of each row's block.
    """
    shortest, longest = periods
    period = torch.randint(shortest, longest + 1, (number,), generator=generator)  # (B,)
    blocks = torch.randint(VOCABULARY, (number, longest), generator=generator)
    place = torch.arange(length) % period.unsqueeze(1)  # (B, T)
    return blocks.gather(1, place), period


def distinct(number, length, period, generator):
    """Rows whose block of `period` tokens holds no token twice: (number, length) int64 tensor."""
    shuffled = torch.rand(number, VOCABULARY, generator=generator).argsort(dim=1)  # (B, V)
    return shuffled[:, torch.arange(length) % period]


def next_logits(model, ids, factor=1.0):
    """Logits of the next token, with all positions divided by a factor: (B, T) → (B, T, V)."""
    x = model.embed(ids)
    mask = causal_mask(ids.shape[1], ids.device)
    positions = torch.arange(ids.shape[1], device=ids.device) / factor
    for layer in model.layers:
        x = layer(x, mask, positions)
    return model.unembed(x)


def known(ids, period):
    """Where the next token can be known, because it has been in the row already: (B, T - 1) bool."""
    return torch.arange(ids.shape[1] - 1) >= period.unsqueeze(1) - 1


def train(
    model,
    steps,
    seed,
    length=LENGTH,
    periods=(SHORTEST, LONGEST),
    factor=1.0,
    rate=RATE,
    after_step=None,
):
    """Train on fresh rows in every step, with the loss on what can be known.

    Args:
        model: a `ModernLanguageModel`; it is changed.
        steps: batches of 32 rows.
        seed: of the rows.
        length, periods: of the rows, see `repeated`.
        factor: what positions are divided by.
        rate: the learning rate of AdamW.
        after_step: None, or a function that is called with the number of steps made, 1, 2, ….

    Returns:
        the model.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        ids, period = repeated(BATCH, length, periods, generator)
        asked = known(ids, period)
        loss = F.cross_entropy(next_logits(model, ids, factor)[:, :-1][asked], ids[:, 1:][asked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if after_step:
            after_step(step)
    return model


def new_model(seed, layers=2):
    """An untrained model of this task; a single layer is wide enough to have as many weights as two."""
    torch.manual_seed(seed)
    d_ff = D_FF_ALONE if layers == 1 else D_FF
    return ModernLanguageModel(VOCABULARY, D_MODEL, HEADS, layers, d_ff)


@torch.no_grad()
def share_right(model, period, length=LENGTH, factor=1.0, rows=200):
    """Share of the tokens that can be known and are said, in new rows with blocks of one length."""
    generator = torch.Generator().manual_seed(12_345)
    ids, periods = repeated(rows, length, (period, period), generator)
    asked = known(ids, periods)
    said = next_logits(model, ids, factor).argmax(dim=-1)[:, :-1]
    return (said == ids[:, 1:])[asked].float().mean().item()
