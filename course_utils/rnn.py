"""Translation with recurrent networks: through one fixed vector, or with attention.

Shapes: B batch, S source length, T target length, E embedding width, h width of a recurrent
state (one direction), V target vocabulary. Masks are bool, True = may attend.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_utils.attention import BahdanauAttention
from course_utils.evaluation import evaluating


class Source(NamedTuple):
    """What the encoder hands to the decoder."""

    annotations: torch.Tensor  # (B, S, 2d_h): one vector per word
    summary: torch.Tensor  # (B, 2d_h): the states after the last word read in each direction
    mask: torch.Tensor  # (B, S): False at padding
    keys: torch.Tensor | None  # (B, S, attention_dim): U h_j, the same for all steps


class Seq2Seq(nn.Module):
    """A bidirectional GRU reads the source, a second GRU writes the translation.

    h_j = [→h_j ; ←h_j]                       encoder
    s_t = GRU([E[y_(t-1)] ; c_t], s_(t-1))    decoder, with s_0 = tanh(W_s [→h_S ; ←h_1])
    logits_t = W [s_t ; c_t] + b

    Without attention, the context c_t is the summary [→h_S ; ←h_1] at every step: all that the
    decoder learns about the sentence passes through this one vector. With attention, c_t is a
    weighted average of the annotations h_j, and the weights are chosen anew at every step.

    Args:
        src_vocab, tgt_vocab: numbers of words in the two languages.
        embedding_dim: E, width of a word's embedding.
        hidden_dim: h.
        attention_dim: width of the network that scores words; None for the model without
            attention.
        pad_id: the id that fills up short sentences, in both languages.

    Source: Cho et al. (2014), section 2.2 (fixed context); Bahdanau et al. (2015), section 3 and
        appendix A.2 (attention), with a plain linear map for its maxout layer.
    """

    def __init__(
        self, src_vocab, tgt_vocab, embedding_dim, hidden_dim, attention_dim=None, pad_id=0
    ):
        super().__init__()
        self.pad_id = pad_id
        self.src_embedding = nn.Embedding(src_vocab, embedding_dim)
        self.tgt_embedding = nn.Embedding(tgt_vocab, embedding_dim)
        self.encoder = nn.GRU(embedding_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.initial_state = nn.Linear(2 * hidden_dim, hidden_dim)
        self.attention = None
        if attention_dim is not None:
            self.attention = BahdanauAttention(hidden_dim, 2 * hidden_dim, attention_dim)
        self.decoder = nn.GRUCell(embedding_dim + 2 * hidden_dim, hidden_dim)
        self.generator = nn.Linear(3 * hidden_dim, tgt_vocab)

    def forward(self, src, tgt):
        """Score every next word of known translations (teacher forcing).

        At each step the decoder is given the true previous word, whatever it would have written.

        Args:
            src: (B, S) int64 tensor, padded at the end, at least one word per row.
            tgt: (B, T) int64 tensor, already shifted: it begins with the start symbol.

        Returns:
            logits: (B, T, V) tensor; [:, t] is for the word after tgt[:, t].
            weights: (B, T, S) tensor, or None without attention.
        """
        source = self.encode(src)
        embedded = self.tgt_embedding(tgt)  # (B, T, E)
        state = self.start(source)  # (B, d_h)
        features, weights = [], []
        for previous_word in embedded.unbind(dim=1):  # (B, E)
            state, context, step_weights = self._advance(previous_word, state, source)
            features.append(torch.cat([state, context], dim=-1))  # (B, 3h)
            weights.append(step_weights)  # (B, S)
        logits = self.generator(torch.stack(features, dim=1))  # (B, T, V)
        return logits, None if self.attention is None else torch.stack(weights, dim=1)

    def encode(self, src):
        """Read source sentences: (B, S) int64 ids → `Source`."""
        mask = src != self.pad_id  # (B, S)
        # Packed, so that the backward direction starts at the last word and not in the padding.
        packed = pack_padded_sequence(
            self.src_embedding(src),  # (B, S, E)
            mask.sum(dim=1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        states, last_states = self.encoder(packed)  # last_states: (2, B, h)
        annotations, _ = pad_packed_sequence(states, batch_first=True, total_length=src.shape[1])
        summary = torch.cat([last_states[0], last_states[1]], dim=-1)  # (B, 2d_h)
        keys = None if self.attention is None else self.attention.U(annotations)
        return Source(annotations, summary, mask, keys)

    def start(self, source):
        """The decoder's state before the first word: `Source` → (B, d_h)."""
        return torch.tanh(self.initial_state(source.summary))

    def step(self, previous_ids, state, source):
        """Score the next word of a translation that is being written.

        Args:
            previous_ids: (B,) int64 tensor, the word written last.
            state: (B, d_h) tensor, from `start` or from the step before.
            source: from `encode`.

        Returns:
            logits: (B, V) tensor.
            state: (B, d_h) tensor for the next step.
            weights: (B, S) tensor, or None without attention.
        """
        previous_word = self.tgt_embedding(previous_ids)  # (B, E)
        state, context, weights = self._advance(previous_word, state, source)
        return self.generator(torch.cat([state, context], dim=-1)), state, weights

    def _advance(self, previous_word, state, source):
        """One step of the decoder: new state (B, d_h), context (B, 2d_h), weights (B, S) or None."""
        context, weights = source.summary, None  # (B, 2d_h)
        if self.attention is not None:
            context, weights = self.attention.attend(
                state, source.annotations, source.keys, source.mask
            )  # (B, 2d_h), (B, S)
        state = self.decoder(torch.cat([previous_word, context], dim=-1), state)  # (B, d_h)
        return state, context, weights


def translate(model, src, bos_id, eos_id, max_len):
    """Write the most probable next word, again and again (inference).

    y_t = argmax_v p(v | y_0 … y_(t-1), src)

    Here the decoder reads its own words, so that one mistake may lead to the next.

    Args:
        model: a `Seq2Seq`.
        src: (B, S) int64 tensor, padded at the end.
        bos_id: the id in column 0.
        eos_id: the id that ends a sentence; it is kept, and followed by padding.
        max_len: the most columns to write, column 0 included.

    Returns:
        ids: (B, L) int64 tensor, L ≤ max_len.
        weights: (B, L - 1, S) tensor, row t for the word ids[:, t + 1]; None without attention.
            Rows after the end of a sentence mean nothing.

    Raises:
        ValueError: max_len is below 1.

    Source: Bahdanau et al. (2015), section 3.1, eq. 4.
    """
    if max_len < 1:
        raise ValueError(f"max_len counts the start symbol and is at least 1, but it is {max_len}")
    with evaluating(model):
        source = model.encode(src)
        state = model.start(source)  # (B, d_h)
        ids = [src.new_full((len(src),), bos_id)]  # (B,) each
        weights = [source.annotations.new_zeros(len(src), 0, src.shape[1])]  # (B, 0, S)
        finished = torch.zeros_like(ids[0], dtype=torch.bool)  # (B,)
        while len(ids) < max_len and not finished.all():
            logits, state, step_weights = model.step(ids[-1], state, source)
            next_ids = logits.argmax(dim=-1).masked_fill(finished, model.pad_id)  # (B,)
            ids.append(next_ids)
            if step_weights is not None:
                weights.append(step_weights.unsqueeze(1))  # (B, 1, S)
            finished = finished | (next_ids == eos_id)
    return torch.stack(ids, dim=1), None if model.attention is None else torch.cat(weights, dim=1)
