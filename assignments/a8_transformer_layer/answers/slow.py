"""Slow answers that are right: number by number, and everything with everything."""

from torch import nn

from assignments.a8_transformer_layer.answers.bank import BANK
from assignments.common.slow import (
    attended,
    attended_at_once,
    each_word,
    mapped,
    mapped_at_once,
    normed,
    normed_at_once,
    rectified,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from course_utils.attention import MultiHeadAttention


class Network(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)


@BANK.right("PositionwiseFeedForward", slow=LOOPS)
class NetworkNumberByNumber(Network):
    def word(self, word):
        hidden = rectified(mapped(self.w_1, word))
        return mapped(self.w_2, self.dropout(hidden))

    def forward(self, x):
        return each_word(self.word, x)


@BANK.right("PositionwiseFeedForward", slow=PRODUCTS)
class NetworkByBroadcasting(Network):
    def forward(self, x):
        hidden = mapped_at_once(self.w_1, x)
        hidden = self.dropout(hidden * (hidden > 0))
        return mapped_at_once(self.w_2, hidden)


class Layer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = self.network(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


@BANK.right("TransformerLayer", slow=LOOPS)
class LayerNumberByNumber(Layer):
    network = NetworkNumberByNumber

    def forward(self, x, mask=None):
        x = x + self.dropout(attended(self.self_attn, x, x, x, mask))
        x = each_word(lambda word: normed(self.layer_norm1, word), x)
        x = x + self.dropout(self.feed_forward(x))
        return each_word(lambda word: normed(self.layer_norm2, word), x)


@BANK.right("TransformerLayer", slow=PRODUCTS)
class LayerByBroadcasting(Layer):
    network = NetworkByBroadcasting

    def forward(self, x, mask=None):
        x = x + self.dropout(attended_at_once(self.self_attn, x, x, x, mask))
        x = normed_at_once(self.layer_norm1, x)
        return normed_at_once(self.layer_norm2, x + self.dropout(self.feed_forward(x)))
