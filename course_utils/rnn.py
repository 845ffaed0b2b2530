"""Translation with recurrent networks: through one fixed vector, or with attention.

Shapes: B batch, S source length, T target length, E embedding width, d_h width of a recurrent
state (one direction), V target vocabulary. Masks are bool, True = may attend.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_utils.attention import BahdanauAttention
from course_utils.evaluation import evaluating


class Source(NamedTuple):
    """What the encoder hands to the decoder."""

    annotations: Float[Tensor, "B S 2*d_h"]  # one vector per word
    summary: Float[Tensor, "B 2*d_h"]  # the states after the last word read in each direction
    mask: Bool[Tensor, "B S"]  # False at padding
    keys: Float[Tensor, "B S attention_dim"] | None  # U h_j, the same for all steps


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
        hidden_dim: d_h.
        attention_dim: width of the network that scores words; None for the model without
            attention.
        pad_id: the id that fills up short sentences, in both languages.

    Source: Cho et al. (2014), section 2.2 (fixed context); Bahdanau et al. (2015), section 3 and
        appendix A.2 (attention), with a plain linear map for its maxout layer.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        embedding_dim: int,
        hidden_dim: int,
        attention_dim: int | None = None,
        pad_id: int = 0,
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

    def forward(
        self, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B T S"] | None]:
        """Score every next word of known translations (teacher forcing).

        At each step the decoder is given the true previous word, whatever it would have written.

        Args:
            src: padded at the end, at least one word per row.
            tgt: already shifted: it begins with the start symbol.

        Returns:
            Logits, of which [:, t] is for the word after tgt[:, t], and weights, None without attention.
        """
        source = self.encode(src)
        embedded = self.tgt_embedding(tgt)  # (B, T, E)
        state = self.start(source)  # (B, d_h)
        features, weights = [], []
        for previous_word in embedded.unbind(dim=1):  # (B, E)
            state, context, step_weights = self._advance(previous_word, state, source)
            features.append(torch.cat([state, context], dim=-1))  # (B, 3d_h)
            weights.append(step_weights)  # (B, S)
        logits = self.generator(torch.stack(features, dim=1))  # (B, T, V)
        return logits, None if self.attention is None else torch.stack(weights, dim=1)

    def encode(self, src: Int[Tensor, "B S"]) -> Source:
        """Read source sentences."""
        mask = src != self.pad_id  # (B, S)
        # Packed, so that the backward direction starts at the last word and not in the padding.
        packed = pack_padded_sequence(
            self.src_embedding(src),  # (B, S, E)
            mask.sum(dim=1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        states, last_states = self.encoder(packed)  # last_states: (2, B, d_h)
        annotations, _ = pad_packed_sequence(states, batch_first=True, total_length=src.shape[1])
        summary = torch.cat([last_states[0], last_states[1]], dim=-1)  # (B, 2d_h)
        keys = None if self.attention is None else self.attention.U(annotations)
        return Source(annotations, summary, mask, keys)

    def start(self, source: Source) -> Float[Tensor, "B d_h"]:
        """The decoder's state before the first word."""
        return torch.tanh(self.initial_state(source.summary))

    def step(
        self, previous_ids: Int[Tensor, "B"], state: Float[Tensor, "B d_h"], source: Source
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B d_h"], Float[Tensor, "B S"] | None]:
        """Score the next word of a translation that is being written.

        Args:
            previous_ids: the word written last.
            state: from `start` or from the step before.
            source: from `encode`.

        Returns:
            Logits, the state for the next step, and weights, None without attention.
        """
        previous_word = self.tgt_embedding(previous_ids)  # (B, E)
        state, context, weights = self._advance(previous_word, state, source)
        return self.generator(torch.cat([state, context], dim=-1)), state, weights

    def _advance(
        self, previous_word: Float[Tensor, "B E"], state: Float[Tensor, "B d_h"], source: Source
    ) -> tuple[Float[Tensor, "B d_h"], Float[Tensor, "B 2*d_h"], Float[Tensor, "B S"] | None]:
        """One step of the decoder: new state, context, and weights or None."""
        context, weights = source.summary, None  # (B, 2d_h)
        if self.attention is not None:
            context, weights = self.attention.attend(
                state, source.annotations, source.keys, source.mask
            )  # (B, 2d_h), (B, S)
        state = self.decoder(torch.cat([previous_word, context], dim=-1), state)  # (B, d_h)
        return state, context, weights


def translate(
    model: Seq2Seq, src: Int[Tensor, "B S"], bos_id: int, eos_id: int, max_len: int
) -> tuple[Int[Tensor, "B L"], Float[Tensor, "B L-1 S"] | None]:
    """Write the most probable next word, again and again (inference).

    y_t = argmax_v p(v | y_0 … y_(t-1), src)

    Here the decoder reads its own words, so that one mistake may lead to the next.

    Args:
        src: padded at the end.
        bos_id: the id in column 0.
        eos_id: the id that ends a sentence; it is kept, and followed by padding.
        max_len: the most columns to write, column 0 included: L ≤ max_len.

    Returns:
        Ids, and weights, row t for the word ids[:, t + 1]; None without attention. Rows after the
        end of a sentence mean nothing.

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
