"""Wrong answers to assignment 8 that public projects really gave, rewritten."""

import torch.nn.functional as F

from assignments.a8_transformer_layer.answers.bank import BANK
from assignments.a8_transformer_layer.answers.shared import Maps
from assignments.a8_transformer_layer.answers.transformer_layer import Modules


@BANK.wrong(
    "PositionwiseFeedForward",
    named="the ReLU at the end instead of between",
    published="goruck/nilm#1",
)
class NetworkActivatedTooLate(Maps):
    """The activation follows the second map, and there is none between the two."""

    def forward(self, x):
        return F.relu(self.w_2(F.dropout(self.w_1(x), self.p, self.training)))


@BANK.wrong("PositionwiseFeedForward", named="trailing ReLU", published="namedtensor/notation#72")
class NetworkThatEndsInARelu(Maps):
    """A second ReLU follows at the end."""

    def forward(self, x):
        hidden = F.dropout(F.relu(self.w_1(x)), self.p, self.training)
        return F.relu(self.w_2(hidden))


@BANK.wrong(
    "TransformerLayer",
    named="no residual connection around attention",
    published="kyegomez/BitNet#32",
)
class LayerThatAddsAttentionToItself(Modules):
    """x is overwritten by what attention gives, and then added to itself."""

    def forward(self, x, mask=None):
        x = self.drop(self.self_attn(x, x, x, mask)[0])
        x = self.layer_norm1(x + x)
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong(
    "TransformerLayer",
    named="the layer's input as second residual",
    published="strutive07/transformer-tensorflow2.0#14",
)
class LayerThatAddsItsInputsTwice(Modules):
    """The layer's own input is added again after the feed-forward network."""

    def forward(self, inputs, mask=None):
        attended = self.drop(self.self_attn(inputs, inputs, inputs, mask)[0])
        x = self.layer_norm1(inputs + attended)
        return self.layer_norm2(inputs + self.drop(self.feed_forward(x)))


@BANK.wrong(
    "TransformerLayer",
    named="norm first, and the residual normalised with it",
    published="Howuhh/faster-trajectory-transformer#3",
)
class LayerThatAddsTheNormalised(Modules):
    """The norm comes first, and the sublayer's output is added to the normalised input."""

    def forward(self, x, mask=None):
        x = self.layer_norm1(x)
        x = x + self.drop(self.self_attn(x, x, x, mask)[0])
        x = self.layer_norm2(x)
        return x + self.drop(self.feed_forward(x))


@BANK.wrong("TransformerLayer", named="mask dropped", published="keras-team/keras#23038")
class LayerThatDropsTheMaskWithDropout(Modules):
    """Where dropout is above 0, the mask is not passed on."""

    def forward(self, x, mask=None):
        attended = self.self_attn(x, x, x, mask if self.p == 0 else None)[0]
        x = self.layer_norm1(x + self.drop(attended))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))
