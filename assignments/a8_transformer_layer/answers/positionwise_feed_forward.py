"""Answers to `PositionwiseFeedForward`."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a8_transformer_layer.answers.bank import BANK
from assignments.a8_transformer_layer.answers.shared import Maps
from course_utils import layers


@BANK.right("PositionwiseFeedForward")
class NetworkInOneLine(Maps):
    def forward(self, x):
        return self.w_2(F.dropout(F.relu(self.w_1(x)), self.p, self.training))


@BANK.right("PositionwiseFeedForward")
class NetworkDroppingBeforeTheReLU(Maps):
    def forward(self, x):
        return self.w_2(F.dropout(self.w_1(x), self.p, self.training).clamp(min=0))


@BANK.right("PositionwiseFeedForward")
class NetworkWithAModuleForEachStep(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation=None):
        super(NetworkWithAModuleForEachStep, self).__init__()  # noqa: UP008 (as many write it)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.activation = activation or nn.ReLU(inplace=True)
        self.drop = nn.Dropout(dropout, inplace=True)
        self.w_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        for step in (self.w_1, self.activation, self.drop, self.w_2):
            x = step(x)
        return x


@BANK.right("PositionwiseFeedForward")
class NetworkAsASequential(Maps):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__(d_model, d_ff, dropout)
        self.all = nn.Sequential(self.w_1, nn.ReLU(), nn.Dropout(dropout), self.w_2)

    def forward(self, x):
        return self.all(x)


@BANK.right("PositionwiseFeedForward")
class NetworkByEinsum(Maps):
    def forward(self, x):
        hidden = torch.einsum("btd,fd->btf", x, self.w_1.weight) + self.w_1.bias
        hidden = torch.maximum(hidden, hidden.new_zeros(()))
        if self.training:
            keep = torch.empty_like(hidden).bernoulli_(1 - self.p)
            hidden = hidden * keep / (1 - self.p)
        return torch.einsum("btf,df->btd", hidden, self.w_2.weight) + self.w_2.bias


@BANK.right("PositionwiseFeedForward")
class NetworkWordByWord(Maps):
    def forward(self, x):
        rows = []
        for sentence in x:
            words = []
            for word in sentence:
                hidden = self.w_1.weight @ word + self.w_1.bias
                hidden = F.dropout(hidden * (hidden > 0), self.p, self.training)
                words.append(self.w_2.weight @ hidden + self.w_2.bias)
            rows.append(torch.stack(words))
        return torch.stack(rows)


@BANK.right("PositionwiseFeedForward")
class NetworkOnAFlatList(Maps):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__(d_model, d_ff, dropout)
        self.dropout = nn.Dropout(p=dropout)
        for layer in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.register_buffer("unused", torch.zeros(3))

    def forward(self, x):
        b, t, d = x.shape
        words = x.reshape(b * t, d)
        return self.w_2(self.dropout(torch.relu(self.w_1(words)))).view(b, t, d)


@BANK.right("PositionwiseFeedForward")
class NetworkWithHandWrittenDropout(Maps):
    def forward(self, x):
        hidden = torch.relu(self.w_1(x))
        if self.training and self.p > 0:
            hidden = hidden * (torch.rand_like(hidden) >= self.p).to(x.dtype) / (1 - self.p)
        return self.w_2(hidden)


@BANK.wrong("PositionwiseFeedForward", named="dropout on the result")
class NetworkDroppingTwice(Maps):
    def forward(self, x):
        hidden = F.dropout(F.relu(self.w_1(x)), self.p, self.training)
        return F.dropout(self.w_2(hidden), self.p, self.training)


@BANK.wrong("PositionwiseFeedForward", told="wrong in train mode with dropout")
class NetworkWithItsOwnDefault(NetworkInOneLine):
    def __init__(self, d_model, d_ff, dropout=0.5):
        super().__init__(d_model, d_ff, dropout)


@BANK.wrong("PositionwiseFeedForward", named="`dropout` taken for the share that is kept")
class NetworkThatDropsOthers(Maps):
    def forward(self, x):
        return self.w_2(F.dropout(F.relu(self.w_1(x)), 1 - self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", told="wrong in train mode with dropout")
class NetworkThatDoesNotScaleWhatIsLeft(Maps):
    def forward(self, x):
        hidden = F.relu(self.w_1(x))
        if self.training:
            hidden = hidden * (torch.rand_like(hidden) >= self.p)
        return self.w_2(hidden)


@BANK.wrong("PositionwiseFeedForward", told="wrong in train mode with dropout")
class NetworkThatDropsWholeWords(Maps):
    def forward(self, x):
        hidden = F.relu(self.w_1(x))
        keep = F.dropout(torch.ones_like(hidden[..., :1]), self.p, self.training)
        return self.w_2(hidden * keep)


@BANK.wrong("PositionwiseFeedForward", told="wrong in train mode with dropout")
class NetworkThatDropsTheSameOfAllWords(Maps):
    def forward(self, x):
        hidden = F.relu(self.w_1(x))
        return self.w_2(hidden * F.dropout(torch.ones_like(hidden[:1, :1]), self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", told="wrong in train mode with dropout")
class NetworkThatDropsTheSameEachTime(Maps):
    def forward(self, x):
        hidden = F.relu(self.w_1(x))
        if not self.training:
            return self.w_2(hidden)
        generator = torch.Generator().manual_seed(0)
        keep = torch.rand(hidden.shape, generator=generator) >= self.p
        return self.w_2(hidden * keep / (1 - self.p))


@BANK.wrong("PositionwiseFeedForward")
class NetworkWithASoftmaxOverTheSentence(Maps):
    def forward(self, x):
        return self.w_2(self.w_1(x).softmax(dim=1))


@BANK.wrong("PositionwiseFeedForward")
class NetworkThatMixesTheBatch(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x - x.mean(dim=0, keepdim=True))


@BANK.wrong("PositionwiseFeedForward", told="in another order")
class NetworkForOneSentence(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x[0]).expand_as(x)


@BANK.wrong("PositionwiseFeedForward")
class NetworkOnTheWrongAxisOfSquares(NetworkInOneLine):
    def forward(self, x):
        if x.shape[1] == x.shape[2]:
            return super().forward(x.transpose(1, 2)).transpose(1, 2)
        return super().forward(x)


@BANK.wrong("PositionwiseFeedForward", named="d_ff not used")
class NetworkFourTimesAsWide(Maps):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__(d_model, 4 * d_model, dropout)

    forward = NetworkInOneLine.forward


@BANK.wrong("PositionwiseFeedForward", told="weights of another shape")
class NetworkOfHalfTheWidth(Maps):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__(d_model, d_ff // 2, dropout)

    forward = NetworkInOneLine.forward


@BANK.wrong("PositionwiseFeedForward", named="maps without bias")
class NetworkWithoutBias(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias=False)
        self.w_2 = nn.Linear(d_ff, d_model, bias=False)
        self.p = dropout

    forward = NetworkInOneLine.forward


@BANK.wrong("PositionwiseFeedForward", told="weights with other names")
class NetworkWithMapsOfOtherNames(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.p = dropout

    def forward(self, x):
        return self.linear2(F.dropout(F.relu(self.linear1(x)), self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", told="weights that are not found")
class NetworkWithMapsMadeInForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.sizes, self.p = (d_model, d_ff), dropout

    def forward(self, x):
        d_model, d_ff = self.sizes
        w_1, w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        return w_2(F.dropout(F.relu(w_1(x)), self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", told="weights that are not found")
class NetworkWithMapsInAList(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.maps = [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]
        self.p = dropout

    def forward(self, x):
        return self.maps[1](F.dropout(F.relu(self.maps[0](x)), self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", told="no module")
class NetworkThatIsNoModule:
    def __init__(self, d_model, d_ff, dropout=0.1):
        self.inner = layers.PositionwiseFeedForward(d_model, d_ff, dropout)

    def __call__(self, x):
        return self.inner(x)

    forward = __call__


@BANK.wrong("PositionwiseFeedForward", told=("no gradient", "wrong about gradients"))
class NetworkThatDetaches(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x.detach())


@BANK.wrong("PositionwiseFeedForward", told=("no gradient", "wrong about gradients"))
class NetworkWithDetachedWeights(Maps):
    def forward(self, x):
        hidden = F.relu(x @ self.w_1.weight.data.T + self.w_1.bias)
        return self.w_2(F.dropout(hidden, self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", told=("another dtype", "wrong in float64"))
class NetworkThatIsAlwaysFloat32(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x).float()


@BANK.wrong("PositionwiseFeedForward", told=("stops with RuntimeError", "wrong in float64"))
class NetworkForFloat32Input(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x @ torch.eye(x.shape[-1]))


@BANK.wrong(
    "PositionwiseFeedForward", told=("stops with RuntimeError", "wrong with gaps in memory")
)
class NetworkThatNeedsContiguousInput(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x.view(-1, x.shape[-1])).view(x.shape)


@BANK.wrong("PositionwiseFeedForward", told="inputs changed")
class NetworkThatChangesItsInput(NetworkInOneLine):
    def forward(self, x):
        result = super().forward(x)
        x.data.mul_(0)
        return result


@BANK.wrong("PositionwiseFeedForward", told="always one shape")
class NetworkForTheExampleByHand(NetworkInOneLine):
    def forward(self, x):
        return x.new_tensor([[[1.0, -1.0], [3.0, 4.0]]])


@BANK.wrong("PositionwiseFeedForward", told="more results than asked")
class NetworkThatReturnsAPair(NetworkInOneLine):
    def forward(self, x):
        return super().forward(x), None


@BANK.right("PositionwiseFeedForward")
class NetworkOfProperties(nn.Module):
    """The maps stand in a list, and properties have the names that are asked for."""

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )

    @property
    def w_1(self):
        return self.net[0]

    @property
    def w_2(self):
        return self.net[-1]

    def forward(self, x):
        return self.net(x)


@BANK.right("PositionwiseFeedForward")
class NetworkThatIsASequential(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.add_module("w_1", nn.Linear(d_model, d_ff))
        self.add_module("relu", nn.ReLU())
        self.add_module("dropout", nn.Dropout(dropout))
        self.add_module("w_2", nn.Linear(d_ff, d_model))


@BANK.right("PositionwiseFeedForward")
class NetworkWithAMapOverWords(Maps):
    def forward(self, x):
        inner = torch.vmap(torch.vmap(lambda word: self.w_1.weight @ word + self.w_1.bias))
        return self.w_2(F.dropout(inner(x).clamp(min=0), self.p, self.training))


@BANK.wrong("PositionwiseFeedForward", named="a fixed dropout in either mode")
class NetworkWithABareDropout(Maps):
    def forward(self, x):
        return self.w_2(F.dropout(F.relu(self.w_1(x))))


@BANK.wrong("PositionwiseFeedForward", named="dropout taken and not kept")
class NetworkThatDropsHalf(Maps):
    def forward(self, x):
        return self.w_2(F.dropout(F.relu(self.w_1(x)), training=self.training))
