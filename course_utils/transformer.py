"""The transformer for translation, and ways to let it write a sentence.

Shapes: B batch, S source length, T target length, D = d_model, H heads, d_k = d_model / H,
W beam width, V target vocabulary. Masks are bool, True = may attend.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor, nn

from course_utils.evaluation import evaluating
from course_utils.layers import DecoderLayer, TransformerLayer
from course_utils.masks import decoder_mask, padding_mask
from course_utils.positional import PositionalEncoding

Heads = Float[Tensor, "B H _ d_k"]
Cache = list[tuple[Sequence[Heads] | None, tuple[Heads, Heads]]]  # keys and values: past, memory


class Transformer(nn.Module):
    """Encoder and decoder, post-LN, with sinusoidal positions.

    memory = Encoder(√D · E_src[src] + PE),  logits = W Decoder(√D · E_tgt[tgt] + PE, memory) + b

    Args:
        src_vocab, tgt_vocab: numbers of words in the two languages.
        d_model, num_heads, num_layers, d_ff: D, H, layers on each side, inner width.
        dropout: probability of a zero after positions are added and in every layer, in training.
        max_len: the longest sequence, in tokens, on either side.
        pad_id: the id that fills up short sentences, in both languages.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al. (2017), section 3 and figure 1.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        dropout: float = 0.1,
        max_len: int = 128,
        pad_id: int = 0,
    ):
        super().__init__()
        self.d_model = d_model
        self.pad_id = pad_id
        self.src_embedding = nn.Embedding(src_vocab, d_model)
        self.tgt_embedding = nn.Embedding(tgt_vocab, d_model)
        self.positional_encoding = PositionalEncoding(d_model, dropout, max_len)
        self.encoder_layers = nn.ModuleList(
            TransformerLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.decoder_layers = nn.ModuleList(
            DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.generator = nn.Linear(d_model, tgt_vocab)

        # With this spread, embeddings × √D vary about as much as the positions added to them.
        for embedding in (self.src_embedding, self.tgt_embedding):
            nn.init.normal_(embedding.weight, std=d_model**-0.5)

    def forward(self, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Score every next word of known translations (teacher forcing).

        Args:
            src: padded at the end.
            tgt: already shifted: it begins with the start symbol.

        Returns:
            Logits: [:, t] is for the word after tgt[:, t]. No softmax: `nn.CrossEntropyLoss` takes logits.

        Raises:
            ValueError: a sequence is longer than max_len, or ids lack one of the two axes.
        """
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Read source sentences: ids → memory. Raises as `forward`."""
        mask = padding_mask(src, self.pad_id)  # (B, 1, 1, S)
        x = self._embed(self.src_embedding, src)  # (B, S, D)
        for layer in self.encoder_layers:
            x = layer(x, mask)  # (B, S, D)
        return x

    def decode(
        self, tgt: Int[Tensor, "B T"], memory: Float[Tensor, "B S D"], src: Int[Tensor, "B S"]
    ) -> Float[Tensor, "B T V"]:
        """Score the word after each position of the target: logits. Raises as `forward`.

        Args:
            tgt: already shifted.
            memory: `encode(src)`.
            src: needed to hide the source's padding.
        """
        self_mask = decoder_mask(tgt, self.pad_id)  # (B, 1, T, T)
        memory_mask = padding_mask(src, self.pad_id)  # (B, 1, 1, S)
        x = self._embed(self.tgt_embedding, tgt)  # (B, T, D)
        for layer in self.decoder_layers:
            x = layer(x, memory, self_mask, memory_mask)  # (B, T, D)
        return self.generator(x)  # (B, T, V)

    def start_cache(self, memory: Float[Tensor, "B S D"]) -> Cache:
        """What `step` keeps: for each decoder layer, its past (none yet) and its memory heads."""
        return [
            (None, layer.cross_attn.project_memory(memory, memory)) for layer in self.decoder_layers
        ]

    def step(
        self, tgt: Int[Tensor, "B t"], cache: Cache, src: Int[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B V"], Cache]:
        """`decode` for the last position alone; `cache` holds what the others left behind.

        Args:
            tgt: all ids so far; only the last column is new.
            cache: from `start_cache`, or from the step before.
            src: needed to hide the source's padding.

        Returns:
            Logits, which are `decode(tgt, memory, src)[:, -1]`, and the cache for the next step.
        """
        self_mask = padding_mask(tgt, self.pad_id)  # (B, 1, 1, t)
        memory_mask = padding_mask(src, self.pad_id)  # (B, 1, 1, S)
        position = tgt.shape[1] - 1
        x = self._embed(self.tgt_embedding, tgt[:, position:], position)  # (B, 1, D)
        next_cache = []
        for layer, (past, memory_heads) in zip(self.decoder_layers, cache, strict=True):
            x, past = layer.step(x, past, memory_heads, self_mask, memory_mask)  # (B, 1, D)
            next_cache.append((past, memory_heads))
        return self.generator(x[:, 0]), next_cache  # (B, V)

    def _embed(
        self, embedding: nn.Module, ids: Int[Tensor, "B T"], start: int = 0
    ) -> Float[Tensor, "B T D"]:
        return self.positional_encoding(embedding(ids) * math.sqrt(self.d_model), start)


# ------------------------------------------------------------------------------ decoding


def greedy_decode(
    model: Any, src: Int[Tensor, "B S"], bos_id: int, eos_id: int, max_len: int
) -> Int[Tensor, "B L"]:
    """Write the most probable next word, again and again.

    y_t = argmax_v p(v | y_0 … y_(t-1), src)

    Args:
        model: a `Transformer`, or anything with `encode`, `decode` and `pad_id` like it.
        bos_id: the id in column 0.
        eos_id: the id that ends a sentence; it is kept, and followed by padding.
        max_len: the most columns to write, column 0 included.

    Returns:
        Ids, L ≤ max_len: as long as the longest translation.

    Raises:
        ValueError: max_len is below 1; or a translation grows longer than the model can encode.
            A max_len beyond that is no error by itself: it is raised only when writing gets that
            far, and not where all translations end before.

    Source: Vaswani et al. (2017), section 3 ("auto-regressive").
    """
    with evaluating(model):
        memory = model.encode(src)  # (B, S, D)
        ids, finished = _start(src, bos_id, max_len)  # (B, 1), (B,)
        while ids.shape[1] < max_len and not finished.all():
            logits = model.decode(ids, memory, src)[:, -1]  # (B, V)
            ids, finished = _append(ids, logits, finished, eos_id, model.pad_id)
    return ids


def greedy_decode_cached(
    model: Transformer, src: Int[Tensor, "B S"], bos_id: int, eos_id: int, max_len: int
) -> Int[Tensor, "B L"]:
    """`greedy_decode`, but keys and values of earlier words are kept instead of computed again.

    Each step costs one position instead of t of them, and gives the same words. Args, returns and
    raises: as `greedy_decode`.

    Source: Shazeer (2019), section 2.4 (incremental decoding).
    """
    with evaluating(model):
        cache = model.start_cache(model.encode(src))
        ids, finished = _start(src, bos_id, max_len)  # (B, 1), (B,)
        while ids.shape[1] < max_len and not finished.all():
            logits, cache = model.step(ids, cache, src)  # (B, V)
            ids, finished = _append(ids, logits, finished, eos_id, model.pad_id)
    return ids


def _start(
    src: Int[Tensor, "B S"], bos_id: int, max_len: int
) -> tuple[Int[Tensor, "B 1"], Bool[Tensor, "B"]]:
    """One column of start symbols, and False: no row has ended yet."""
    if max_len < 1:
        raise ValueError(f"max_len counts the start symbol and is at least 1, but it is {max_len}")
    batch = src.shape[0]
    return src.new_full((batch, 1), bos_id), src.new_zeros(batch, dtype=torch.bool)


def _append(
    ids: Int[Tensor, "B t"],
    logits: Float[Tensor, "B V"],
    finished: Bool[Tensor, "B"],
    eos_id: int,
    pad_id: int,
) -> tuple[Int[Tensor, "B t+1"], Bool[Tensor, "B"]]:
    """Add the best word to each row that goes on, padding to those that have ended."""
    next_ids = logits.argmax(dim=-1).masked_fill(finished, pad_id)  # (B,)
    ids = torch.cat([ids, next_ids.unsqueeze(1)], dim=1)  # (B, t + 1)
    return ids, finished | (next_ids == eos_id)


def length_penalty(
    length: float | Num[Tensor, "..."], alpha: float
) -> float | Float[Tensor, "..."]:
    """What a sentence's log probability is divided by, so that long ones stand a chance.

    lp = ((5 + length) / 6)^α

    Args:
        length: number of words written, the end symbol included, the start symbol not: one number
            or a tensor of them.
        alpha: 0 compares plain log probabilities, which favours short sentences; 1 nearly
            compares averages per word.

    Source: Wu et al. (2016), section 7, eq. 14, without its coverage penalty.
    """
    return ((5 + length) / 6) ** alpha


def beam_search(
    model: Any,
    src: Int[Tensor, "B S"],
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_width: int = 4,
    alpha: float = 0.6,
) -> tuple[Int[Tensor, "B W L"], Float[Tensor, "B W"]]:
    """Keep the `beam_width` best beginnings of a translation instead of the single best.

    score(y) = log p(y | src) / lp(y), see `length_penalty`

    At each step every beginning in the beam is continued by every word; finished ones stay as
    they are; the W best by score, finished or not, form the next beam. The search ends when all
    of them have finished, or at max_len, where unfinished ones are returned as they are.

    Args:
        model, src, bos_id, eos_id, max_len: as for `greedy_decode`.
        beam_width: W ≥ 1. With W = 1 this is `greedy_decode`.
        alpha: exponent of the length penalty.

    Returns:
        ids: best first, each row like one of `greedy_decode`.
        scores: -inf marks a row that is no translation, where there are fewer than W of them.

    Raises:
        ValueError: beam_width or max_len is below 1; or a beginning in the beam grows longer than
            the model can encode, which is raised only when writing gets that far.

    Source: Sutskever et al. (2014), section 3.2 (beam search); Wu et al. (2016), section 7, eq. 14
        (score).
    """
    if beam_width < 1:
        raise ValueError(f"beam_width must be at least 1, but it is {beam_width}")
    batch = src.shape[0]
    with evaluating(model):
        memory = model.encode(src).repeat_interleave(beam_width, dim=0)  # (B·W, S, D)
        src = src.repeat_interleave(beam_width, dim=0)  # (B·W, S)
        ids, finished = _start(src, bos_id, max_len)  # (B·W, 1), (B·W,)
        ids, finished = ids.view(batch, beam_width, 1), finished.view(batch, beam_width)
        # All rows of a beam are alike at first: only row 0 may be continued.
        log_p = memory.new_full((batch, beam_width), -math.inf)  # (B, W)
        log_p[:, 0] = 0.0
        lengths = torch.zeros_like(log_p)  # (B, W)

        while ids.shape[2] < max_len and not finished.all():
            logits = model.decode(ids.flatten(0, 1), memory, src)[:, -1]  # (B·W, V)
            word_log_p = logits.log_softmax(dim=-1).unflatten(0, (batch, beam_width))  # (B, W, V)
            vocabulary = word_log_p.shape[-1]

            # A finished sentence has one continuation, padding, which costs nothing.
            word_log_p[finished] = -math.inf
            word_log_p[..., model.pad_id].masked_fill_(finished, 0.0)
            lengths = lengths + ~finished  # (B, W)

            candidates = log_p.unsqueeze(-1) + word_log_p  # (B, W, V)
            penalties = length_penalty(lengths, alpha).unsqueeze(-1)  # (B, W, 1)
            best = (candidates / penalties).flatten(1).topk(beam_width).indices  # (B, W)
            log_p = candidates.flatten(1).gather(1, best)  # (B, W)
            parents, words = best // vocabulary, best % vocabulary  # (B, W), (B, W)

            ids = ids.take_along_dim(parents.unsqueeze(-1), dim=1)  # (B, W, t)
            ids = torch.cat([ids, words.unsqueeze(-1)], dim=2)  # (B, W, t + 1)
            lengths = lengths.gather(1, parents)
            finished = finished.gather(1, parents) | (words == eos_id)
    return ids, log_p / length_penalty(lengths, alpha)


# ------------------------------------------------------------------------------ looking inside


def attention_maps(
    model: Transformer, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]
) -> dict[str, list[Float[Tensor, "B H _ _"]]]:
    """Which word each head of each layer looks at, for known translations.

    Dropout is off while the model is looked at; tgt is already shifted.

    Returns:
        Lists with one tensor per layer: "encoder" (B, H, S, S), "decoder" (B, H, T, T) and
        "cross" (B, H, T, S).
    """
    modules = {
        "encoder": [layer.self_attn for layer in model.encoder_layers],
        "decoder": [layer.self_attn for layer in model.decoder_layers],
        "cross": [layer.cross_attn for layer in model.decoder_layers],
    }
    weights = {}

    def remember(module, arguments, result):
        weights[module] = result[1]

    hooks = [m.register_forward_hook(remember) for kind in modules.values() for m in kind]
    try:
        with evaluating(model):
            model(src, tgt)
    finally:
        for hook in hooks:
            hook.remove()
    return {kind: [weights[module] for module in group] for kind, group in modules.items()}
