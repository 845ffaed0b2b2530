"""Mistakes that real projects made in what assignment 10 asks for."""

import torch
from torch.nn import functional as F

from assignments.a10_language_models.answers.bank import BANK
from assignments.a10_language_models.answers.causal_language_model import Base
from assignments.a10_language_models.answers.mask_words import choose
from assignments.a10_language_models.answers.sample_next import check, draw, keep_best


@BANK.wrong("CausalLanguageModel", published="dhansmair/flamingo-mini#4")
class HeadCopiedFromTheEmbedding(Base):
    """The output map gets a copy of the embedding, so that it is learned and stored twice."""

    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.lm_head = torch.nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = torch.nn.Parameter(self.embedding.weight.detach().clone())

    def end(self, x):
        return self.lm_head(x)


@BANK.wrong("next_token_loss", named="not shifted", published="macrocosm-os/pretraining#64")
def logits_and_labels_as_they_come(logits, token_ids, pad_id=0):
    """The labels are not shifted, so the model is asked for the token that it reads."""
    V = logits.shape[-1]
    return F.cross_entropy(logits.reshape(-1, V), token_ids.reshape(-1), ignore_index=pad_id)


@BANK.wrong("next_token_loss", named="shifted twice", published="huggingface/transformers#37830")
def shifted_by_the_model_and_by_the_loss(logits, token_ids, pad_id=0):
    """The model shifts the logits, and the loss that it calls shifts them once more."""
    logits, labels = logits[:, :-1], token_ids[:, 1:]
    logits, labels = logits[:, :-1], labels[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


def without_the_crossing_word(chances, top_p, keep_one):
    falling, order = torch.sort(chances, descending=True, dim=-1)
    keep = torch.cumsum(falling, dim=-1) <= top_p
    if keep_one:
        keep[:, 0] = True
    return torch.zeros_like(chances).scatter(1, order, torch.where(keep, falling, 0.0))


@BANK.wrong(
    "sample_next",
    named=("the word that crosses top_p left out", "an empty nucleus"),
    published="rasbt/reasoning-from-scratch#164",
)
def cumulative_probabilities_up_to_top_p(
    logits, temperature=1.0, top_k=None, top_p=None, generator=None
):
    """Kept is what has a cumulative sum of top_p at most, and so not the word that crosses it."""
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = keep_best(logits / temperature, top_k).softmax(-1)
    if top_p is not None and top_p < 1:
        chances = without_the_crossing_word(chances, top_p, keep_one=False)
    return draw(chances, generator)


@BANK.wrong("sample_next", named="the word that crosses top_p left out", published="Biohub/esm#360")
def inclusive_sums_with_one_word_at_least(
    logits, temperature=1.0, top_k=None, top_p=None, generator=None
):
    """The mask is made of inclusive sums, with a guard that keeps one word."""
    check(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(-1)
    chances = keep_best(logits / temperature, top_k).softmax(-1)
    if top_p is not None:
        chances = without_the_crossing_word(chances, top_p, keep_one=True)
    return draw(chances, generator)


@BANK.wrong("mask_words", named="a tenth of the rest", published="lucidrains/mlm-pytorch#6")
def mask_filled_in_last(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    """Random words come first, and the masks that are filled in after them overwrite most."""
    chosen = choose(token_ids, special_ids, share, generator)
    random = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.1)
    words = torch.randint(0, vocab_size, token_ids.shape, generator=generator)
    text = torch.where(random, words, token_ids)
    filled = chosen & (torch.rand(token_ids.shape, generator=generator) < 0.8)
    return torch.where(filled, mask_id, text), torch.where(chosen, token_ids, -100)


@BANK.wrong("mask_words", named="a tenth of the rest", published="huggingface/transformers#32329")
def a_tenth_and_not_a_half(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    """Of what masks have left over, a tenth becomes random, where it should be a half."""
    chosen = choose(token_ids, special_ids, share, generator)
    masked = torch.bernoulli(torch.full(token_ids.shape, 0.8), generator=generator).bool() & chosen
    random = torch.bernoulli(torch.full(token_ids.shape, 0.1), generator=generator).bool()
    random = random & chosen & ~masked
    inputs = token_ids.masked_fill(masked, mask_id)
    words = torch.randint(vocab_size, token_ids.shape, generator=generator)
    return torch.where(random, words, inputs), token_ids.masked_fill(~chosen, -100)
