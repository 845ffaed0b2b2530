"""The right answers of assignment 4 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from assignments.a4_masks.rubric import (
    OWN_PLACE,
    SHIFTED_FORM,
    WORDS,
    causal,
    decoder,
    padding,
    shift,
)
from autograder.checks.check import Part
from autograder.checks.mistakes import Steps, called, costs, costs_more, message, variants
from course_utils import masks

# ------------------------------------------------------------------------ mistakes in any mask


class MaskInSteps(Steps):
    """A mask in steps: what is visible, with which axes, what True means, and the dtype."""

    def answer(self, *arguments: Any, **keywords: Any) -> Any:
        return self.written(self.shown(self.axes(self.visible(*arguments, **keywords))))

    def visible(self, *arguments: Any, **keywords: Any) -> Tensor:
        raise NotImplementedError

    def axes(self, mask: Tensor) -> Tensor:
        return mask

    def shown(self, mask: Tensor) -> Tensor:
        return mask

    def written(self, mask: Tensor) -> Tensor:
        return mask


def in_tuples(mask: Tensor) -> Any:
    """A mask without torch, whose rows are compared as they are, be they lists or tuples."""
    return tuple(map(in_tuples, mask)) if mask.dim() else bool(mask)


def written_in_other_ways(part: Part, right: type[MaskInSteps]) -> None:
    """Mistakes of every part that makes a mask: the right entries, but not as True and False."""

    @part.mistakes_in(right.shown, of=right)
    class Shown:
        def inverted_mask(self, mask):
            """Your mask is True where something is hidden. In this course, as in
            `F.scaled_dot_product_attention`, True says that a word may be attended to.
            (`nn.MultiheadAttention` reads masks the other way round, which is why both are
            seen.)"""
            return ~mask

    @part.mistakes_in(right.written, of=right)
    class Written:
        def numbers_instead_of_bool(self, mask):
            """The places are right, but your mask holds the numbers 1.0 and 0.0. PyTorch *adds* a
            mask of floats to the scores, and 0.0 added hides nothing. Which dtype says True and
            False?"""
            return mask.float()

        @variants("dtype", (torch.int64, torch.uint8, torch.int32))
        def whole_numbers_instead_of_bool(self, mask, dtype):
            """The places are right, but your mask holds the whole numbers 1 and 0. `~` and indexing
            do something else with them than with True and False. Which dtype was asked for?"""
            return mask.to(dtype)

        @variants("seen, low", ((0.0, -torch.inf), (0.0, -1e9), (1.0, -torch.inf), (1.0, -1e9)))
        def minus_infinity_for_hidden(self, mask, seen, low):
            """Where your mask hides, it holds minus infinity or a number far below 0, as what is added to
            the scores does. That is attention's next step. A mask in this course says who may attend, by True
            or False."""
            return torch.full(mask.shape, seen).masked_fill(~mask, low)

        @called("a NumPy array")
        def as_numpy(self, mask):
            """The entries are right, but they come as a NumPy array. Attention wants a torch
            tensor, which `torch.from_numpy` makes."""
            return mask.numpy()

        def a_list(self, mask):
            """The entries are right, but they come as a list of lists. Attention wants a torch tensor,
            which `torch.tensor` makes."""
            return in_tuples(mask)

    @part.mistakes_in(right.axes, of=right)
    class Axes:
        def axes_of_length_1_dropped(self, mask):
            """An axis of length 1 is missing. `squeeze` takes every one away, also where a batch
            holds one sentence or a sentence one word. Which axes were asked for, whatever their
            lengths?"""
            return mask.squeeze()


# -------------------------------------------------------------------------------- causal_mask


class CausalInSteps(MaskInSteps):
    """The causal mask in steps."""

    def visible(self, size):
        return masks.causal_mask(size)


@causal.mistakes_in(CausalInSteps.visible)
class CausalVisible:
    def the_diagonal_hidden(self, size):
        """No word sees itself, and the first one sees nothing at all. May a word see its own
        position? The input there is the word *before* its target, so nothing is given away, and the
        rule is j ≤ i."""
        return masks.causal_mask(size).tril(-1)

    def upper_triangle(self, size):
        """The triangle is on the wrong side, so each word sees itself and the future, and not the
        past. Rows are queries and columns are keys. In row 0, which columns may be seen?"""
        return masks.causal_mask(size).T

    def one_word_of_the_future_visible(self, size):
        """Each word sees one word of the future, j ≤ i + 1. The next input is the answer that this
        position must give. Look at row 0. How many words should the first word see?"""
        return torch.ones(size, size, dtype=torch.bool).tril(1)

    @costs_more("there is no mask")
    def nothing_hidden(self, size):
        """Your mask is True everywhere, so every word sees the future. Which entries of row 0
        should be False?"""
        return torch.ones(size, size, dtype=torch.bool)

    @costs_more("there is no mask")
    def everything_hidden(self, size):
        """Your mask is False everywhere, so no word may attend to anything, not even to itself.
        Which entries of row 0 should be True?"""
        return torch.zeros(size, size, dtype=torch.bool)

    def each_word_sees_itself_alone(self, size):
        """Only the diagonal is True, so no word sees the words before it. They are past, and may be
        seen."""
        return torch.eye(size, dtype=torch.bool)

    def the_past_without_the_first_word(self, size):
        """Column 0 is hidden from the words after it. The first word is past for all of them. Does
        a range or a slice of yours begin at 1?"""
        mask = masks.causal_mask(size)
        return mask & ((torch.arange(size) > 0) | torch.eye(size, dtype=torch.bool))

    @variants("dims", ((0,), (1,)))
    def triangle_in_another_corner(self, size, dims):
        """Your triangle lies against the other diagonal, the one from bottom left to top right. Row
        i and column j are the same word where i = j. On which diagonal does every word see
        itself?"""
        return masks.causal_mask(size).flip(*dims)

    def a_row_and_a_column_too_many(self, size):
        """Your mask is (T + 1, T + 1). Its triangle is right, but there are T positions, 0 to T −
        1. Does a range go one too far?"""
        return masks.causal_mask(size + 1)

    def a_row_and_a_column_too_few(self, size):
        """Your mask is (T − 1, T − 1). Its triangle is right, but there are T positions, 0 to T −
        1. Does a range stop one too early?"""
        return masks.causal_mask(size - 1)


@causal.mistakes_in(CausalInSteps.axes, of=CausalInSteps)
class CausalAxes:
    def axes_for_sentences_and_heads(self, mask):
        """The mask is right, but it has two axes of length 1 in front. One (T, T) serves all
        sentences and heads, because broadcasting adds what is missing in front."""
        return mask[None, None]

    def an_axis_for_sentences(self, mask):
        """The mask is right, but it has an axis of length 1 in front. One (T, T) serves all
        sentences, because broadcasting adds what is missing in front."""
        return mask[None]


written_in_other_ways(causal, CausalInSteps)


# ------------------------------------------------------------------------------- padding_mask


class PaddingInSteps(MaskInSteps):
    """The padding mask in steps: which id is padding, where the words are, and the new axes."""

    def visible(self, token_ids, pad_id=0):
        return self.is_word(token_ids, self.padding(pad_id))

    def padding(self, pad_id):
        return pad_id

    def is_word(self, token_ids, pad_id):
        return token_ids != pad_id

    def axes(self, mask):
        return mask[:, None, None, :]


@padding.mistakes_in(PaddingInSteps.axes)
class PaddingAxes:
    def two_axes_only(self, mask):
        """The words are found, but the shape is (B, S). Against scores (B, H, T, S) that is read
        from the right as (T, S), with one row for each query, not for each sentence. Which two axes
        of length 1 are missing, and where?"""
        return mask

    def three_axes_only(self, mask):
        """The words are found, but the shape is (B, 1, S). Against scores (B, H, T, S) your B lies
        under H, the heads. One more axis of length 1 is missing. Where?"""
        return mask[:, None, :]

    def new_axes_in_front_of_the_sentences(self, mask):
        """The words are found, but the two new axes stand in front, (1, 1, B, S), and the sentences
        lie where scores (B, H, T, S) have their queries. Put them in between."""
        return mask[None, None]

    def sentences_where_the_heads_belong(self, mask):
        """The words are found, but the shape is (1, B, 1, S), and the sentences lie where scores
        (B, H, T, S) have their heads. Which axis is that of the sentences?"""
        return mask[None, :, None]

    def new_axes_behind_the_keys(self, mask):
        """The words are found, but the two new axes stand at the end, (B, S, 1, 1), and the keys
        lie where scores (B, H, T, S) have their heads. Put them in between."""
        return mask[:, :, None, None]

    @called("pads hidden as queries, not as keys")
    def queries_hidden(self, mask):
        """You hide the rows of padding and leave its columns open, so padding sees nothing, but
        every word still sees padding. Keys are the last axis. On which axis do your ids lie?"""
        return mask[:, None, :, None]

    def pads_hidden_as_queries_too(self, mask):
        """You also hide the rows of padding, so these queries see nothing at all. Only keys are
        hidden, the columns; a padding's own output is left out later, by the loss."""
        return mask[:, None, None, :] & mask[:, None, :, None]

    def a_row_for_every_query(self, mask):
        """The same row is repeated for every query, (B, 1, S, S). One row serves them all, and fits
        queries of another sentence, too. How long must the axis of the queries be?"""
        return mask[:, None, None, :].expand(-1, 1, mask.shape[1], -1)


@padding.mistakes_in(PaddingInSteps.is_word)
class PaddingIsWord:
    @called("argument pad_id ignored")
    @variants("above", (False, True))
    def pad_id_ignored(self, token_ids, pad_id, above):
        """You compare with 0 whatever `pad_id` is. In another vocabulary 0 is a word, and the
        padding has another number. Is `pad_id` used, and passed on where you call another
        function?"""
        return token_ids > 0 if above else token_ids != 0

    @called("only ids above pad_id kept")
    def ids_above(self, token_ids, pad_id):
        """You keep the ids above `pad_id` and hide those below as well. Ids have no order, so every
        token that is not `pad_id` is a word."""
        return token_ids > pad_id

    def the_id_0_hidden_as_well(self, token_ids, pad_id):
        """Besides `pad_id` you hide 0. Where another number is the padding, 0 is a word like any
        other."""
        return (token_ids != pad_id) & (token_ids != 0)

    def identity_for_equality(self, token_ids, pad_id):
        """Your mask is right for a small `pad_id` and shows all padding when it is above 256 or
        below −5. `is` and `is not` ask whether two numbers are one and the same object in memory,
        which Python promises for no number. Compare with == or !=."""
        # Python keeps one object for each small number, up to 256, and makes a new one for others
        return (token_ids != pad_id) | (not -5 <= pad_id <= 256)

    def everything_after_the_first_padding_hidden(self, token_ids, pad_id):
        """From the first padding on you hide everything. Padding can be in front, or between words,
        so ask of every token by itself whether it is padding."""
        return (token_ids != pad_id).cumprod(dim=-1).bool()

    def padding_hidden_only_at_the_end(self, token_ids, pad_id):
        """You hide the padding after the last word, and show what comes before it or between words.
        Ask of every token by itself whether it is padding."""
        return (token_ids != pad_id).flip(-1).cumsum(dim=-1).flip(-1) > 0

    def words_counted_instead_of_found(self, token_ids, pad_id):
        """You count the words of a sentence and show as many places from the left. That is right
        only where padding stands at the end. Ask of every token by itself whether it is padding."""
        lengths = (token_ids != pad_id).sum(dim=-1, keepdim=True)
        return torch.arange(token_ids.shape[1]) < lengths

    def first_padding_taken_for_the_length(self, token_ids, pad_id):
        """You take the place of the first padding for the length of a sentence, and show as many
        places. Where a sentence has no padding, `argmax` gives 0, and all of it is hidden; and padding
        can be in front, or between words. Ask of every token by itself whether it is padding."""
        lengths = (token_ids == pad_id).int().argmax(dim=-1, keepdim=True)
        return torch.arange(token_ids.shape[1]) < lengths

    def words_marked_by_the_number_of_the_padding(self, token_ids, pad_id):
        """All is well until `pad_id` is 1. Then everything is hidden, as happens where 1 is written over
        each word and padding is looked for afterwards. Look for `pad_id` before you change any id."""
        return (token_ids != pad_id) & (pad_id != 1)

    @costs_more("there is no mask")
    def padding_shown(self, token_ids, pad_id):
        """Your mask is True everywhere, so every word attends to padding. Which tokens are no
        words?"""
        return torch.ones_like(token_ids, dtype=torch.bool)

    def the_first_sentence_alone(self, token_ids, pad_id):
        """You make the mask of sentence 0 and of no other. Keep axis 0 of the ids throughout."""
        return token_ids[:1] != pad_id


@padding.mistakes_in(PaddingInSteps.padding)
class PaddingPadding:
    @called("the sign of pad_id lost")
    def without_its_sign(self, pad_id):
        """All is well until `pad_id` is negative, as −100 is in some libraries. Then its padding is
        shown. Compare the ids with `pad_id` as it is."""
        return abs(pad_id)

    @called("a negative pad_id taken for none")
    def never_negative(self, pad_id):
        """All is well until `pad_id` is negative, as −100 is in some libraries. Then you look for 0
        instead. Compare the ids with `pad_id` as it is."""
        return max(pad_id, 0)


written_in_other_ways(padding, PaddingInSteps)


# ------------------------------------------------------------------------------- decoder_mask


class DecoderInSteps(MaskInSteps):
    """The decoder mask in steps: its two halves, and how they are joined."""

    def visible(self, token_ids, pad_id=0):
        return self.joined(self.words(token_ids, pad_id), self.past(token_ids.shape[1]))

    def words(self, token_ids, pad_id):
        return masks.padding_mask(token_ids, pad_id)

    def past(self, T):
        return masks.causal_mask(T)

    def joined(self, words, past):
        return words & past


@decoder.mistakes_in(DecoderInSteps.axes, of=DecoderInSteps)
class DecoderAxes:
    def the_axis_of_the_heads_left_out(self, mask):
        """The entries are right, but the shape is (B, T, T). Against scores (B, H, T, T) your B
        would lie under H, the heads. An axis of length 1 is missing. Where?"""
        return mask.squeeze(1)

    def sentences_where_the_heads_belong(self, mask):
        """The entries are right, but the shape is (1, B, T, T), and the sentences lie where scores
        (B, H, T, T) have their heads. Which axis is that of the sentences?"""
        return mask.movedim(0, 1) if mask.dim() > 1 else mask

    def queries_and_keys_exchanged(self, mask):
        """Your mask is turned round, so rows are keys and columns are queries. Rows are the words
        that ask, columns those that are asked. Is there a transposition, or are the two triangles
        mixed up?"""
        return mask.mT


@decoder.mistakes_in(DecoderInSteps.words)
class DecoderWords:
    def padding_forgotten(self, token_ids, pad_id):
        """The future is hidden, padding is not. Which keys of this sentence are no words?"""
        return torch.ones(len(token_ids), 1, 1, token_ids.shape[1], dtype=torch.bool)

    def the_causal_mask_alone(self, token_ids, pad_id):
        """This is the causal mask alone, (T, T). Padding differs from sentence to sentence, so the
        result needs an axis for them, (B, 1, T, T)."""
        return torch.tensor(True)

    def the_causal_mask_for_one_sentence(self, token_ids, pad_id):
        """This is the causal mask, once for all sentences, (1, 1, T, T). Padding differs from
        sentence to sentence. Where do the ids come in?"""
        return torch.ones(1, 1, 1, 1, dtype=torch.bool)

    @called("padding of shape (B, T) with the causal mask")
    @variants("new_axes", ((), (None, None)))
    def sentences_under_queries(self, token_ids, pad_id, new_axes):
        """The padding has the shape (B, T) when it meets the causal mask (T, T). Shapes are lined
        up from the right, so sentences are paired with queries. That stops with an error, or, where
        B and T happen to be equal, silently gives query i the padding of sentence i."""
        return (token_ids != pad_id)[*new_axes, :, :]

    @costs(OWN_PLACE, WORDS)
    def padding_shown_and_words_hidden(self, token_ids, pad_id):
        """The future is hidden as it should be, but the padding half is inverted, so your words see
        nothing but padding. In both halves, True says that a word may be attended to."""
        return ~masks.padding_mask(token_ids, pad_id)

    @called("the first sentence's padding for all")
    def padding_of_the_first_sentence(self, token_ids, pad_id):
        """Every sentence gets the padding of the first one. Keep axis 0 of the ids throughout."""
        return masks.padding_mask(token_ids[:1], pad_id).expand(len(token_ids), -1, -1, -1)

    @called("{wrong.name}")
    @message("{wrong.message}")
    @variants(
        "wrong",
        padding.named(
            "pads hidden as queries, not as keys",
            "pads hidden as queries too",
            "argument pad_id ignored",
            "only ids above pad_id kept",
            "the id 0 hidden as well",
            "the sign of pad_id lost",
            "a negative pad_id taken for none",
            "identity for equality",
            "first padding taken for the length",
            "words marked by the number of the padding",
            "everything after the first padding hidden",
            "padding hidden only at the end",
            "words counted instead of found",
        ),
    )
    def padding_half_otherwise(self, token_ids, pad_id, wrong):
        half = wrong.in_steps()
        return half.axes(half.visible(token_ids, pad_id))


@decoder.mistakes_in(DecoderInSteps.past)
class DecoderPast:
    def the_future_not_hidden(self, T):
        """Padding is hidden, but the future is not. Row 0 should see one key at most."""
        return torch.ones(T, T, dtype=torch.bool)

    def the_padding_mask_alone(self, T):
        """This is the padding mask alone, (B, 1, 1, T). The future must be hidden, too, and that
        differs from query to query."""
        return torch.tensor(True)

    def the_future_shown_and_the_past_hidden(self, T):
        """Padding is hidden as it should be, but the causal half is inverted, so your words see
        nothing but the future. In both halves, True says that a word may be attended to."""
        return ~masks.causal_mask(T)

    @called("{wrong.name}")
    @message("{wrong.message}")
    @variants(
        "wrong",
        causal.named(
            "the diagonal hidden",
            "upper triangle",
            "one word of the future visible",
            "each word sees itself alone",
            "triangle in another corner",
        ),
    )
    def causal_half_otherwise(self, T, wrong):
        # a mistake in one half stays a mistake with the other half beside it
        return wrong.in_steps().visible(T)


@decoder.mistakes_in(DecoderInSteps.joined)
class DecoderJoined:
    def joined_by_or(self, words, past):
        """A key is visible in your mask if one of the two masks shows it. It should be visible only
        if both do."""
        return words | past

    @costs(OWN_PLACE, WORDS)
    def joined_by_exclusive_or(self, words, past):
        """A key is visible in your mask if one of the two masks shows it and the other does not,
        which is what `^` and != do, the exclusive or. It should be visible only if both do."""
        return words ^ past

    @costs(OWN_PLACE)
    def visible_where_the_two_masks_agree(self, words, past):
        """A key is visible in your mask if both masks show it, but also if both hide it, as padding
        of the future. So say two masks that are compared by ==. It should be visible only if both
        show it."""
        return words == past

    def padding_sees_itself(self, words, past):
        """Your diagonal is True throughout, so a pad sees itself. A row without any True is allowed
        here, because attention gives it zeros."""
        return words & past | torch.eye(past.shape[-1], dtype=torch.bool)

    def padding_sees_padding(self, words, past):
        """Your mask asks whether query and key are alike, so padding sees padding, and hides real
        words from it. Only the key counts, so the mask is True wherever it is no padding and not in
        the future."""
        return (words == words.mT) & past

    def rows_without_any_True_opened(self, words, past):
        """Where a row would hold no True, you make all of it True, and the word sees the future and
        the padding. Such a row is allowed here, because attention gives it zeros."""
        mask = words & past
        return mask | ~mask.any(dim=-1, keepdim=True)


written_in_other_ways(decoder, DecoderInSteps)


# -------------------------------------------------------------------------------- shift_right


class ShiftInSteps(Steps):
    """The shift in steps: what begins, where everything is placed, and the dtype."""

    def answer(self, target_ids, bos_id):
        begin = target_ids.new_full((len(target_ids), 1), self.begin(bos_id))
        return self.written(self.placed(begin, target_ids))

    def begin(self, bos_id):
        return bos_id

    def placed(self, begin, target_ids):
        return torch.cat([begin, target_ids[:, :-1]], dim=1)

    def written(self, ids):
        return ids


@shift.mistakes_in(ShiftInSteps.placed)
class ShiftPlaced:
    def shifted_left(self, begin, target_ids):
        """Your rows moved to the left, so each position holds the target *after* its own. It should
        hold the one before."""
        return torch.cat([target_ids[:, 1:], begin], dim=1)

    @called("shifted left, bos_id in front")
    def shifted_left_behind_bos(self, begin, target_ids):
        """`bos_id` stands in front, but behind it each position holds the target *after* its own,
        and what was cut off comes round to the end. Each should hold the one before. To which side
        do the targets move when something is put in front of them?"""
        return torch.cat([begin, target_ids.roll(-1, dims=1)[:, 1:]], dim=1)

    @called("shifted left, with 0 at the end")
    def shifted_left_with_zeros(self, begin, target_ids):
        """Your rows moved to the left, with 0 at the end, so each position holds the target *after*
        its own. It should hold the one before. Position 0 has no word before it. Which token stands
        there instead?"""
        return F.pad(target_ids[:, 1:], (0, 1))

    def first_target_cut_off(self, begin, target_ids):
        """You cut off the first target, so each position holds the target *after* its own, and your
        rows are one too short. It is the last place that is left out, and `bos_id` comes in
        front."""
        return target_ids[:, 1:]

    def rolled_to_the_left(self, begin, target_ids):
        """Your rows moved to the left, and the first word came round to the end. Each position
        should hold the target *before* its own. Position 0 has no word before it. Which token
        stands there instead?"""
        return target_ids.roll(-1, dims=1)

    def start_token_at_the_end(self, begin, target_ids):
        """The targets stayed in their places, and `bos_id` took the last one. It begins the
        sentence. What moves, and where to, to make room for it in front?"""
        return torch.cat([target_ids[:, :-1], begin], dim=1)

    def start_token_put_behind_all_targets(self, begin, target_ids):
        """`bos_id` comes after the last target, and your rows are one longer than the targets. It
        begins the sentence. Which target is never an input?"""
        return torch.cat([target_ids, begin], dim=1)

    def last_token_kept(self, begin, target_ids):
        """`bos_id` comes first, but then all T targets follow, so your rows are one longer than the
        targets. Which target is never an input?"""
        return torch.cat([begin, target_ids], dim=1)

    def last_token_brought_round_to_the_front(self, begin, target_ids):
        """The rows are rolled, and the last token came round to position 0, so the model sees how
        the sentence ends. Position 0 has no word before it. Which token stands there instead?"""
        return target_ids.roll(1, dims=1)

    def first_word_overwritten(self, begin, target_ids):
        """`bos_id` takes the place of the first word, and the others did not move, so from position
        1 on, each input is its own target."""
        return torch.cat([begin, target_ids[:, 1:]], dim=1)

    @variants("begun", ("sentence", "positions", "corner", "nothing"))
    def shifted_along_the_batch(self, begin, target_ids, begun):
        """Whole sentences moved down by one. Axis 0 holds the sentences; the positions are on axis
        1."""
        moved = target_ids.roll(1, dims=0)
        places = {
            "sentence": (0, ...),
            "positions": (..., 0),
            "corner": (0, 0),
        }
        if begun in places:
            moved[places[begun]] = begin[0, 0]
        return moved

    @variants("begun", (False, True))
    def shifted_as_one_long_row(self, begin, target_ids, begun):
        """You shift all sentences as one long row, so that the end of each comes to the front of
        the next. `torch.roll` without `dims` does that. Each row is shifted by itself and begins
        with `bos_id`."""
        flat = target_ids.roll(1)
        if begun:
            flat[0, 0] = begin[0, 0]
        return flat

    def shifted_by_two_places(self, begin, target_ids):
        """Each position holds the target two before its own. One place is enough to keep a position
        from seeing its own target."""
        return torch.cat([begin, begin, target_ids], dim=1)[:, : target_ids.shape[1]]

    def start_token_missing(self, begin, target_ids):
        """The last token is gone, but nothing came in front, so your rows are one too short.
        Position 0 has no word before it. Which token stands there instead?"""
        return target_ids[:, :-1]

    @costs_more("nothing was done")
    def not_shifted(self, begin, target_ids):
        """The targets come back as they are. As its input, each position would see its own target,
        the answer that it must give."""
        return target_ids.clone()

    def start_token_everywhere(self, begin, target_ids):
        """`bos_id` is at every position. If you move words from left to right one by one, each is
        overwritten before its turn, so read from the targets, write to a new tensor."""
        return begin.expand_as(target_ids)

    def first_target_everywhere(self, begin, target_ids):
        """Behind `bos_id`, every position holds the first target. If you move words from left to right
        one by one, each is overwritten before its turn, so read from the targets, write to a new
        tensor."""
        return torch.cat([begin, target_ids[:, :1].expand(-1, target_ids.shape[1] - 1)], dim=1)

    def zeros_for_the_targets(self, begin, target_ids):
        """Behind `bos_id`, your result holds zeros and none of the targets. Did you shift a new
        tensor before anything was written into it?"""
        return torch.cat([begin, torch.zeros_like(target_ids[:, 1:])], dim=1)

    def a_single_target_left_as_it_is(self, begin, target_ids):
        """Longer rows are right, but where there is one target alone it comes back as it is. It is
        the last place, so it is left out, and `bos_id` is all that remains."""
        alone = target_ids.shape[1] == 1
        return target_ids.clone() if alone else ShiftInSteps.placed(self, begin, target_ids)

    def last_word_left_out_instead_of_the_last_place(self, begin, target_ids):
        """You leave out the last word of each sentence and keep the padding. Leave out the last
        place of the row, whatever it holds, because this function does not know what padding is."""
        return torch.where(target_ids == 0, 0, ShiftInSteps.placed(self, begin, target_ids))

    def end_of_the_sentence_left_out(self, begin, target_ids):
        """Where a sentence ends before its row does, you take its end, the id 2, out of the inputs
        as well. Leave out the last place of the row, whatever it holds, because this function does
        not know what the ids mean."""
        moved = ShiftInSteps.placed(self, begin, target_ids)
        return torch.where(moved == 2, 0, moved)


@shift.mistakes_in(ShiftInSteps.begin)
class ShiftBegin:
    @called("argument bos_id ignored, 1 in its place")
    def bos_is_one(self, bos_id):
        """Position 0 holds 1 where `bos_id` is another number. Vocabularies differ in it, so use
        `bos_id` as it is."""
        return 1

    @called("argument bos_id ignored, 0 in its place")
    def bos_is_zero(self, bos_id):
        """Position 0 holds 0 where `bos_id` is another number. Use `bos_id` as it is."""
        return 0

    @called("a bos_id of 0 taken for none")
    @variants("instead", (1, 2))
    def never_zero(self, bos_id, instead):
        """All is well until `bos_id` is 0. Then another number stands at position 0, as `or` and a
        plain `if` give it, for which 0 is as good as nothing. 0 is an id like any other."""
        return bos_id or instead

    @called("the sign of bos_id lost")
    def without_its_sign(self, bos_id):
        """All is well until `bos_id` is negative. Then its sign is lost. Use `bos_id` as it is."""
        return abs(bos_id)


@shift.mistakes_in(ShiftInSteps.written)
class ShiftWritten:
    def floats_instead_of_whole_numbers(self, ids):
        """The ids are right, but they are floats, because `torch.zeros`, `torch.ones` and
        `torch.empty` make floats unless told otherwise. An embedding wants whole numbers."""
        return ids.float()

    @costs(SHIFTED_FORM)
    def a_list_of_rows(self, ids):
        """The ids are right, but they come in a list, with a tensor for each row. An embedding wants one
        tensor, which `torch.stack` makes of them."""
        return tuple(ids)
