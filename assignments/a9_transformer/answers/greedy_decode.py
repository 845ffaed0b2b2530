"""Answers to `greedy_decode`."""

import copy
import math

import torch

from assignments.a9_transformer.answers.bank import BANK
from course_utils import transformer
from course_utils.evaluation import evaluating


@BANK.right("greedy_decode")
def decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory = model.encode(src)
        ids = torch.full((src.size(0), 1), bos_id, dtype=torch.long)
        for _ in range(max_len - 1):
            best = model.decode(ids, memory, src)[:, -1, :].argmax(-1)
            best[(ids == eos_id).any(dim=1)] = model.pad_id
            ids = torch.cat((ids, best[:, None]), dim=1)
            if (ids == eos_id).any(dim=1).all():
                break
    return ids


@BANK.right("greedy_decode")
def decoded_by_calling_the_model_itself(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        ids, ended = torch.full((len(src), 1), bos_id), torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            words = model(src, ids)[:, -1].argmax(-1).masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, words[:, None]], dim=1)
            ended |= words == eos_id
    return ids


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
@torch.no_grad()
def decoded_by_a_copy(model, src, bos_id, eos_id, max_len):
    model = copy.deepcopy(model).eval()
    memory, columns = model.encode(src), [src.new_full((len(src),), bos_id)]
    ended = torch.zeros(len(src)).bool()
    while True:
        if len(columns) == max_len or ended.all():
            return torch.stack(columns, dim=1)
        scores = model.decode(torch.stack(columns, dim=1), memory, src)
        word = torch.where(ended, model.pad_id, scores[:, -1].softmax(-1).max(-1).indices)
        ended = ended.logical_or(word.eq(eos_id))
        columns.append(word)


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


@BANK.wrong("greedy_decode", named="decoding in train mode", published="d2l-ai/d2l-en#1528")
def decoded_as_it_stands(model, src, bos_id, eos_id, max_len):
    """The model stays in train mode."""
    memory = model.encode(src)
    ids = src.new_full((len(src), 1), bos_id)
    for _ in range(max_len - 1):
        best = model.decode(ids, memory, src)[:, -1].argmax(-1)
        best[(ids == eos_id).any(dim=1)] = model.pad_id
        ids = torch.cat((ids, best[:, None]), dim=1)
        if (ids == eos_id).any(dim=1).all():
            break
    return ids


@BANK.wrong("greedy_decode", named="model left in eval mode")
def decoded_and_left_in_eval_mode(model, src, bos_id, eos_id, max_len):
    model.eval()
    return decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)


@BANK.wrong("greedy_decode", named="all parts in train mode afterwards")
def decoded_and_all_woken_up(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    model.train()
    return ids


@BANK.wrong("greedy_decode", named="the model's own mode given to all its parts")
def decoded_and_the_models_own_mode_given_to_all(model, src, bos_id, eos_id, max_len):
    training = model.training
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    model.train(training)
    return ids


@BANK.wrong("greedy_decode", named="decoding in train mode")
def decoded_with_only_the_model_itself_in_eval_mode(model, src, bos_id, eos_id, max_len):
    training, model.training = model.training, False
    ids = decoded_as_it_stands(model, src, bos_id, eos_id, max_len)
    model.training = training
    return ids


@BANK.wrong(
    "greedy_decode", named="finished rows keep growing", published="mistralai/mistral-inference#270"
)
def decoded_without_padding(model, src, bos_id, eos_id, max_len):
    """Rows that have ended are still continued."""
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        for _ in range(max_len - 1):
            words = model.decode(ids, memory, src)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, words], dim=1)
            if (ids == eos_id).any(dim=1).all():
                break
    return ids


@BANK.wrong(
    "greedy_decode",
    named="waits until all rows end in one column",
    published="lucidrains/h-transformer-1d#9",
)
def decoded_until_all_end_in_the_same_column(model, src, bos_id, eos_id, max_len):
    """It ends only when all rows write EOS at the same time."""
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        while ids.shape[1] < max_len and not (ids[:, -1] == eos_id).all():
            words = model.decode(ids, memory, src)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, words], dim=1)
    return ids


@BANK.wrong("greedy_decode", told="stops with RuntimeError")
def decoded_at_random(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            chances = model.decode(ids, memory, src)[:, -1].softmax(-1)
            words = torch.multinomial(chances, 1)[:, 0].masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, words[:, None]], dim=1)
            ended |= words == eos_id
    return ids


@BANK.wrong("greedy_decode", named="all rows read the first source")
def decoded_for_the_first_row(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src[:1], bos_id, eos_id, max_len)
    return ids.expand(len(src), -1)


@BANK.wrong("greedy_decode", told=("too short or too long", "wrong with several sentences"))
def decoded_until_the_first_row_ends(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    ends = (ids[0] == eos_id).nonzero()
    return ids[:, : int(ends[0]) + 1] if len(ends) else ids


@BANK.wrong("greedy_decode", told="a list of numbers")
def decoded_to_lists(*arguments):
    return decoded_with_the_courses_context(*arguments).tolist()


@BANK.wrong("greedy_decode", told="another dtype")
def decoded_to_floats(*arguments):
    return decoded_with_the_courses_context(*arguments).float()


@BANK.wrong("greedy_decode", told="more results than asked")
def decoded_with_logits_beside(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    with evaluating(model):
        return ids, model.decode(ids, model.encode(src), src)


@BANK.wrong("greedy_decode", told="stops with ValueError")
def decoded_with_exchanged_arguments(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        ids = torch.full((len(src), 1), bos_id)
        return torch.cat([ids, model.decode(src, model.encode(src), ids).argmax(-1)], dim=1)


@BANK.wrong("greedy_decode", told=("stops with ValueError", "stops with RuntimeError"))
def decoded_longer_and_cut(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len + 5)
    return ids[:, :max_len]


@BANK.wrong("greedy_decode", told="stops with RuntimeError")
def decoded_to_the_limit_and_cut(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len:
            words = (
                model.decode(ids, memory, src)[:, -1].argmax(-1).masked_fill(ended, model.pad_id)
            )
            ids = torch.cat([ids, words[:, None]], dim=1)
            ended |= words == eos_id
    return ids[:, : int((ids != model.pad_id).sum(dim=1).max())]


@BANK.wrong("greedy_decode", told="always one shape")
def decoded_to_a_counted_answer(model, src, bos_id, eos_id, max_len):
    return torch.tensor([[1, 3, 4, 5, 2], [1, 3, 4, 2, 0]])


@BANK.wrong("greedy_decode", told="inputs changed")
def decoded_with_the_source_overwritten(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    src.fill_(model.pad_id)
    return ids


@BANK.wrong("greedy_decode", named="EOS ignored")
def decoded_with_one_special_word_less(model, src, bos_id, eos_id, max_len):
    """A word 0 is taken for nothing."""
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id or -1, max_len)
    return ids


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


@BANK.wrong("greedy_decode", named="a row ended by padding")
def greedy_decode_that_ends_at_padding(model, src, bos_id, eos_id, max_len):
    ids = transformer.greedy_decode(model, src, bos_id, eos_id, max_len)
    ended = (ids == model.pad_id).cumsum(dim=1) > 0
    return ids.masked_fill(ended, model.pad_id)


@BANK.wrong("greedy_decode", told="right in part")
def greedy_decode_that_never_writes_bos(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory = model.encode(src)
        ids = src.new_full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            logits = model.decode(ids, memory, src)[:, -1].clone()
            logits[:, bos_id] = -math.inf
            best = logits.argmax(dim=-1).masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, best.unsqueeze(1)], dim=1)
            ended = ended | (best == eos_id)
    return ids


@BANK.wrong("greedy_decode", told="stops with RuntimeError")
def decoded_until_a_column_of_padding(model, src, bos_id, eos_id, max_len):
    """The model is called once more before the code checks whether all rows have ended."""
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len:
            words = model.decode(ids, memory, src)[:, -1].argmax(-1)
            if ended.all():
                break
            words = words.masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, words[:, None]], dim=1)
            ended |= words == eos_id
    return ids


@BANK.wrong("greedy_decode", named="an end is remembered for one word")
def decode_with_ends_of_the_last_word(model, src, bos_id, eos_id, max_len):
    ids = src.new_full((len(src), 1), bos_id)
    with evaluating(model):
        while ids.shape[1] < max_len and not (ids[:, -1] == eos_id).all():
            words = model(src, ids)[:, -1].argmax(-1)
            words = torch.where(ids[:, -1] == eos_id, model.pad_id, words)
            ids = torch.hstack([ids, words.unsqueeze(1)])
    return ids


@BANK.right("greedy_decode")
def decoded_in_lists(model, src, bos_id, eos_id, max_len):
    modes = [module.training for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            memory, rows, open_rows = (
                model.encode(src),
                [[bos_id] for _ in src],
                set(range(len(src))),
            )
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


@BANK.wrong("greedy_decode", named="the last column left out")
def decoded_without_the_last_words(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        for _ in range(max_len - 1):
            words = model.decode(ids, memory, src)[:, -1].argmax(-1)
            words[ended] = model.pad_id
            ended |= words == eos_id
            if ended.all():
                break
            ids = torch.cat([ids, words[:, None]], dim=1)
    return ids


@BANK.wrong("greedy_decode", named="only the source encoded in eval mode")
def decoded_after_the_eval_mode(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory = model.encode(src)
    ids, ended = torch.full((len(src), 1), bos_id), torch.zeros(len(src), dtype=torch.bool)
    while ids.shape[1] < max_len and not ended.all():
        words = model.decode(ids, memory, src)[:, -1].argmax(-1).masked_fill(ended, model.pad_id)
        ids = torch.cat([ids, words[:, None]], dim=1)
        ended |= words == eos_id
    return ids


@BANK.wrong("greedy_decode", named="all rows read the first source")
def decoded_with_the_first_rows_words(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        while ids.shape[1] < max_len and ids[0, -1] != eos_id:
            word = model.decode(ids, memory, src)[0, -1].argmax()
            ids = torch.cat([ids, word.expand(len(src), 1)], dim=1)
    return ids
