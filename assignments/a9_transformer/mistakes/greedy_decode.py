"""Wrong ways of greedy decoding by the step of the right one that they take otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from assignments.a9_transformer.rubric import (
    ENDS,
    LIKELIEST,
    MODES,
    greedy,
)
from autograder.checks.mistakes import Steps, called, message
from course_utils.evaluation import evaluating


class Greedy(Steps):
    """Greedy decoding in steps, each of which a mistake can take in another way."""

    def mode(self, model: nn.Module) -> AbstractContextManager:
        return evaluating(model)

    def read(self, model: Any, src: Tensor) -> Tensor:
        return model.encode(src)

    def logits(self, model: Any, ids: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        return model.decode(ids, memory, src)[:, -1]

    def choose(self, logits: Tensor) -> Tensor:
        return logits.argmax(dim=-1)

    def filling(self, model: Any, eos_id: int) -> int:
        return model.pad_id

    def fill(self, words: Tensor, ended: Tensor, filling: int) -> Tensor:
        return words.masked_fill(ended, filling)

    def ends(self, words: Tensor, model: Any, bos_id: int, eos_id: int) -> Tensor:
        return words == eos_id

    def ended(self, before: Tensor, ends: Tensor) -> Tensor:
        return before | ends

    def stop(self, ended: Tensor) -> Any:
        return ended.all()

    def width(self, max_len: int) -> int:
        return max_len

    def result(self, ids: Tensor, model: Any, eos_id: int) -> Tensor:
        return ids

    def write(
        self, model: Any, memory: Tensor, src: Tensor, bos_id: int, eos_id: int, max_len: int
    ) -> Tensor:
        ids = src.new_full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < self.width(max_len) and not self.stop(ended):
            words = self.choose(self.logits(model, ids, memory, src))
            words = self.fill(words, ended, self.filling(model, eos_id))
            ids = torch.cat([ids, words.unsqueeze(1)], dim=1)
            ended = self.ended(ended, self.ends(words, model, bos_id, eos_id))
        return self.result(ids, model, eos_id)

    def answer(self, model: Any, src: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
        with self.mode(model):
            return self.write(model, self.read(model, src), src, bos_id, eos_id, max_len)


@contextmanager
def evaluating_but(
    leave: Callable[[nn.Module, bool], Any], model: nn.Module
) -> Iterator[nn.Module]:
    """Eval mode that is left otherwise, by a function of the model and the mode that it was in."""
    was_training = model.training
    with torch.no_grad():
        yield model.eval()
    leave(model, was_training)


def own_mode_back(model: nn.Module, was_training: bool) -> None:
    """To itself alone, and to no part of it."""
    model.training = was_training


LEFT_IN_A_MODE = (
    "All words are right, but afterwards {}. Each part of the model should be in the mode in which it "
    "was before. What has to be noted before `model.eval()`, so that each mode can be restored?"
)


@greedy.mistakes_in(Greedy.mode, costs=MODES)
class GreedyMode:
    def decoding_in_train_mode(self, model):
        """Your numbers are those of a model in train mode, where dropout disturbs what is written.
        Which mode should the model be in, and which one afterwards?"""
        return nullcontext()

    @message(LEFT_IN_A_MODE.format("the model stays in eval mode"))
    def model_left_in_eval_mode(self, model):
        return evaluating_but(lambda model, was_training: None, model)

    @message(LEFT_IN_A_MODE.format("every part is in train mode, whatever it was before"))
    def all_parts_in_train_mode_afterwards(self, model):
        return evaluating_but(lambda model, was_training: model.train(), model)

    @called("the model's own mode given to all its parts")
    @message(LEFT_IN_A_MODE.format("every part has the mode of the whole model"))
    def one_mode_for_all_parts(self, model):
        return evaluating_but(nn.Module.train, model)

    @message(LEFT_IN_A_MODE.format("the model's parts are still in eval mode"))
    def only_the_model_itself_has_its_mode_back(self, model):
        return evaluating_but(own_mode_back, model)


@greedy.mistakes_in(Greedy.answer, costs=MODES)
class GreedyAnswer:
    def source_encoded_in_train_mode(self, model, src, bos_id, eos_id, max_len):
        """The source is encoded before the model is in eval mode, but both `encode` and `decode`
        should run in eval mode."""
        memory = self.read(model, src)
        with self.mode(model):
            return self.write(model, memory, src, bos_id, eos_id, max_len)

    def only_the_source_encoded_in_eval_mode(self, model, src, bos_id, eos_id, max_len):
        """The model has its modes back before `decode` is called, but both `encode` and `decode`
        should run in eval mode."""
        with self.mode(model):
            memory = self.read(model, src)
        return self.write(model, memory, src, bos_id, eos_id, max_len)


@greedy.mistake("EOS ignored", costs=ENDS)
class EndIgnored(Greedy):
    """Your rows go on after `eos_id` up to `max_len`. When has a sentence ended, and what follows
    then?"""

    def fill(self, words, ended, filling):
        return words

    def stop(self, ended):
        return False


@greedy.mistakes_in(Greedy.fill, costs=ENDS)
class GreedyFill:
    def finished_rows_keep_growing(self, words, ended, filling):
        """Rows that have ended get further words while others go on. What should be in them from
        there on?"""
        return words


@greedy.mistakes_in(Greedy.stop, costs=ENDS)
class GreedyStop:
    def stops_at_the_first_end(self, ended):
        """You stop as soon as one row has ended, so the others stay unfinished. The loop should
        wait for all of them."""
        return ended.any()

    @called("filled up to max_len")
    def stops_at_max_len_only(self, ended):
        """After all rows have ended, you still go on to `max_len` columns. When may the loop
        stop?"""
        return False


@greedy.mistake("waits until all rows end in one column", costs=ENDS)
class EndsTogether(Greedy):
    """You stop only when all rows write `eos_id` in the same column, but rows end at different
    times. What has to be remembered about each?"""

    def fill(self, words, ended, filling):
        return words

    def ended(self, before, ends):
        return ends


@greedy.mistakes_in(Greedy.ended, costs=ENDS)
class GreedyEnded:
    def an_end_is_remembered_for_one_word(self, before, ends):
        """A row of yours counts as ended only while its newest word is `eos_id`, so one word of padding
        follows, and then it goes on. Keep what has ended before: `ended | (words == eos_id)`."""
        return ends


@greedy.mistakes_in(Greedy.filling, costs=ENDS)
class GreedyFilling:
    def filled_up_with_0(self, model, eos_id):
        """Ended rows are filled with 0, whatever the model's padding is. Which attribute of the
        model has the right id?"""
        return 0

    def filled_up_with_EOS(self, model, eos_id):
        """Ended rows are filled with `eos_id`. It should appear once, followed by the model's
        padding."""
        return eos_id


@greedy.mistakes_in(Greedy.ends, costs=ENDS)
class GreedyEnds:
    def a_row_ended_by_padding(self, words, model, bos_id, eos_id):
        """A row of yours also ends when the model writes `pad_id` as a word. Which id alone ends a
        row?"""
        return (words == eos_id) | (words == model.pad_id)


@greedy.mistakes_in(Greedy.result, costs=ENDS)
class GreedyResult:
    def BOS_left_out(self, ids, model, eos_id):
        """Your result begins with the first word, but column 0 should be `bos_id`."""
        return ids[:, 1:]

    @called("the last column left out")
    def ends_before_the_last_words(self, ids, model, eos_id):
        """Where all rows end, your result lacks the last column, with the last `eos_id`. Are the words
        put in before the loop is left?"""
        return ids[:, :-1] if (ids == eos_id).any(dim=1).all() else ids

    def EOS_left_out(self, ids, model, eos_id):
        """Your rows lose their `eos_id`. It should be kept, so that a reader can tell a sentence
        that ended from one that was cut off."""
        return ids.masked_fill(ids == eos_id, model.pad_id)


@greedy.mistakes_in(Greedy.width, costs=ENDS)
class GreedyWidth:
    @called("max_len words after BOS")
    def max_len_words_after_the_begin(self, max_len):
        """Your result can have `max_len` + 1 columns, but `max_len` counts column 0 as well."""
        return max_len + 1

    def one_word_too_few(self, max_len):
        """Where no row ends, your result has `max_len` - 1 columns, although one more is
        allowed."""
        return max_len - 1


@greedy.mistakes_in(Greedy.logits, costs=LIKELIEST)
class GreedyLogits:
    def logits_of_the_first_position_read(self, model, ids, memory, src):
        """You read the logits of position 0 at each step, which are those of the word after
        `bos_id`, again and again. Which position predicts the next word?"""
        return model.decode(ids, memory, src)[:, 0]

    def only_the_last_word_handed_to_the_decoder(self, model, ids, memory, src):
        """Your decoder sees one word at a time and forgets those before it. It should get
        everything that has been written so far."""
        return model.decode(ids[:, -1:], memory, src)[:, -1]


@greedy.mistakes_in(Greedy.choose, costs=LIKELIEST)
class GreedyChoose:
    def least_likely_word(self, logits):
        """You take the word with the smallest logit, but greedy decoding takes the one with the
        largest."""
        return logits.argmin(dim=-1)


@greedy.mistakes_in(Greedy.read, costs=LIKELIEST)
class GreedyRead:
    def all_rows_read_the_first_source(self, model, src):
        """All your rows are written for the first sentence. Each row of the batch has a memory, words and
        logits of its own."""
        return model.encode(src[:1].expand_as(src))
