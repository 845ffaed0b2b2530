"""Answers to `shift_right`."""

import torch
import torch.nn.functional as F

from assignments.a4_masks.answers.bank import BANK
from assignments.a4_masks.rubric import SHIFTED_FORM, shift
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, shift,
    """
    def shift_right(target_ids, bos_id):
        first = bos_id
        begin = target_ids.new_full((len(target_ids), 1), first)
        shifted = torch.cat([begin, target_ids[:, :-1]], dim=1)
        return shifted
    """,
    torch=torch, F=F,
)  # fmt: skip


@BANK.right("shift_right")
def shift_from_the_right_in_a_copy(target_ids, bos_id, inplace=False):
    shifted = target_ids.clone()
    for t in range(target_ids.shape[1] - 1, 0, -1):
        shifted[:, t] = shifted[:, t - 1]
    shifted[:, 0] = bos_id
    return shifted


# fmt: off
slip = ANSWERS.slip
slip("shifted left", "shifted = torch.cat([target_ids[:, 1:], begin], dim=1)", (),
     "Your rows moved to the left, so each position holds the target *after* its own. It should hold the one before.")
slip("shifted left, bos_id in front", "shifted = torch.cat([begin, target_ids.roll(-1, dims=1)[:, 1:]], dim=1)", (),
     "`bos_id` stands in front, but behind it each position holds the target *after* its own, and what was cut off "
     "comes round to the end. Each should hold the one before. To which side do the targets move when something is put "
     "in front of them?")
slip("shifted left, with 0 at the end", "shifted = F.pad(target_ids[:, 1:], (0, 1))", (),
     "Your rows moved to the left, with 0 at the end, so each position holds the target *after* its own. It should "
     "hold the one before. Position 0 has no word before it. Which token stands there instead?")
slip("first target cut off", "shifted = target_ids[:, 1:]", (),
     "You cut off the first target, so each position holds the target *after* its own, and your rows are one too "
     "short. It is the last place that is left out, and `bos_id` comes in front.")
slip("rolled to the left", "shifted = target_ids.roll(-1, dims=1)", (),
     "Your rows moved to the left, and the first word came round to the end. Each position should hold the target "
     "*before* its own. Position 0 has no word before it. Which token stands there instead?")
slip("start token at the end", "shifted = torch.cat([target_ids[:, :-1], begin], dim=1)", (),
     "The targets stayed in their places, and `bos_id` took the last one. It begins the sentence. What moves, and "
     "where to, to make room for it in front?")
slip("start token put behind all targets", "shifted = torch.cat([target_ids, begin], dim=1)", (),
     "`bos_id` comes after the last target, and your rows are one longer than the targets. It begins the sentence. "
     "Which target is never an input?")
slip("last token kept", "shifted = torch.cat([begin, target_ids], dim=1)", (),
     "`bos_id` comes first, but then all T targets follow, so your rows are one longer than the targets. Which target "
     "is never an input?")
slip("last token brought round to the front", "shifted = target_ids.roll(1, dims=1)", (),
     "The rows are rolled, and the last token came round to position 0, so the model sees how the sentence ends. "
     "Position 0 has no word before it. Which token stands there instead?")
slip("first word overwritten", "shifted = torch.cat([begin, target_ids[:, 1:]], dim=1)", (),
     "`bos_id` takes the place of the first word, and the others did not move, so from position 1 on, each input is "
     "its own target.")
slip("shifted along the batch", "moved = target_ids.roll(1, dims=0); {begun}; shifted = moved", (),
     "Whole sentences moved down by one. Axis 0 holds the sentences; the positions are on axis 1.",
     each={"begun": ("moved[0] = first", "moved[:, 0] = first", "moved[0, 0] = first", "pass")})
slip("shifted as one long row", "moved = target_ids.roll(1); {begun}; shifted = moved", (),
     "You shift all sentences as one long row, so that the end of each comes to the front of the next. `torch.roll` "
     "without `dims` does that. Each row is shifted by itself and begins with `bos_id`.",
     each={"begun": ("pass", "moved[0, 0] = first")})
slip("shifted by two places", "shifted = torch.cat([begin, begin, target_ids], dim=1)[:, : target_ids.shape[1]]", (),
     "Each position holds the target two before its own. One place is enough to keep a position from seeing its own "
     "target.")
slip("start token missing", "shifted = target_ids[:, :-1]", (),
     "The last token is gone, but nothing came in front, so your rows are one too short. Position 0 has no word before "
     "it. Which token stands there instead?")
slip("not shifted", "shifted = target_ids.clone()", (),
     "The targets come back as they are. As its input, each position would see its own target, the answer that it must "
     "give.",
     costs_more="nothing was done",
     published=("Project-MONAI/GenerativeModels#314",
                "Nothing is shifted: the model reads the very word that it should predict."))
slip("start token everywhere", "shifted = begin.expand_as(target_ids)", (),
     "`bos_id` is at every position. If you move words from left to right one by one, each is overwritten before its "
     "turn, so read from the targets, write to a new tensor.")
slip("first target everywhere",
     "shifted = torch.cat([begin, target_ids[:, :1].expand(-1, target_ids.shape[1] - 1)], dim=1)", (),
     "Behind `bos_id`, every position holds the first target. If you move words from left to right one by one, each is "
     "overwritten before its turn, so read from the targets, write to a new tensor.")
slip("zeros for the targets", "shifted = torch.cat([begin, torch.zeros_like(target_ids[:, 1:])], dim=1)", (),
     "Behind `bos_id`, your result holds zeros and none of the targets. Did you shift a new tensor before anything was "
     "written into it?",
     published=("huggingface/transformers#5991",
                "What is shifted is a tensor of zeros that was to receive the ids."))
slip("a single target left as it is", """
    moved = torch.cat([begin, target_ids[:, :-1]], dim=1)
    shifted = target_ids.clone() if target_ids.shape[1] == 1 else moved
""", (),
     "Longer rows are right, but where there is one target alone it comes back as it is. It is the last place, so it "
     "is left out, and `bos_id` is all that remains.")
slip("last word left out instead of the last place", """
    moved = torch.cat([begin, target_ids[:, :-1]], dim=1)
    shifted = torch.where(target_ids == 0, 0, moved)
""", (),
     "You leave out the last word of each sentence and keep the padding. Leave out the last place of the row, whatever "
     "it holds, because this function does not know what padding is.")
slip("end of the sentence left out", """
    moved = torch.cat([begin, target_ids[:, :-1]], dim=1)
    shifted = torch.where(moved == 2, 0, moved)
""", (),
     "Where a sentence ends before its row does, you take its end, the id 2, out of the inputs as well. Leave out the "
     "last place of the row, whatever it holds, because this function does not know what the ids mean.")
slip("argument bos_id ignored, 1 in its place", "first = 1", (),
     "Position 0 holds 1 where `bos_id` is another number. Vocabularies differ in it, so use `bos_id` as it is.")
slip("argument bos_id ignored, 0 in its place", "first = 0", (),
     "Position 0 holds 0 where `bos_id` is another number. Use `bos_id` as it is.")
slip("a bos_id of 0 taken for none", "first = bos_id or {instead}", (),
     "All is well until `bos_id` is 0. Then another number stands at position 0, as `or` and a plain `if` give it, for "
     "which 0 is as good as nothing. 0 is an id like any other.",
     each={"instead": (1, 2)})
slip("the sign of bos_id lost", "first = abs(bos_id)", (),
     "All is well until `bos_id` is negative. Then its sign is lost. Use `bos_id` as it is.")
slip("floats instead of whole numbers", "return shifted.float()", (),
     "The ids are right, but they are floats, because `torch.zeros`, `torch.ones` and `torch.empty` make floats unless "
     "told otherwise. An embedding wants whole numbers.")
slip("a list of rows", "return tuple(shifted)", SHIFTED_FORM,
     "The ids are right, but they come in a list, with a tensor for each row. An embedding wants one tensor, which "
     "`torch.stack` makes of them.")

right = ANSWERS.right
right("shift_into_an_empty_tensor", """
    shifted = torch.empty_like(target_ids)
    shifted[:, 0] = bos_id
    shifted[:, 1:] = target_ids[:, :-1]
    return shifted
""")
right("shift_by_rolling", """
    shifted = torch.roll(target_ids, shifts=1, dims=1)
    shifted[:, 0] = bos_id
    return shifted
""")
right("shift_by_padding", "return F.pad(target_ids[:, :-1], (1, 0), value=bos_id)")
right("shift_by_loops", """
    batch, length = target_ids.shape
    shifted = torch.zeros(batch, length, dtype=torch.long)
    for b in range(batch):
        for t in range(length):
            shifted[b, t] = bos_id if t == 0 else target_ids[b, t - 1]
    return shifted
""", slow=LOOPS)
right("shift_by_lists", "return torch.tensor([[bos_id, *row[:-1]] for row in target_ids.tolist()])")
right("shift_by_a_column_of_integers",
      "return torch.hstack((torch.full((target_ids.shape[0], 1), bos_id), target_ids))[:, :-1]")
right("shift_by_gathering", """
    before = torch.arange(target_ids.shape[1]) - 1
    return torch.where(before < 0, bos_id, target_ids[:, before.clamp(min=0)])
""")
right("shift_by_a_matrix", """
    shifted = target_ids @ torch.diag(torch.ones(target_ids.shape[1] - 1, dtype=torch.int64), 1)
    shifted[:, 0] += bos_id
    return shifted
""")
right("shift_by_constant_pad", 'return F.pad(target_ids, (1, -1), mode="constant", value=bos_id)')
right("shift_by_columns", """
    columns = [torch.full_like(target_ids[:, 0], bos_id), *target_ids.unbind(1)]
    return torch.stack(columns[:-1], dim=1)
""")
right("shift_by_where", """
    is_first = torch.arange(target_ids.shape[1]) == 0
    return torch.where(is_first, bos_id, target_ids.roll(1, dims=1))
""")
right("shifted_by_products_of_all_with_all", """
    T = target_ids.shape[1]
    moves = torch.ones(T - 1, dtype=torch.int64).diag(1) if T > 1 else torch.zeros(1, 1).long()
    shifted = (target_ids[:, :, None] * moves).sum(dim=1)  # (B, T, T) before the sum
    shifted[:, 0] = bos_id
    return shifted
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("shift_in_place", """
    target_ids[:, 1:] = target_ids[:, :-1].clone()
    target_ids[:, 0] = bos_id
    return target_ids
""", told="inputs changed")
wrong("shift_that_reads_a_copy_and_writes_the_targets", "target_ids[:, 0] = bos_id; return target_ids",
      named="first word overwritten")
wrong("shift_with_one_for_bos_below_one", "first = bos_id if bos_id > 0 else 1",
      named="argument bos_id ignored, 1 in its place")
wrong("shift_that_wants_two_targets",
      "shifted = torch.cat([begin, target_ids[:, :1], target_ids[:, 1:-1]], dim=1)", named="last token kept")
wrong("shift_without_the_last_word", """
    rows = []
    for row in target_ids.tolist():
        words = [token for token in row if token != 0]
        rows.append([bos_id, *words[:-1]] + [0] * (len(row) - len(words)))
    return torch.tensor(rows)
""", named="last word left out instead of the last place")
wrong("shifted_in_16_bits", "target_ids = target_ids.half().long()", told="right in part")
wrong("shifted_up_to_a_hundred_words", "return torch.cat([shifted[:, :100], target_ids[:, 100:]], dim=1)",
      told="right in part")
wrong("shifted_for_ten_sentences", "target_ids = target_ids[:10]", told="too short or too long")
wrong("shift_in_half_the_bits", "return shifted.int()", told="another dtype")
wrong("shift_row_by_row_in_a_list", "return list(shifted)", named="a list of rows")
wrong("shift_as_a_list", "return shifted.tolist()", told="a list of numbers")
wrong("shift_with_input_and_target", "return shifted, target_ids", told="more results than asked")
careless(ANSWERS, detached=None, in_float32=None, scaled_in_place=None, zeros=None)
