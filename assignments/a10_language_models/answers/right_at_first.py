"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch
from torch.nn import functional as F

from assignments.a10_language_models.answers.bank import BANK
from course_utils import language_models, masks


@BANK.wrong("CausalLanguageModel", told="wrong in train mode with dropout")
class OneMaskForAllSentences(language_models.CausalLanguageModel):
    def forward(self, token_ids):
        T, max_len = token_ids.shape[1], self.position_embedding.num_embeddings
        if T > max_len:
            raise ValueError(f"{T} tokens are more than {max_len}")
        x = self.embedding(token_ids) + self.position_embedding.weight[:T]
        x = x * self.dropout(torch.ones_like(x[:1]))
        for layer in self.layers:
            x = layer(x, masks.causal_mask(T))
        return x @ self.embedding.weight.T


@BANK.right("sample_next")
def sampled_at_a_twentieth_or_more(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """No other temperature than 0 is below that."""
    temperature = max(temperature, 0.05) if temperature > 0 else temperature
    return language_models.sample_next(logits, temperature, top_k, top_p, generator)


@BANK.right("next_token_loss")
def loss_by_log_sum_exp(logits, token_ids, pad_id=0):
    rows, targets = logits[:, :-1], token_ids[:, 1:]
    chosen = rows.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    asked = (targets != pad_id).to(rows.dtype)
    return ((rows.logsumexp(dim=-1) - chosen) * asked).sum() / asked.sum()


@BANK.right("sample_next")
def sampled_by_a_race(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """Who is first: each word waits for a time whose rate is its probability."""
    chances = language_models.next_token_probabilities(logits, temperature, top_k, top_p)
    times = torch.empty_like(chances).exponential_(generator=generator)
    return (chances.detach() / times).argmax(dim=-1)


@BANK.wrong("mask_words", named="only the first ids drawn")
def random_words_among_the_first_hundred(
    token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None
):
    known = min(vocab_size, 100)
    return language_models.mask_words(token_ids, mask_id, known, special_ids, share, generator)


@BANK.wrong("learn_merges")
def fifty_merges_at_most(word_counts, num_merges):
    return language_models.learn_merges(word_counts, min(num_merges, 50))


@BANK.wrong("next_token_loss", named="probabilities kept from zero")
def loss_with_a_billionth(logits, token_ids, pad_id=0):
    chances = logits[:, :-1].softmax(dim=-1) + 1e-9
    return F.nll_loss(chances.log().flatten(0, 1), token_ids[:, 1:].flatten(), ignore_index=pad_id)
