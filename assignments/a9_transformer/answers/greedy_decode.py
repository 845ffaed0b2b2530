"""Answers to `greedy_decode`."""

import copy
import math
from contextlib import contextmanager, nullcontext

import torch
from torch import nn

from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.rubric import ENDS, LIKELIEST, MODES, greedy
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils.evaluation import evaluating


@contextmanager
def evaluating_but(leave, model):
    """Eval mode that is left otherwise, by a function of the model and the mode that it was in."""
    was_training = model.training
    with torch.no_grad():
        yield model.eval()
    leave(model, was_training)


ANSWERS = Answers(
    __name__, BANK, greedy,
    """
    def greedy_decode(model, src, bos_id, eos_id, max_len):
        mode = evaluating(model)
        filling = model.pad_id
        stop = torch.all
        ids = src.new_full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        with mode:
            memory = model.encode(src)
            while ids.shape[1] < max_len and not stop(ended):
                logits = model.decode(ids, memory, src)[:, -1]
                likeliest = logits.argmax(dim=-1)
                words = likeliest.masked_fill(ended, filling)
                ends = words == eos_id
                now_ended = ended | ends
                ids, ended = torch.cat([ids, words.unsqueeze(1)], dim=1), now_ended
        return ids
    """,
    torch=torch, nn=nn, math=math, copy=copy, evaluating=evaluating, evaluating_but=evaluating_but,
    nullcontext=nullcontext,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("decoding in train mode", "mode = nullcontext()", MODES,
     "Your numbers are those of a model in train mode, where dropout disturbs what is written. Which mode should the "
     "model be in, and which one afterwards?",
     published=("d2l-ai/d2l-en#1528", "The model stays in train mode."))
slip("{name}", "mode = evaluating_but({leave}, model)", MODES,
     "All words are right, but afterwards {what}. Each part of the model should be in the mode in which it was before. "
     "What has to be noted before `model.eval()`, so that each mode can be restored?",
     each={"name": ("model left in eval mode", "all parts in train mode afterwards",
                    "the model's own mode given to all its parts", "only the model itself has its mode back"),
           "leave": ("lambda model, was_training: None", "lambda model, was_training: model.train()",
                     "nn.Module.train", "lambda model, was_training: setattr(model, 'training', was_training)"),
           "what": ("the model stays in eval mode", "every part is in train mode, whatever it was before",
                    "every part has the mode of the whole model", "the model's parts are still in eval mode")})
slip("source encoded in train mode",
     "encoded = model.encode(src); ids = src.new_full((len(src), 1), bos_id); memory = encoded", MODES,
     "The source is encoded before the model is in eval mode, but both `encode` and `decode` should run in eval mode.")
slip("only the source encoded in eval mode", """
    with evaluating(model):
        encoded = model.encode(src)
    mode = nullcontext()
    memory = encoded
""", MODES,
     "The model has its modes back before `decode` is called, but both `encode` and `decode` should run in eval mode.")
slip("EOS ignored", "stop = lambda ended: False; words = likeliest", ENDS,
     "Your rows go on after `eos_id` up to `max_len`. When has a sentence ended, and what follows then?",
     published=("joeynmt/joeynmt#78", "EOS stops nothing, so each row is continued up to the limit."))
slip("finished rows keep growing", "words = likeliest", ENDS,
     "Rows that have ended get further words while others go on. What should be in them from there on?",
     published=("mistralai/mistral-inference#270", "Rows that have ended are still continued."))
slip("stops at the first end", "stop = torch.any", ENDS,
     "You stop as soon as one row has ended, so the others stay unfinished. The loop should wait for all of them.")
slip("filled up to max_len", "stop = lambda ended: False", ENDS,
     "After all rows have ended, you still go on to `max_len` columns. When may the loop stop?")
slip("waits until all rows end in one column", "words = likeliest; now_ended = ends", ENDS,
     "You stop only when all rows write `eos_id` in the same column, but rows end at different times. What has to be "
     "remembered about each?",
     published=("lucidrains/h-transformer-1d#9", "It ends only when all rows write EOS at the same time."))
slip("an end is remembered for one word", "now_ended = ends", ENDS,
     "A row of yours counts as ended only while its newest word is `eos_id`, so one word of padding follows, and then "
     "it goes on. Keep what has ended before: `ended | (words == eos_id)`.")
slip("filled up with 0", "filling = 0", ENDS,
     "Ended rows are filled with 0, whatever the model's padding is. Which attribute of the model has the right id?")
slip("filled up with EOS", "filling = eos_id", ENDS,
     "Ended rows are filled with `eos_id`. It should appear once, followed by the model's padding.")
slip("a row ended by padding", "ends = (words == eos_id) | (words == model.pad_id)", ENDS,
     "A row of yours also ends when the model writes `pad_id` as a word. Which id alone ends a row?")
slip("BOS left out", "return ids[:, 1:]", ENDS,
     "Your result begins with the first word, but column 0 should be `bos_id`.")
slip("the last column left out", "return ids[:, :-1] if (ids == eos_id).any(dim=1).all() else ids", ENDS,
     "Where all rows end, your result lacks the last column, with the last `eos_id`. Are the words put in before the "
     "loop is left?")
slip("EOS left out", "return ids.masked_fill(ids == eos_id, model.pad_id)", ENDS,
     "Your rows lose their `eos_id`. It should be kept, so that a reader can tell a sentence that ended from one that "
     "was cut off.")
slip("max_len words after BOS", "max_len = max_len + 1", ENDS,
     "Your result can have `max_len` + 1 columns, but `max_len` counts column 0 as well.")
slip("one word too few", "max_len = max_len - 1", ENDS,
     "Where no row ends, your result has `max_len` - 1 columns, although one more is allowed.")
slip("logits of the first position read", "logits = model.decode(ids, memory, src)[:, 0]", LIKELIEST,
     "You read the logits of position 0 at each step, which are those of the word after `bos_id`, again and again. "
     "Which position predicts the next word?")
slip("only the last word handed to the decoder", "logits = model.decode(ids[:, -1:], memory, src)[:, -1]", LIKELIEST,
     "Your decoder sees one word at a time and forgets those before it. It should get everything that has been written "
     "so far.")
slip("least likely word", "likeliest = logits.argmin(dim=-1)", LIKELIEST,
     "You take the word with the smallest logit, but greedy decoding takes the one with the largest.")
slip("all rows read the first source", "memory = model.encode(src[:1].expand_as(src))", LIKELIEST,
     "All your rows are written for the first sentence. Each row of the batch has a memory, words and logits of its "
     "own.")

right = ANSWERS.right
right("decoded_with_the_courses_context", """
    likeliest[(ids == eos_id).any(dim=1)] = model.pad_id
    words = likeliest
    now_ended = (torch.cat([ids, words.unsqueeze(1)], dim=1) == eos_id).any(dim=1)
""")
right("decoded_by_calling_the_model_itself", "logits = model(src, ids)[:, -1]")
right("decoded_by_a_copy", """
    model = copy.deepcopy(model).eval()
    mode = torch.no_grad()
    words = torch.where(ended, model.pad_id, logits.softmax(-1).max(-1).indices)
    ends = words.eq(eos_id)
""")
right("greedy_number_by_number", """
    numbers = []
    for row in logits:
        largest = 0
        for v in range(len(row)):
            if row[v] > row[largest]:
                largest = v
        numbers.append(largest)
    likeliest = torch.tensor(numbers)
""", slow=LOOPS)
# the likeliest word is above all others: (B, V, V)
right("greedy_among_all_pairs", """
    above = (logits.unsqueeze(2) >= logits.unsqueeze(1)).all(-1).to(torch.int64)
    likeliest = (above * torch.arange(logits.shape[1])).sum(-1)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("decoded_with_ends_that_cancel_out", """
    words = likeliest
    now_ended = ended ^ ends
    after_the_end = (ids == eos_id).cumsum(dim=1) - (ids == eos_id).long() > 0
    return ids.masked_fill(after_the_end, model.pad_id)
""", named="filled up to max_len",
      published=("mistralai/mistral-inference#214",
                 "A row that has ended is resumed by a second EOS, because there is XOR where OR is meant."))
wrong("decoded_until_the_first_row_ends",
      "last = (ids[0] == eos_id).nonzero(); return ids[:, : int(last[0]) + 1] if len(last) else ids",
      told=("too short or too long", "wrong with several sentences"))
wrong("decoded_to_lists", "return ids.tolist()", told="a list of numbers")
wrong("decoded_with_the_memory_beside", "return ids, memory", told="more results than asked")
wrong("decoded_with_exchanged_arguments", """
    begin = src.new_full((len(src), 1), bos_id)
    ids = torch.cat([begin, model.decode(src, model.encode(src), begin).argmax(-1)], dim=1)
""", told="stops with ValueError")
wrong("decoded_longer_and_cut", "most = max_len; max_len = most + 5; return ids[:, :most]",
      told=("stops with ValueError", "stops with RuntimeError"))
wrong("decoded_to_a_counted_answer", "return torch.tensor([[1, 3, 4, 5, 2], [1, 3, 4, 2, 0]])",
      told="always one shape")
wrong("decoded_with_the_source_overwritten", "src.fill_(model.pad_id); return ids", told="inputs changed")
# a word 0 is taken for nothing
wrong("decoded_with_one_special_word_less", "eos_id = eos_id or -1", named="EOS ignored")
wrong("greedy_decode_that_never_writes_bos", """
    logits[:, bos_id] = -math.inf
    likeliest = logits.argmax(dim=-1)
""", told="right in part")
# the model is called once more before the code checks whether all rows have ended
wrong("decoded_until_a_column_of_padding", """
    stop = lambda ended: False
    if ended.all():
        break
    words = likeliest.masked_fill(ended, filling)
""", told="stops with RuntimeError")
wrong("decode_at_most_fifty", "max_len = min(max_len, 50)", told="too short or too long")
wrong("decode_in_eight_bits", "return ids.to(torch.int8).long()", told="right in part")
careless(
    ANSWERS,
    detached=None, one_sentence=None, a_hundred_words=None, without_gaps=None, scaled_in_place=None,
    turned_in_place=None,  # the first argument is a model, and ids have no gradient
    in_float32="another dtype", one_shape=None,
)
# fmt: on


# ------------------------------------------------------------------------------- loops of their own


@BANK.right("greedy_decode")
def decoded_one_sentence_at_a_time(model, src, bos_id, eos_id, max_len):
    before = [(module, module.training) for module in model.modules()]
    model.train(False)
    rows = []
    for b in range(len(src)):
        row, memory = [bos_id], model.encode(src[b : b + 1])
        while row[-1] != eos_id and len(row) < max_len:
            logits = model.decode(torch.tensor([row]), memory, src[b : b + 1])
            row.append(int(logits[0, -1].log_softmax(-1).argmax()))
        rows.append(row)
    for module, training in before:
        module.training = training
    width = max(map(len, rows))
    return torch.tensor([row + [model.pad_id] * (width - len(row)) for row in rows])


@BANK.right("greedy_decode")
def decoded_into_a_table(model, src, bos_id, eos_id, max_len):
    """The whole table goes in each time, because what comes after position t has no effect on it."""
    with evaluating(model):
        memory = model.encode(src)
        ids = torch.full((len(src), max_len), model.pad_id)
        ids[:, 0] = bos_id
        going_on, length = torch.ones(len(src), dtype=torch.bool), 1
        while length < max_len and going_on.any():
            words = model.decode(ids, memory, src)[:, length - 1].topk(1).indices[:, 0]
            ids[going_on, length] = words[going_on]
            going_on &= words != eos_id
            length += 1
    return ids[:, :length]


@BANK.right("greedy_decode")
def decoded_for_rows_that_go_on(model, src, bos_id, eos_id, max_len, device=None):
    """Rows that have ended are not decoded any further."""
    modes = {name: module.training for name, module in model.named_modules()}
    try:
        for module in model.modules():
            module.training = False
        with torch.inference_mode():
            memory = model.encode(src)
            ids = torch.full((len(src), 1), bos_id, dtype=torch.int64, device=device)
            rows = torch.arange(len(src))
            while len(rows) and ids.shape[1] < max_len:
                column = torch.full((len(src), 1), model.pad_id)
                words = model.decode(ids[rows], memory[rows], src[rows])[:, -1:].argmax(-1)
                column[rows] = words
                ids = torch.hstack([ids, column])
                rows = rows[words[:, 0] != eos_id]
        return ids.clone()
    finally:
        for name, module in model.named_modules():
            module.training = modes[name]


@BANK.right("greedy_decode")
def greedy_decode_on_the_rows_that_go_on(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        ids = torch.full((len(src), max_len), model.pad_id)
        ids[:, 0] = bos_id
        going, length = torch.arange(len(src)), 1
        while length < max_len and len(going):
            memory = model.encode(src[going])
            logits = model.decode(ids[going, :length], memory, src[going])
            best = logits[:, -1].topk(1).indices[:, 0]
            ids[going, length] = best
            going, length = going[best != eos_id], length + 1
    return ids[:, :length]


@BANK.right("greedy_decode")
def decoded_in_lists(model, src, bos_id, eos_id, max_len):
    modes = [module.training for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            memory, rows, open_rows = model.encode(src), [[bos_id] for _ in src], {*range(len(src))}
            while open_rows and len(rows[0]) < max_len:
                best = model.decode(torch.tensor(rows), memory, src)[:, -1].argmax(-1).tolist()
                for number, row in enumerate(rows):
                    row.append(best[number] if number in open_rows else model.pad_id)
                open_rows -= {number for number, row in enumerate(rows) if row[-1] == eos_id}
        return torch.tensor(rows, dtype=torch.long)
    finally:
        for module, mode in zip(model.modules(), modes, strict=True):
            module.training = mode


@BANK.right("greedy_decode")
def decoded_by_recursion(model, src, bos_id, eos_id, max_len):
    def go_on(ids, memory, ended):
        if ids.shape[1] >= max_len or bool(ended.all()):
            return ids
        word = model.decode(ids, memory, src)[:, -1].max(dim=-1)[1]
        word = word * ~ended + model.pad_id * ended
        return go_on(torch.column_stack((ids, word)), memory, ended | word.eq(eos_id) & ~ended)

    with evaluating(model):
        ids = torch.empty(len(src), 1, dtype=torch.int64).fill_(bos_id)
        return go_on(ids, model.encode(src), torch.zeros(len(src), dtype=torch.bool))
