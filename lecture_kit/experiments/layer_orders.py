"""Post-LN, pre-LN or no norm at all: a stack of layers that learns to reverse a sequence of digits.

Lecture 7 trains some of these models, and `sources/recorded/layer_orders.py` has trained the others.

Shapes: B batch, T = 8 digits, D width of the stream.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.evaluation import evaluating
from course_utils.layers import TransformerLayer
from course_utils.positional import positional_encoding

DIGITS, LENGTH = 10, 8
STEPS, BATCH_SIZE = 120, 16


class Reverser(nn.Module):
    """Layers that read eight digits and predict them in reverse order.

    Args:
        norm_first: pre-LN, with one more norm at the end, instead of post-LN.
        xavier: the larger initial weights of Glorot and Bengio (2010) instead of PyTorch's default.
        num_layers, d_model: how many layers, and their width.
        with_norms: without, the residual stream passes through unchanged wherever a norm would stand.
    """

    def __init__(
        self,
        norm_first: bool,
        xavier: bool = False,
        num_layers: int = 6,
        d_model: int = 32,
        with_norms: bool = True,
    ):
        super().__init__()
        self.embedding = nn.Embedding(DIGITS, d_model)
        self.register_buffer("positions", positional_encoding(LENGTH, d_model))
        self.layers = nn.ModuleList(
            TransformerLayer(d_model, 2, 2 * d_model, dropout=0.0, norm_first=norm_first)
            for _ in range(num_layers)
        )
        self.last_norm = nn.LayerNorm(d_model) if norm_first and with_norms else nn.Identity()
        if not with_norms:
            for layer in self.layers:
                layer.layer_norm1, layer.layer_norm2 = nn.Identity(), nn.Identity()
        self.generator = nn.Linear(d_model, DIGITS)
        if xavier:
            for parameter in self.layers.parameters():
                if parameter.dim() == 2:
                    nn.init.xavier_uniform_(parameter)

    def streams(self, ids: Tensor) -> list[Tensor]:
        """The residual stream before the first layer and after each: (B, T) ids → (B, T, D) each."""
        found = [self.embedding(ids) + self.positions]
        for layer in self.layers:
            found.append(layer(found[-1]))
        return found

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the digits in reverse order: (B, T) ids → (B, T, 10)."""
        return self.generator(self.last_norm(self.streams(ids)[-1]))


def accuracy_after_training(
    seed: int,
    norm_first: bool,
    learning_rate: float,
    warm_up: int = 1,
    xavier: bool = False,
    with_norms: bool = True,
    steps: int = STEPS,
) -> float:
    """The share of right digits in 256 fresh sequences, after so many steps of 16 sequences.

    The learning rate rises over the first `warm_up` steps and then stays.
    """
    torch.manual_seed(seed)
    model = Reverser(norm_first, xavier, with_norms=with_norms)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = learning_rate * min(1.0, step / warm_up)
        ids = torch.randint(0, DIGITS, (BATCH_SIZE, LENGTH))  # (B, T)
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with evaluating(model):
        ids = torch.randint(0, DIGITS, (256, LENGTH))
        return (model(ids).argmax(dim=-1) == ids.flip(1)).float().mean().item()
