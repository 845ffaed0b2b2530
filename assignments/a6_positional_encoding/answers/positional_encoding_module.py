"""Answers to `PositionalEncoding`."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a6_positional_encoding.answers.bank import BANK
from assignments.a6_positional_encoding.answers.positional_encoding import (
    table_by_exp_and_log,
    table_by_numpy,
    table_by_padding_to_even,
    table_by_shifted_sines,
    table_by_stacked_pairs,
    table_by_two_loops,
    table_by_where,
)


@BANK.right("PositionalEncoding")
class WithATableForOneSentence(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(0))

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError("too long")
        return self.dropout(x + self.pe[:, : x.size(1)])


@BANK.right("PositionalEncoding")
class WithoutSavingTheTable(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.max_len, self.rate = max_len, dropout
        self.register_buffer("pe", table_by_two_loops(max_len, d_model), persistent=False)

    def forward(self, x, start=0):
        batch, length, width = x.shape
        if start + length > self.max_len:
            raise ValueError(f"{length} > {self.max_len}")
        summed = x + self.pe[start : start + length].to(x.dtype).expand(batch, length, width)
        return F.dropout(summed, self.rate, self.training)


@BANK.right("PositionalEncoding")
class WithTimeOnTheFirstAxis(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000, batch_first=True):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_stacked_pairs(max_len, d_model)[:, None, :])

    def forward(self, x):
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError
        x = x.transpose(0, 1)
        return self.drop(x + self.pe[: x.shape[0]]).transpose(0, 1)


@BANK.right("PositionalEncoding")
class WithDropoutByHand(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.p = dropout
        self.register_buffer("pe", table_by_shifted_sines(max_len, d_model).contiguous())

    def forward(self, x):
        positions = torch.arange(x.shape[1])
        if len(positions) > len(self.pe):
            raise ValueError("longer than max_len")
        total = x + F.embedding(positions, self.pe)
        if not self.training or self.p == 0:
            return total
        keep = torch.rand_like(total) >= self.p
        return total * keep / (1 - self.p)


@BANK.right("PositionalEncoding")
class WithALoopOverWords(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        nn.Module.__init__(self)
        self.layers = nn.Sequential(nn.Identity(), nn.Dropout(dropout))
        self.pe = nn.Buffer(table_by_where(max_len, d_model))

    def forward(self, x):
        longest = self.pe.size(0)
        if x.size(-2) > longest:
            raise ValueError(f"at most {longest} words")
        words = [x[:, t] + self.pe[t] for t in range(x.size(1))]
        return self.layers(torch.stack(words, dim=1))


@BANK.right("PositionalEncoding")
class WithTwoBuffers(nn.Module):
    class TooLong(ValueError):
        pass

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_numpy(max_len, d_model))
        self.register_buffer("longest", torch.tensor(max_len))

    def forward(self, x):
        if x.shape[1] > self.longest:
            raise self.TooLong(x.shape)
        return self.dropout(torch.add(x, self.pe.narrow(0, 0, x.shape[1])))


@BANK.right("PositionalEncoding")
class AsADropoutWithATurnedTable(nn.Dropout):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(dropout)
        self.register_buffer("pe", table_by_where(max_len, d_model).T)

    def forward(self, x):
        if not x.shape[1] <= self.pe.shape[1]:
            raise ValueError("too long")
        return super().forward(x + self.pe.T[: x.shape[1]])


@BANK.right("PositionalEncoding")
class WithATableLongerThanNeeded(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.max_len, self.dropout = max_len, nn.Dropout(dropout, inplace=True)
        self.register_buffer("pe", table_by_two_loops(max_len + 3, d_model).double())

    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        return self.dropout(x + self.pe[: x.shape[1]].to(x))


class Right(nn.Module):
    """What most wrong answers below share."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(0))

    def check(self, x):
        if x.shape[1] > self.pe.shape[1]:
            raise ValueError(f"{x.shape[1]} words, max_len {self.pe.shape[1]}")

    def positions(self, x):
        return self.pe[:, : x.shape[1]]

    def forward(self, x):
        self.check(x)
        return self.dropout(x + self.positions(x))


@BANK.wrong("PositionalEncoding", named="parameter instead of buffer")
class WithAFrozenParameter(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        table = self.pe
        del self.pe
        self.pe = nn.Parameter(table, requires_grad=False)


@BANK.wrong("PositionalEncoding", named="plain attribute instead of buffer")
class WithAPlainAttribute(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        table = self.pe
        del self.pe
        self.pe = table


@BANK.wrong("PositionalEncoding", named="dropout in eval mode", published="facebookresearch/DME#3")
class WithDropoutThatNeverSleeps(Right):
    """`F.dropout` is not told of the mode."""

    def forward(self, x):
        self.check(x)
        return F.dropout(x + self.positions(x), self.dropout.p)


@BANK.wrong(
    "PositionalEncoding",
    named="batch axis indexed",
    published="KasperGroesLudvigsen/influenza_transformer#9",
)
class AsForTimeFirst(nn.Module):
    """Positions are counted along the batch."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(1))

    def forward(self, x):
        if x.size(1) > len(self.pe):
            raise ValueError("too long")
        return self.dropout(x + self.pe[: x.size(0)])


@BANK.wrong("PositionalEncoding", told="stops with AttributeError")
class WithLearnedPositions(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout, self.pe = nn.Dropout(dropout), nn.Embedding(max_len, d_model)

    def forward(self, x):
        if x.shape[1] > self.pe.num_embeddings:
            raise ValueError("too long")
        return self.dropout(x + self.pe(torch.arange(x.shape[1])))


@BANK.wrong("PositionalEncoding", told="wrong about what a new module holds")
class WithALearnedScale(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.scale = nn.Parameter(torch.ones(1))

    def positions(self, x):
        return self.scale * super().positions(x)


@BANK.wrong("PositionalEncoding", told="inputs changed")
class InPlace(Right):
    def forward(self, x):
        self.check(x)
        with torch.no_grad():
            x += self.positions(x)
        return self.dropout(x)


@BANK.wrong("PositionalEncoding", told=("no gradient", "wrong about gradients"))
class Detached(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x.detach() + self.positions(x))


@BANK.wrong("PositionalEncoding", told=("another dtype", "wrong in float64"))
class AlwaysFloat32(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x.float() + self.positions(x).float())


@BANK.wrong("PositionalEncoding", told=("rounded", "wrong in float64"))
class WithInputsRoundedToSinglePrecision(Right):
    """The dtype of the result is that of x, which has lost digits on the way."""

    def forward(self, x):
        self.check(x)
        return self.dropout((x.float() + self.positions(x)).to(x.dtype))


@BANK.wrong("PositionalEncoding", told=("stops with RuntimeError", "wrong with gaps in memory"))
class OfContiguousInputOnly(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x.view(-1).view(x.shape) + self.positions(x))


@BANK.wrong("PositionalEncoding", told="wrong where an error is asked for")
class WithoutACheck(Right):
    def check(self, x):
        pass


@BANK.wrong("PositionalEncoding", told="wrong where an error is asked for")
class WithAnAssert(Right):
    def check(self, x):
        assert x.shape[1] <= self.pe.shape[1], "too long"


@BANK.wrong("PositionalEncoding", told="stops with ValueError")
class WithAnErrorTooEarly(Right):
    def check(self, x):
        if x.shape[1] >= self.pe.shape[1]:
            raise ValueError("too long")


@BANK.wrong(
    "PositionalEncoding",
    told=("wrong where an error is asked for", "wrong in train mode with dropout"),
)
class WithAnErrorInEvalModeOnly(Right):
    def check(self, x):
        if not self.training:
            super().check(x)
        elif x.shape[1] > self.pe.shape[1]:
            raise RuntimeError("too long")


@BANK.wrong("PositionalEncoding", told="stops with ValueError", published="sooftware/transformer#1")
class WithArgumentsInAnotherOrder(Right):
    """max_len is expected where dropout is given."""

    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__(d_model, dropout, int(max_len))


@BANK.wrong("PositionalEncoding", told="wrong about what a new module holds")
class WithAnEmptyBuffer(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.register_buffer("pe", torch.zeros_like(self.pe))

    def positions(self, x):
        return table_by_where(x.shape[1], x.shape[2])


@BANK.wrong("PositionalEncoding", told="wrong about what a new module holds")
class WithATableMadeWhenNeeded(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.max_len = max_len
        self.register_buffer("pe", torch.empty(0))

    def check(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        self.pe = table_by_where(x.shape[1], x.shape[2]).unsqueeze(0)


@BANK.wrong(
    "PositionalEncoding", told=("wrong where an error is asked for", "stops with ValueError")
)
class WithALimitOnTheBatch(Right):
    def check(self, x):
        if x.shape[0] > self.pe.shape[1]:
            raise ValueError("too long")


@BANK.wrong("PositionalEncoding", told="wrong where an error is asked for")
class CutToTheTable(Right):
    def forward(self, x):
        x = x[:, : self.pe.shape[1]]
        return self.dropout(x + self.positions(x))


@BANK.wrong("PositionalEncoding", told="wrong where an error is asked for")
class RoundAndRound(Right):
    def forward(self, x):
        positions = torch.arange(x.shape[1]) % self.pe.shape[1]
        return self.dropout(x + self.pe[:, positions])


@BANK.wrong("PositionalEncoding", told="stops with ValueError")
class WithAShorterTable(Right):
    def __init__(self, d_model, dropout=0.1, max_len=512):
        super().__init__(d_model, dropout, max_len)


@BANK.wrong("PositionalEncoding", told="another dtype")
class WithATableOfNumPysNumbers(Right):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(d_model, dropout, max_len)
        self.pe = self.pe.double()


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class WithMoreDropout(Right):
    def __init__(self, d_model, dropout=0.5, max_len=5000):
        super().__init__(d_model, dropout, max_len)


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class WithTwoDropouts(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x) + self.dropout(self.positions(x).expand_as(x))


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class WithTheSameDropoutEveryTime(Right):
    def forward(self, x):
        self.check(x)
        if not self.training:
            return x + self.positions(x)
        generator = torch.Generator().manual_seed(0)
        keep = torch.rand(x.shape, generator=generator) >= self.dropout.p
        return (x + self.positions(x)) * keep / (1 - self.dropout.p)


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class DroppingWithoutMakingUpForIt(Right):
    def forward(self, x):
        self.check(x)
        total = x + self.positions(x)
        return total * (torch.rand_like(total) >= self.dropout.p) if self.training else total


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class DroppingWholeWords(Right):
    def forward(self, x):
        self.check(x)
        return (x + self.positions(x)) * self.dropout(torch.ones_like(x[..., :1]))


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class DroppingTheSameInEverySentence(Right):
    def forward(self, x):
        self.check(x)
        return (x + self.positions(x)) * self.dropout(torch.ones_like(x[:1]))


@BANK.wrong("PositionalEncoding", told="wrong in train mode with dropout")
class DroppingWholeDimensions(Right):
    def forward(self, x):
        self.check(x)
        return (x + self.positions(x)) * self.dropout(torch.ones_like(x[:, :1]))


@BANK.wrong("PositionalEncoding", named="positions joined to the words")
class SideBySide(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(torch.cat([x, self.positions(x).expand_as(x)], dim=-1))


@BANK.wrong("PositionalEncoding", named="positions from the end")
class FromTheEnd(Right):
    def positions(self, x):
        return super().positions(x).flip(1)


@BANK.wrong("PositionalEncoding", told=("too short or too long", "wrong with several sentences"))
class OfTheFirstSentence(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x[0] + self.positions(x))


@BANK.wrong("PositionalEncoding", told="more results than asked")
class AsATuple(Right):
    def forward(self, x):
        return super().forward(x), self.positions(x)


@BANK.wrong("PositionalEncoding", told="no module")
class NoModule:
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        self.pe = table_by_exp_and_log(max_len, d_model)

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


@BANK.right("PositionalEncoding")
class WithAnEmbeddingOfTheTable(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("pe", table_by_padding_to_even(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, _ = x.shape
        if length > self.pe.size(0):
            raise ValueError(f"{length} is more than {self.pe.size(0)}")
        places = torch.arange(length, device=x.device).repeat(batch, 1)
        return self.dropout(x + self.pe[places])


@BANK.wrong("PositionalEncoding", told="stops with RuntimeError")
class AddedInPlaceWithoutNoGrad(Right):
    def forward(self, x):
        self.check(x)
        x += self.positions(x)
        return self.dropout(x)


@BANK.wrong("PositionalEncoding", named="words alone")
class PositionsForgotten(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x)


@BANK.wrong("PositionalEncoding", named="the last rows of the table")
class WithTheEndOfTheTable(Right):
    def positions(self, x):
        return self.pe[:, -x.shape[1] :]


@BANK.wrong("PositionalEncoding", named="words and positions multiplied")
class WithAProduct(Right):
    def forward(self, x):
        self.check(x)
        return self.dropout(x * self.positions(x))


@BANK.wrong("PositionalEncoding", named="dropout on the positions only")
class WithDropoutInside(Right):
    def forward(self, x):
        self.check(x)
        return x + self.dropout(self.positions(x).expand_as(x))


@BANK.wrong("PositionalEncoding", told=("wrong after another call", "stops with RuntimeError"))
class WithTheRowsOfItsFirstCall(Right):
    def positions(self, x):
        if not hasattr(self, "rows"):
            self.rows = super().positions(x)
        return self.rows


@BANK.wrong("PositionalEncoding", told="wrong after another call")
class WithTheSumOfItsFirstCall(Right):
    """Keeps the sum for a shape, as if the same words came again."""

    def forward(self, x):
        self.check(x)
        if not hasattr(self, "whole") or self.whole.shape != x.shape:
            self.whole = x + self.positions(x)
        return self.dropout(self.whole)


@BANK.right("PositionalEncoding")
class WithABufferOfPyTorchs(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.pe = nn.Buffer(table_by_numpy(max_len, d_model), persistent=False)
        self.drop = nn.Sequential(nn.Identity(), nn.Dropout(dropout))

    def forward(self, x):
        length = x.shape[1]
        try:
            rows = self.pe.narrow(0, 0, length)
        except RuntimeError as error:
            raise ValueError(f"{length} words, {len(self.pe)} positions") from error
        return self.drop(x + rows)


@BANK.wrong("PositionalEncoding", named="a fixed dropout in either mode")
class WithABareDropout(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("pe", table_by_numpy(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.pe):
            raise ValueError(f"{x.shape[1]} > {len(self.pe)}")
        return F.dropout(x + self.pe[: x.shape[1]])
