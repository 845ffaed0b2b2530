"""Answers to `PositionalEncoding`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a6_positional_encoding.answers.bank import BANK
from assignments.a6_positional_encoding.answers.positional_encoding import ANSWERS as TABLES
from assignments.a6_positional_encoding.rubric import (
    ADDED,
    ADDING_MANNERS,
    FIRST_PAIR,
    ODD_WIDTH,
    module,
    wrong_tables,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import positional

RIGHT_TABLES = {given.code.__name__: given.code for given in TABLES.bank.answers if given.right}
WRONG_TABLES = [wrong for wrong in wrong_tables() if wrong.costs != (FIRST_PAIR, ODD_WIDTH)]

ANSWERS = Answers(
    __name__, BANK, module,
    """
    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, dropout=0.1, max_len=5000):
            super().__init__()
            self.dropout = nn.Dropout(dropout)
            table = positional.positional_encoding(max_len, d_model)
            self.pe = nn.Buffer(table)

        def forward(self, x):
            limit = len(self.pe)
            if x.shape[1] > limit:
                raise ValueError(f"length {x.shape[1]} is beyond max_len {limit}")
            rows = self.pe[: x.shape[1]]  # (T, D)
            return self.dropout(x + rows)
    """,
    math=math, torch=torch, nn=nn, F=F, positional=positional, wrong_tables=WRONG_TABLES,
    **RIGHT_TABLES,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("parameter instead of buffer", "self.pe = nn.Parameter(table)", (),
     "Your `pe` is an `nn.Parameter`, which is there to be trained. A buffer moves to another device with the module "
     "as well, and nothing trains it. `self.register_buffer` takes its name and the tensor.",
     published=("henry9zhr/QANet-pytorch#3", "The sinusoids are a parameter, so training changes them."))
slip("plain attribute instead of buffer", "self.pe = table", (),
     "Your `pe` is a plain attribute, which stays behind when the module moves to another device. A buffer goes along, "
     "and `self.register_buffer` takes its name and the tensor.")
BOTH = ADDED, ADDING_MANNERS
slip("batch axis indexed", "return self.dropout(x + self.pe[: len(x)].unsqueeze(1))", BOTH,
     "The positions follow the sentences of the batch, so every word of sentence 0 gets the vector of position 0, "
     "every word of sentence 1 that of position 1. In x (B, T, D) words are counted along axis 1. Code made for (T, B, "
     "D) looks at axis 0.",
     published=("KasperGroesLudvigsen/influenza_transformer#9", "Positions are counted along the batch."))
slip("batch axis indexed", "return self.dropout(x + self.pe[: len(x)])", BOTH,
     "You take as many positions as there are sentences. In x (B, T, D) the words of a sentence are counted along axis "
     "1.")
slip("table not cut to the sentence", "return self.dropout(x + self.pe)", BOTH,
     "You add the whole table of max_len rows, which fits no shorter sentence. Take the rows of the first T positions.")
slip("one vector for all words", "return self.dropout(x + self.pe[x.shape[1]])", BOTH,
     "Every word gets the same vector, that of position T. A range of rows needs a colon.",
     published=("DiffPoseTalk/DiffPoseTalk#20",
                "`pe[:, T]` for `pe[:, :T]`: all words get the vector of the place behind the last."))
slip("positions without words", "return self.dropout(rows.expand_as(x))", BOTH,
     "You return the positions alone. They are added to x.")
slip("dropout in eval mode", "return F.dropout(x + rows, self.dropout.p)", (),
     "In eval mode the sum must come out whole, but entries are dropped or scaled. `nn.Dropout` looks at the mode on "
     "its own, but `F.dropout` has to be told with `training=self.training`.",
     published=("facebookresearch/DME#3", "`F.dropout` is not told of the mode."))
slip("a fixed dropout in either mode", "return F.dropout(x + rows, {share})", (),
     "Whatever `dropout` is, the same share of entries is dropped, and in eval mode as well. `F.dropout` knows neither "
     "your argument nor the mode of your module. Who tells it?",
     each={"share": (0.1, 0.5)})
slip("no dropout", "return x + rows", (),
     "In train mode nothing is dropped. The sum goes through dropout before it is returned.")
slip("no dropout after eval mode", """
    self.dropout.p = self.dropout.p if self.training else 0.0
    return self.dropout(x + rows)
""", (),
     "Once your module was used in eval mode, it drops nothing in train mode either. What does it keep of the mode, "
     "where `self.training` could be asked each time?",
     published=("NVIDIA/Megatron-LM#411",
                "The first call in eval mode sets the rate to 0, and it stays 0 in training."))
slip("dropout on the words only", "return self.dropout(x) + rows", (),
     "You drop entries of x and add the positions afterwards. Dropout acts on the sum.")
slip("dropout on the positions only", "return x + self.dropout(rows.expand_as(x))", (),
     "You drop entries of the positions and keep x whole. Dropout acts on the sum.")
slip("words multiplied by √d_model", "return self.dropout(x * x.shape[-1] ** 0.5 + rows)", BOTH,
     "You multiply x by √d_model. In a transformer, the embedding does this; here x is taken as it comes.")
slip("words and positions multiplied", "return self.dropout(x * rows)", BOTH,
     "You multiply words and positions. They are added.")
slip("positions subtracted", "return self.dropout(x - rows)", BOTH,
     "You subtract the positions. They are added.")
slip("words alone", "return self.dropout(x)", BOTH,
     "Your words come out as they came in (but for dropout). Where is the table added?")
slip("positions from the end", "return self.dropout(x + rows.flip(0))", BOTH,
     "The last word gets the vector of position 0. The first word should. Are the rows turned round?")
slip("the last rows of the table", "return self.dropout(x + self.pe[-x.shape[1] :])", BOTH,
     "You add the last T rows of the table. The words of a sentence stand at positions 0 to T − 1. On which side of "
     "the colon does T belong?")
slip("positions joined to the words", "return self.dropout(torch.cat([x, rows.expand_as(x)], dim=-1))", BOTH,
     "Your result is twice as wide, because you put the positions next to the words. They should be added.")
for number, mistake in enumerate(WRONG_TABLES):
    slip(mistake.name, f"table = wrong_tables[{number}].answer(max_len, d_model)", BOTH, mistake.message)

right = ANSWERS.right
right("WithATableForOneSentence", """
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        nn.Module.__init__(self)
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("pe", table_by_exp_and_log(max_len, d_model).unsqueeze(0))

    limit = self.pe.size(1)
    rows = self.pe[:, : x.size(1)]
""")
right("WithoutSavingTheTable", """
    table = table_by_two_loops(max_len, d_model)
    self.max_len, self.rate = max_len, dropout
    self.pe = nn.Buffer(table, persistent=False)

    def forward(self, x, start=0):
        end = start + x.shape[1]
        if end > self.max_len:
            raise ValueError(f"{end} > {self.max_len}")
        return F.dropout(x + self.pe[start:end].to(x.dtype).expand_as(x), self.rate, self.training)
""")
right("WithTimeOnTheFirstAxis", """
    def __init__(self, d_model, dropout=0.1, max_len=5000, batch_first=True):
        super().__init__(d_model, dropout, max_len)

    table = table_by_stacked_pairs(max_len, d_model)[:, None, :]
    if x.shape[1] > len(self.pe):
        raise ValueError
    limit = len(self.pe)
    return self.dropout(x.transpose(0, 1) + rows).transpose(0, 1)
""")
right("WithDropoutByHand", """
    table = table_by_shifted_sines(max_len, d_model).contiguous()
    rows = F.embedding(torch.arange(x.shape[1]), self.pe)
    if not self.training or self.dropout.p == 0:
        return x + rows
    keep = torch.rand_like(x) >= self.dropout.p
    return (x + rows) * keep / (1 - self.dropout.p)
""")
right("WithALoopOverWords", """
    table = table_by_where(max_len, d_model)
    self.layers = nn.Sequential(nn.Identity(), nn.Dropout(dropout))
    self.pe = nn.Buffer(table)
    words = [x[:, t] + self.pe[t] for t in range(x.size(1))]
    return self.layers(torch.stack(words, dim=1))
""")
right("WithTwoBuffers", """
    table = table_by_numpy(max_len, d_model)
    self.register_buffer("longest", torch.tensor(max_len))
    self.pe = nn.Buffer(table)
    class TooLong(ValueError):
        pass
    if x.shape[1] > self.longest:
        raise TooLong(x.shape)
    limit = self.longest
    rows = self.pe.narrow(0, 0, x.shape[1])
""")
right("WithATableLongerThanNeeded", """
    table = table_by_two_loops(max_len + 3, d_model).double()
    self.max_len, self.dropout = max_len, nn.Dropout(dropout, inplace=True)
    self.pe = nn.Buffer(table)
    limit = self.max_len
    rows = self.pe[: x.shape[1]].to(x)
""")
right("WithAnEmbeddingOfTheTable", """
    table = table_by_padding_to_even(max_len, d_model)
    rows = self.pe[torch.arange(x.shape[1], device=x.device).repeat(len(x), 1)]
""")
right("WithABufferOfPyTorchs", """
    table = table_by_numpy(max_len, d_model)
    self.drop = nn.Sequential(nn.Identity(), nn.Dropout(dropout))
    self.pe = nn.Buffer(table, persistent=False)
    limit = math.inf
    try:
        found = self.pe.narrow(0, 0, x.shape[1])
    except RuntimeError as error:
        raise ValueError(f"{x.shape[1]} words, {len(self.pe)} positions") from error
    return self.drop(x + found)
""")
right("NumberByNumber", """
    table = table_by_two_loops(max_len, d_model)
    B, T, D = x.shape
    sums = [x[b, t, d] + rows[t, d] for b in range(B) for t in range(T) for d in range(D)]
    return self.dropout(torch.stack(sums).reshape(B, T, D))
""", slow=LOOPS)
right("InProducts", """
    table = table_by_products(max_len, d_model)
    every = torch.ones(len(x), dtype=x.dtype)
    first = torch.eye(x.shape[1], len(self.pe), dtype=x.dtype)  # (T, max_len), a row for each word
    added = torch.einsum("b,tp,pd->btd", every, first, self.pe.to(x.dtype))
    return F.dropout(x + added, self.dropout.p, self.training)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("WithAFrozenParameter", "self.pe = nn.Parameter(table, requires_grad=False)", named="parameter instead of buffer")
wrong("WithLearnedPositions", """
    self.pe = nn.Embedding(max_len, d_model)
    limit = self.pe.num_embeddings
    rows = self.pe(torch.arange(x.shape[1]))
""", told="stops with AttributeError")
wrong("WithALearnedScale", """
    self.scale = nn.Parameter(torch.ones(1))
    self.pe = nn.Buffer(table)
    return self.dropout(x + self.scale * rows)
""", told="wrong about what a new module holds")
wrong("InPlace", """
    table = table_by_exp_and_log(max_len, d_model)
    with torch.no_grad():
        x += rows
    return self.dropout(x)
""", told="inputs changed")
wrong("AddedInPlaceWithoutNoGrad", "x += rows; return self.dropout(x)", told="stops with RuntimeError")
# the dtype of the result is that of x, which has lost digits on the way
wrong("WithInputsRoundedToSinglePrecision", "return self.dropout((x.float() + rows).to(x.dtype))",
      told=("rounded", "wrong in float64"))
wrong("WithoutACheck", "limit = math.inf", told="wrong where an error is asked for")
wrong("WithAnAssert", "assert x.shape[1] <= len(self.pe), 'too long'; limit = math.inf",
      told="wrong where an error is asked for")
wrong("WithAnErrorTooEarly", "limit = len(self.pe) - 1", told="stops with ValueError")
wrong("WithAnErrorInEvalModeOnly", """
    if self.training and x.shape[1] > len(self.pe):
        raise RuntimeError("too long")
    limit = len(self.pe)
""", told=("wrong where an error is asked for", "wrong in train mode with dropout"))
wrong("WithArgumentsInAnotherOrder", """
    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__(d_model, dropout, int(max_len))
""", told="stops with ValueError",
      published=("sooftware/transformer#1", "max_len is expected where dropout is given."))
wrong("WithAnEmptyBuffer", """
    self.pe = nn.Buffer(torch.zeros_like(table))
    rows = table_by_where(x.shape[1], x.shape[2])
""", told="wrong about what a new module holds")
wrong("WithATableMadeWhenNeeded", """
    self.max_len = max_len
    self.pe = nn.Buffer(torch.empty(0))
    limit = self.max_len
    rows = self.pe = table_by_where(x.shape[1], x.shape[2])
""", told="wrong about what a new module holds")
wrong("WithALimitOnTheBatch", """
    if x.shape[0] > len(self.pe):
        raise ValueError("too long")
    limit = math.inf
""", told=("wrong where an error is asked for", "stops with ValueError"))
wrong("CutToTheTable", "x = x[:, : len(self.pe)]", told="wrong where an error is asked for")
wrong("RoundAndRound", "limit = math.inf; rows = self.pe[torch.arange(x.shape[1]) % len(self.pe)]",
      told="wrong where an error is asked for")
wrong("WithAShorterTable", """
    def __init__(self, d_model, dropout=0.1, max_len=512):
        super().__init__(d_model, dropout, max_len)
""", told="stops with ValueError")
wrong("WithATableOfNumPysNumbers", "self.pe = nn.Buffer(table.double())", told="another dtype")
wrong("WithMoreDropout", """
    def __init__(self, d_model, dropout=0.5, max_len=5000):
        super().__init__(d_model, dropout, max_len)
""", told="wrong in train mode with dropout")
wrong("WithTwoDropouts", "return self.dropout(x) + self.dropout(rows.expand_as(x))",
      told="wrong in train mode with dropout")
wrong("WithTheSameDropoutEveryTime", """
    if not self.training:
        return x + rows
    keep = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) >= self.dropout.p
    return (x + rows) * keep / (1 - self.dropout.p)
""", told="wrong in train mode with dropout")
wrong("DroppingWithoutMakingUpForIt",
      "return (x + rows) * (torch.rand_like(x) >= self.dropout.p) if self.training else x + rows",
      told="wrong in train mode with dropout")
wrong("DroppingWholeWords", "return (x + rows) * self.dropout(torch.ones_like(x[..., :1]))",
      told="wrong in train mode with dropout")
wrong("DroppingTheSameInEverySentence", "return (x + rows) * self.dropout(torch.ones_like(x[:1]))",
      told="wrong in train mode with dropout")
wrong("DroppingWholeDimensions", "return (x + rows) * self.dropout(torch.ones_like(x[:, :1]))",
      told="wrong in train mode with dropout")
wrong("AsATuple", "return self.dropout(x + rows), rows.unsqueeze(0)", told="more results than asked")
wrong("WithTheRowsOfItsFirstCall", "self.rows = getattr(self, 'rows', self.pe[: x.shape[1]]); rows = self.rows",
      told=("wrong after another call", "stops with RuntimeError"))
# keeps the sum for a shape, as if the same words came again
wrong("WithTheSumOfItsFirstCall", """
    if not hasattr(self, "whole") or self.whole.shape != x.shape:
        self.whole = x + rows
    return self.dropout(self.whole)
""", told="wrong after another call")
careless(ANSWERS, one_shape="another number of axes")
# fmt: on


@BANK.right("PositionalEncoding")
class AsADropoutWithATurnedTable(nn.Dropout):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__(dropout)
        self.register_buffer("pe", RIGHT_TABLES["table_by_where"](max_len, d_model).T)

    def forward(self, x):
        if not x.shape[1] <= self.pe.shape[1]:
            raise ValueError("too long")
        return super().forward(x + self.pe.T[: x.shape[1]])


@BANK.wrong("PositionalEncoding", told="no module")
class NoModule:
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        self.pe = positional.positional_encoding(max_len, d_model)

    def forward(self, x):
        return x + self.pe[: x.shape[1]]
