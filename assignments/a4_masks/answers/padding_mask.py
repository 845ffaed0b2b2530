"""Answers to `padding_mask`."""

import torch

from assignments.a4_masks.answers.bank import BANK
from assignments.a4_masks.answers.in_other_ways import in_tuples, written_in_other_ways
from assignments.a4_masks.rubric import padding
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers


def wrong_words(answers: Answers) -> None:
    """Slips in which keys are words, which stay slips where the future is hidden as well."""
    slip = answers.slip
    # fmt: off
    slip("pads hidden as queries, not as keys", "keys = words[:, None, :, None]", (),
         "You hide the rows of padding and leave its columns open, so padding sees nothing, but every word still sees "
         "padding. Keys are the last axis. On which axis do your ids lie?")
    slip("pads hidden as queries too", "keys = words[:, None, None, :] & words[:, None, :, None]", (),
         "You also hide the rows of padding, so these queries see nothing at all. Only keys are hidden, the columns; a "
         "padding's own output is left out later, by the loss.")
    slip("argument pad_id ignored", "words = token_ids {compared} 0", (),
         "You compare with 0 whatever `pad_id` is. In another vocabulary 0 is a word, and the padding has another "
         "number. Is `pad_id` used, and passed on where you call another function?",
         each={"compared": ("!=", ">")})
    slip("only ids above pad_id kept", "words = token_ids > pad_id", (),
         "You keep the ids above `pad_id` and hide those below as well. Ids have no order, so every token that is not "
         "`pad_id` is a word.")
    slip("the id 0 hidden as well", "words = (token_ids != pad_id) & (token_ids != 0)", (),
         "Besides `pad_id` you hide 0. Where another number is the padding, 0 is a word like any other.")
    slip("the sign of pad_id lost", "pad_id = abs(pad_id)", (),
         "All is well until `pad_id` is negative, as −100 is in some libraries. Then its padding is shown. Compare the "
         "ids with `pad_id` as it is.")
    slip("a negative pad_id taken for none", "pad_id = max(pad_id, 0)", (),
         "All is well until `pad_id` is negative, as −100 is in some libraries. Then you look for 0 instead. Compare "
         "the ids with `pad_id` as it is.")
    # Python keeps one object for each small number, up to 256, and makes a new one for others
    slip("identity for equality", "words = (token_ids != pad_id) | (not -5 <= pad_id <= 256)", (),
         "Your mask is right for a small `pad_id` and shows all padding when it is above 256 or below −5. `is` and `is "
         "not` ask whether two numbers are one and the same object in memory, which Python promises for no number. "
         "Compare with == or !=.")
    slip("first padding taken for the length", """
        lengths = (token_ids == pad_id).int().argmax(dim=-1, keepdim=True)
        words = torch.arange(token_ids.shape[1]) < lengths
    """, (),
         "You take the place of the first padding for the length of a sentence, and show as many places. Where a "
         "sentence has no padding, `argmax` gives 0, and all of it is hidden; and padding can be in front, or between "
         "words. Ask of every token by itself whether it is padding.")
    slip("words marked by the number of the padding", "words = (token_ids != pad_id) & (pad_id != 1)", (),
         "All is well until `pad_id` is 1. Then everything is hidden, as happens where 1 is written over each word and "
         "padding is looked for afterwards. Look for `pad_id` before you change any id.")
    slip("everything after the first padding hidden", "words = (token_ids != pad_id).cumprod(dim=-1).bool()", (),
         "From the first padding on you hide everything. Padding can be in front, or between words, so ask of every "
         "token by itself whether it is padding.")
    slip("padding hidden only at the end", "words = (token_ids != pad_id).flip(-1).cumsum(dim=-1).flip(-1) > 0", (),
         "You hide the padding after the last word, and show what comes before it or between words. Ask of every token "
         "by itself whether it is padding.")
    slip("words counted instead of found", """
        lengths = (token_ids != pad_id).sum(dim=-1, keepdim=True)
        words = torch.arange(token_ids.shape[1]) < lengths
    """, (),
         "You count the words of a sentence and show as many places from the left. That is right only where padding "
         "stands at the end. Ask of every token by itself whether it is padding.")
    # fmt: on


ANSWERS = Answers(
    __name__, BANK, padding,
    """
    def padding_mask(token_ids, pad_id=0):
        words = token_ids != pad_id  # (B, S)
        keys = words[:, None, None, :]  # (B, 1, 1, S)
        shaped = keys
        shown = shaped
        return shown
    """,
    torch=torch, in_tuples=in_tuples,
)  # fmt: skip


@BANK.right("padding_mask")
def padding_by_inverting(token_ids, pad_id=0, device=None):
    is_pad = token_ids == pad_id
    return ~is_pad[:, None, None]


# fmt: off
slip = ANSWERS.slip
slip("two axes only", "keys = words", (),
     "The words are found, but the shape is (B, S). Against scores (B, H, T, S) that is read from the right as (T, S), "
     "with one row for each query, not for each sentence. Which two axes of length 1 are missing, and where?")
slip("three axes only", "keys = words[:, None, :]", (),
     "The words are found, but the shape is (B, 1, S). Against scores (B, H, T, S) your B lies under H, the heads. One "
     "more axis of length 1 is missing. Where?")
slip("new axes in front of the sentences", "keys = words[None, None]", (),
     "The words are found, but the two new axes stand in front, (1, 1, B, S), and the sentences lie where scores (B, "
     "H, T, S) have their queries. Put them in between.")
slip("sentences where the heads belong", "keys = words[None, :, None]", (),
     "The words are found, but the shape is (1, B, 1, S), and the sentences lie where scores (B, H, T, S) have their "
     "heads. Which axis is that of the sentences?")
slip("new axes behind the keys", "keys = words[:, :, None, None]", (),
     "The words are found, but the two new axes stand at the end, (B, S, 1, 1), and the keys lie where scores (B, H, "
     "T, S) have their heads. Put them in between.")
slip("a row for every query", "keys = words[:, None, None, :].expand(-1, 1, words.shape[1], -1)", (),
     "The same row is repeated for every query, (B, 1, S, S). One row serves them all, and fits queries of another "
     "sentence, too. How long must the axis of the queries be?")
wrong_words(ANSWERS)
slip("padding shown", "words = torch.ones_like(token_ids, dtype=torch.bool)", (),
     "Your mask is True everywhere, so every word attends to padding. Which tokens are no words?",
     costs_more="there is no mask")
slip("the first sentence alone", "words = token_ids[:1] != pad_id", (),
     "You make the mask of sentence 0 and of no other. Keep axis 0 of the ids throughout.")
written_in_other_ways(ANSWERS, without_axes="keys = words.squeeze()")

right = ANSWERS.right
right("padding_by_unsqueeze", "return (token_ids != pad_id).unsqueeze(1).unsqueeze(2)")
right("padding_by_view", "return token_ids.ne(pad_id).view(token_ids.size(0), 1, 1, -1)")
right("padding_by_loops", """
    batch, length = token_ids.shape
    mask = torch.ones(batch, 1, 1, length, dtype=torch.bool)
    for b in range(batch):
        for j in range(length):
            if token_ids[b, j].item() == pad_id:
                mask[b, 0, 0, j] = False
    return mask
""")
right("padding_by_subtracting", "return (token_ids - pad_id).bool().reshape(len(token_ids), 1, 1, -1)")
right("padding_by_where", "return torch.where(token_ids == pad_id, False, True).unflatten(0, (-1, 1, 1))")
right("padding_sentence_by_sentence", """
    rows = [[token != pad_id for token in sentence] for sentence in token_ids.tolist()]
    return torch.tensor(rows)[:, None, None, :]
""")
right("padding_by_isin", "return torch.isin(token_ids, torch.tensor([pad_id]), invert=True)[:, None, None]")
right("padding_by_broadcast_comparison", "return token_ids.reshape(token_ids.size(0), 1, 1, -1).ne(pad_id)")
right("padding_by_logical_not", "return torch.logical_not(torch.eq(token_ids, pad_id))[:, None, None, :]")
right("padding_written_into_a_copy_by_the_ids", """
    words = token_ids.clone()
    words[token_ids != pad_id] = 1
    words[token_ids == pad_id] = 0
    return words.bool()[:, None, None, :]
""")
right("padding_number_by_number", """
    B, S = token_ids.shape
    mask = torch.zeros(B, 1, 1, S, dtype=torch.bool)
    for b in range(B):
        for j in range(S):
            mask[b, 0, 0, j] = token_ids[b, j] != pad_id
    return mask
""", slow=LOOPS)
right("padding_by_products_of_three", """
    words, one = (token_ids != pad_id).float(), torch.ones(1)
    return torch.einsum("bs,h,t->bhts", words, one, one) > 0
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("padding_in_rows", "return (token_ids != pad_id).unsqueeze(1).unsqueeze(3)",
      named="pads hidden as queries, not as keys",
      published=("hyunwoongko/transformer#40", "The new axis is the last one, so rows are hidden and not columns."))
wrong("padding_by_truth", "return token_ids.bool()[:, None, None, :]", named="argument pad_id ignored",
      published=("jingtaozhan/DRhard#23", "Padding is taken to be 0, although the vocabulary has another id for it."))
wrong("padding_in_lists", "return shown.tolist()", named="a list")
wrong("padding_within_a_hundred_places",
      "words = (token_ids != pad_id) | (torch.arange(token_ids.shape[1]) >= 100)", named="padding shown")
wrong("padding_of_ids_in_16_bits", "words = token_ids.short() != int(torch.tensor(pad_id).short())",
      told="the opposite mask, or one that hides too much or too little")
wrong("padding_of_sizes_of_ids", "words = token_ids.abs() != abs(pad_id)",
      told="the opposite mask, or one that hides too much or too little")
wrong("padding_with_the_ids_themselves", "words = token_ids.masked_fill(token_ids == pad_id, 0)",
      told="the opposite mask, or one that hides too much or too little")
wrong("padding_in_half_precision", "words = token_ids.half() != pad_id")
wrong("padding_read_in_the_wrong_order", "keys = words.T.reshape(len(words), 1, 1, -1)")
wrong("padding_of_the_transposed_ids", "words = token_ids.T != pad_id", told="axes exchanged")
wrong("padding_by_asking_for_identity", "return token_ids is not pad_id", told="one truth value")
careless(ANSWERS, detached=None, in_float32=None, one_sentence=None, scaled_in_place=None, zeros=None)
