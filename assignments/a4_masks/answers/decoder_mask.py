"""Answers to `decoder_mask`."""

import torch

from assignments.a4_masks.answers.bank import BANK
from assignments.a4_masks.answers.causal_mask import ANSWERS as CAUSAL
from assignments.a4_masks.answers.causal_mask import wrong_triangles
from assignments.a4_masks.answers.in_other_ways import in_tuples, written_in_other_ways
from assignments.a4_masks.answers.padding_mask import ANSWERS as PADDING
from assignments.a4_masks.answers.padding_mask import wrong_words
from assignments.a4_masks.rubric import OWN_PLACE, WORDS, decoder
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, decoder,
    """
    def decoder_mask(token_ids, pad_id=0):
        T = token_ids.shape[1]
        words = token_ids != pad_id  # (B, T)
        keys = words[:, None, None, :]  # (B, 1, 1, T)
        past = torch.ones(T, T, dtype=torch.bool).tril()
        mask = keys & past
        shaped = mask
        shown = shaped
        return shown
    """,
    torch=torch, in_tuples=in_tuples, causal_mask=CAUSAL.code, padding_mask=PADDING.code,
)  # fmt: skip


@BANK.right("decoder_mask")
def decoder_by_hiding(token_ids, pad_id=0, heads=1):
    future = torch.ones(token_ids.shape[1], token_ids.shape[1], dtype=torch.bool).triu(1)
    is_pad = (token_ids == pad_id)[:, None, None, :]
    return ~(is_pad | future)


# fmt: off
slip = ANSWERS.slip
slip("the axis of the heads left out", "shaped = mask.squeeze(1)", (),
     "The entries are right, but the shape is (B, T, T). Against scores (B, H, T, T) your B would lie under H, the "
     "heads. An axis of length 1 is missing. Where?")
slip("sentences where the heads belong", "shaped = mask.movedim(0, 1)", (),
     "The entries are right, but the shape is (1, B, T, T), and the sentences lie where scores (B, H, T, T) have their "
     "heads. Which axis is that of the sentences?")
slip("queries and keys exchanged", "shaped = mask.mT", (),
     "Your mask is turned round, so rows are keys and columns are queries. Rows are the words that ask, columns those "
     "that are asked. Is there a transposition, or are the two triangles mixed up?")
slip("padding forgotten", "keys = torch.ones(len(token_ids), 1, 1, T, dtype=torch.bool)", (),
     "The future is hidden, padding is not. Which keys of this sentence are no words?")
slip("the causal mask alone", "keys = torch.tensor(True)", (),
     "This is the causal mask alone, (T, T). Padding differs from sentence to sentence, so the result needs an axis "
     "for them, (B, 1, T, T).")
slip("the causal mask for one sentence", "keys = torch.ones(1, 1, 1, 1, dtype=torch.bool)", (),
     "This is the causal mask, once for all sentences, (1, 1, T, T). Padding differs from sentence to sentence. Where "
     "do the ids come in?")
slip("padding of shape (B, T) with the causal mask", "keys = words[{axes}]", (),
     "The padding has the shape (B, T) when it meets the causal mask (T, T). Shapes are lined up from the right, so "
     "sentences are paired with queries. That stops with an error, or, where B and T happen to be equal, silently "
     "gives query i the padding of sentence i.",
     each={"axes": ("...", "None, None")})
slip("padding shown and words hidden", "words = token_ids == pad_id", (OWN_PLACE, WORDS),
     "The future is hidden as it should be, but the padding half is inverted, so your words see nothing but padding. "
     "In both halves, True says that a word may be attended to.")
slip("the first sentence's padding for all", "words = (token_ids[:1] != pad_id).expand_as(token_ids)", (),
     "Every sentence gets the padding of the first one. Keep axis 0 of the ids throughout.")
wrong_words(ANSWERS)
slip("the future not hidden", "past = torch.ones(T, T, dtype=torch.bool)", (),
     "Padding is hidden, but the future is not. Row 0 should see one key at most.")
slip("the padding mask alone", "past = torch.tensor(True)", (),
     "This is the padding mask alone, (B, 1, 1, T). The future must be hidden, too, and that differs from query to "
     "query.")
slip("the future shown and the past hidden", "past = torch.ones(T, T, dtype=torch.bool).triu(1)", (),
     "Padding is hidden as it should be, but the causal half is inverted, so your words see nothing but the future. In "
     "both halves, True says that a word may be attended to.")
wrong_triangles(ANSWERS)
slip("joined by or", "mask = keys | past", (),
     "A key is visible in your mask if one of the two masks shows it. It should be visible only if both do.")
slip("joined by exclusive or", "mask = keys ^ past", (OWN_PLACE, WORDS),
     "A key is visible in your mask if one of the two masks shows it and the other does not, which is what `^` and != "
     "do, the exclusive or. It should be visible only if both do.")
slip("visible where the two masks agree", "mask = keys == past", OWN_PLACE,
     "A key is visible in your mask if both masks show it, but also if both hide it, as padding of the future. So say "
     "two masks that are compared by ==. It should be visible only if both show it.")
slip("padding sees itself", "mask = keys & past | torch.eye(T, dtype=torch.bool)", (),
     "Your diagonal is True throughout, so a pad sees itself. A row without any True is allowed here, because "
     "attention gives it zeros.")
slip("padding sees padding", "mask = (keys == keys.mT) & past", (),
     "Your mask asks whether query and key are alike, so padding sees padding, and hides real words from it. Only the "
     "key counts, so the mask is True wherever it is no padding and not in the future.",
     published=("Biohub/esm#299",
                "Query and key are compared, both real or both padding: so padding sees padding."))
slip("rows without any True opened", "both = keys & past; mask = both | ~both.any(dim=-1, keepdim=True)", (),
     "Where a row would hold no True, you make all of it True, and the word sees the future and the padding. Such a "
     "row is allowed here, because attention gives it zeros.")
written_in_other_ways(ANSWERS)

right = ANSWERS.right
right("decoder_from_two_masks", "mask = padding_mask(token_ids, pad_id) & causal_mask(token_ids.size(1))")
right("decoder_by_three_loops", """
    batch, length = token_ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for i in range(length):
            for j in range(i + 1):
                mask[b, 0, i, j] = token_ids[b, j] != pad_id
    return mask
""")
right("decoder_by_tril_of_the_words", "mask = keys.expand(-1, 1, T, T).tril()")
right("decoder_by_einsum", 'mask = torch.einsum("bj,ij->bij", words.float(), past.float()).bool().unsqueeze(1)')
right("decoder_sentence_by_sentence", "mask = torch.stack([past & (row != pad_id) for row in token_ids])[:, None]")
right("decoder_by_product_of_numbers", "mask = (keys.int() * past.int()) == 1")
# a pad is moved beyond the end, where no query reaches
right("decoder_by_comparing_positions", """
    place = torch.arange(T).expand(len(token_ids), T).masked_fill(token_ids == pad_id, T)
    mask = place[:, None, None, :] <= torch.arange(T)[:, None]
""")
right("decoder_by_logical_and", """
    past = torch.tensor([[True] * (i + 1) + [False] * (T - i - 1) for i in range(T)])
    mask = torch.logical_and(~(token_ids == pad_id)[:, None, None], past[None, None])
""")
right("decoder_by_mapping_over_sentences",
      "mask = torch.vmap(lambda row: (past & (row != pad_id)).unsqueeze(0))(token_ids)")
right("decoder_by_filling", """
    mask = torch.ones(len(token_ids), 1, T, T, dtype=torch.bool).tril()
    mask = mask.masked_fill((token_ids == pad_id)[:, None, None, :], False)
""")
right("decoder_by_a_product_of_two_masks", "mask = token_ids.ne(pad_id)[:, None, None] * past")
right("decoder_number_by_number", """
    B, T = token_ids.shape
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(T):
                if j <= i and token_ids[b, j] != pad_id:
                    mask[b, 0, i, j] = True
    return mask
""", slow=LOOPS)
right("decoder_by_products_of_three", """
    summed = torch.einsum("bk,ik,kj,h->bhij", words.float(), past.float(), torch.eye(T), torch.ones(1))
    mask = summed > 0
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("decoder_of_what_is_hidden", "return (token_ids == pad_id)[:, None, None, :] | ~past", named="inverted mask",
      published=("huggingface/transformers#38094",
                 "A mask that is not 0 where it hides is turned to bool, so True hides."))
wrong("decoder_upside_down_and_in_three_axes", "past = torch.ones(T, T).triu().bool(); mask = words[:, None, :] & past",
      named=("the axis of the heads left out", "upper triangle"))
wrong("decoder_as_a_pair", "return keys, past", told="several results where one is asked")
wrong("decoder_up_to_a_hundred", "past = torch.ones(100, 100, dtype=torch.bool).tril()[:T, :T]",
      told=("stops with RuntimeError", "wrong for larger T"))
careless(
    ANSWERS, detached=None, in_float32=None, one_sentence=None, scaled_in_place=None,
    a_hundred_words="wrong for larger T", zeros="the opposite mask, or one that hides too much or too little",
)
