"""Language models: a transformer's two halves alone, how they learn, how they write, and subwords.

Shapes: B batch, T length, V vocabulary, D = d_model. Masks are bool, True = may attend.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_utils.layers import TransformerLayer
from course_utils.masks import causal_mask

IGNORED = -100
"""The target of a place that nothing is asked about; `F.cross_entropy` leaves it out."""


# ------------------------------------------------------------------------------ the two halves


class MaskedLanguageModel(nn.Module):
    """The encoder alone: every word sees all words, and hidden ones are to be filled in.

    h_0 = dropout(E[u] + P[0 … T - 1]),  h_l = layer_l(h_(l - 1)),  logits = h_N Eᵀ

    The layers are post-LN. The output map is the embedding itself, without bias.

    Args:
        vocab_size: V, the number of words.
        d_model, num_heads, num_layers, d_ff: D, heads, layers, inner width.
        dropout: probability of a zero after positions are added and in every layer, in training.
        max_len: the longest sequence, in tokens; each place has a learned vector.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Devlin et al. (2019), section 3.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        dropout: float = 0.1,
        max_len: int = 128,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        # With this spread the logits, products of D entries each, begin with a size of about 1.
        for table in (self.embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=d_model**-0.5)

    def forward(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Score every word of the vocabulary at every place: logits, without softmax.

        Raises:
            ValueError: the sequence is longer than max_len.
        """
        length, max_len = token_ids.shape[1], self.position_embedding.num_embeddings
        if length > max_len:
            raise ValueError(
                f"a sequence of length {length} is longer than max_len = {max_len}; shorten it, "
                "or build the model with a larger max_len"
            )
        positions = torch.arange(length, device=token_ids.device)
        x = self.dropout(
            self.embedding(token_ids) + self.position_embedding(positions)
        )  # (B, T, D)
        mask = self._mask(length, token_ids.device)
        for layer in self.layers:
            x = layer(x, mask)  # (B, T, D)
        return x @ self.embedding.weight.T  # (B, T, V)

    def _mask(self, length: int, device: torch.device) -> Bool[Tensor, "T T"] | None:
        return None


class CausalLanguageModel(MaskedLanguageModel):
    """The decoder alone: a word sees itself and the words before it, and says the next one.

    It differs from the encoder alone by the causal mask in every layer. Row t of the logits is for
    word t + 1. Every id is a word, 0 too: nothing is hidden but the future. (Padding at the end of
    a row is out of sight of all words before it, and the loss leaves it out.)

    Source: Radford et al. (2018), section 3.1, eq. 2, and section 4.1.
    """

    def _mask(self, length: int, device: torch.device) -> Bool[Tensor, "T T"]:
        return causal_mask(length, device)


# -------------------------------------------------------------------------------- how they learn


def next_token_loss(
    logits: Float[Tensor, "B T V"], token_ids: Int[Tensor, "B T"], pad_id: int = 0
) -> Float[Tensor, ""]:
    """How surprised a causal language model is by the next token, on average, in nats.

    loss = mean of -ln p(u_(t + 1) | u_0, …, u_t) over all targets of the batch that are no padding

    Its exp is the perplexity.

    Args:
        logits: row t is for token t + 1, and the last row is not used.
        token_ids: with T ≥ 2.
        pad_id: the id of padding, which is never asked for.

    Source: Radford et al. (2018), section 3.1, eq. 1, as a mean.
    """
    rows, targets = logits[:, :-1].flatten(0, 1), token_ids[:, 1:].flatten()
    return F.cross_entropy(rows, targets, ignore_index=pad_id)


def mask_words(
    token_ids: Int[Tensor, "B T"],
    mask_id: int,
    vocab_size: int,
    special_ids: tuple[int, ...],
    share: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Choose words that a masked language model has to fill in, and hide most of them.

    Each word is chosen by itself, with probability `share`. Of the chosen ones 80 % become
    `mask_id`, 10 % a random id and 10 % stay, again each by itself.

    Args:
        mask_id: the id that hides a word.
        vocab_size: V; random ids are drawn from 0 … V - 1.
        special_ids: ids that are never chosen, such as padding.
        share: probability that a word is chosen.
        generator: None is torch's own.

    Returns:
        inputs: what the model reads, in new memory.
        targets: the original id where a word was chosen, `IGNORED` elsewhere.

    Source: Devlin et al. (2019), section 3.1 and appendix A.1.
    """

    def draw():
        return torch.rand(token_ids.shape, generator=generator, device=token_ids.device)

    special = torch.isin(token_ids, torch.tensor(special_ids, device=token_ids.device))
    chosen = (draw() < share) & ~special
    targets = token_ids.masked_fill(~chosen, IGNORED)
    fate = draw()
    random_ids = torch.randint(
        vocab_size, token_ids.shape, generator=generator, device=token_ids.device
    )
    inputs = token_ids.masked_fill(chosen & (fate < 0.8), mask_id)
    return torch.where(chosen & (fate >= 0.9), random_ids, inputs), targets


# -------------------------------------------------------------------------------- how they write


def next_token_probabilities(
    logits: Float[Tensor, "B V"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "B V"]:
    """What a next word is drawn from, after temperature, top-k and top-p, in this order.

    Args:
        logits: -∞ is never drawn.
        temperature: what logits are divided by; 0 leaves the likeliest word alone.
        top_k: how many of the likeliest words stay; None is all.
        top_p: of what is left, renormalised, the smallest set of likeliest words whose
            probabilities sum to this or more stays, so at least one; None is all.

    Raises:
        ValueError: temperature < 0, top_k < 1, or top_p outside (0, 1].

    Source: Fan et al. (2018), section 5.3, for top-k; Holtzman et al. (2020), section 3, for top-p.
    """
    if temperature < 0:
        raise ValueError(f"expected a temperature of 0 or more, found {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"expected a top_k of 1 or more, or None, found {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"expected a top_p above 0 and up to 1, or None, found {top_p}")

    if temperature == 0:
        likeliest = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
        return torch.zeros_like(logits).scatter(-1, likeliest, 1.0)
    logits = logits / temperature
    if top_k is not None:
        kept = logits.topk(min(top_k, logits.shape[-1]), dim=-1).indices  # (B, k)
        cut = torch.ones_like(logits, dtype=torch.bool).scatter(-1, kept, False)
        logits = logits.masked_fill(cut, -torch.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        falling, order = probabilities.sort(dim=-1, descending=True)
        likelier = falling.cumsum(dim=-1) - falling  # the probability of all likelier words
        cut = torch.zeros_like(probabilities, dtype=torch.bool).scatter(
            -1, order, likelier >= top_p
        )
        probabilities = probabilities.masked_fill(cut, 0.0)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return probabilities


@torch.no_grad()
def sample_next(
    logits: Float[Tensor, "B V"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "B"]:
    """Draw the next word of every row.

    Args:
        logits, temperature, top_k, top_p: as for `next_token_probabilities`, which also says what is raised.
        generator: None is torch's own.
    """
    probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)


# -------------------------------------------------------------------------------------- subwords


def learn_merges(word_counts: dict[str, int], num_merges: int) -> list[tuple[str, str]]:
    """Byte-pair encoding: which neighbouring symbols to join, the most frequent pair first.

    Every word begins as its letters. In each round the pair that stands next to each other most
    often, in all words and as often as these occur, becomes one symbol.

    Args:
        word_counts: how often each word occurs.
        num_merges: how many rounds at most; there are fewer when no pair is left.

    Returns:
        Pairs (left, right) in the order in which they were merged. Of several pairs that are
        equally frequent the smallest comes first.

    Source: Sennrich et al. (2016), section 3.2, algorithm 1, without the end-of-word symbol.
    """
    words = [list(word) for word in word_counts]
    occurs = list(word_counts.values())
    frequency, places = Counter(), defaultdict(set)  # of each pair: how often, and in which words

    def count(number, sign):
        for pair in pairwise(words[number]):
            frequency[pair] += sign * occurs[number]
            places[pair].add(number)

    for number in range(len(words)):
        count(number, 1)
    merges = []
    while len(merges) < num_merges and (most := max(frequency.values(), default=0)):
        best = min(pair for pair, number in frequency.items() if number == most)
        merges.append(best)
        for number in places.pop(best):
            count(number, -1)
            words[number] = _joined(words[number], best)
            count(number, 1)
    return merges


def apply_merges(word: str, merges: Iterable[tuple[str, str]]) -> list[str]:
    """Cut a word into the symbols of byte-pair encoding, whose concatenation is the word.

    The merges, from `learn_merges`, are applied one after the other, in their order. Letters that no
    merge knows stay letters.
    """
    symbols = list(word)
    for pair in merges:
        symbols = _joined(symbols, pair)
    return symbols


def _joined(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Join a pair wherever it stands, from left to right and without overlap."""
    joined, place = [], 0
    while place < len(symbols):
        if tuple(symbols[place : place + 2]) == pair:
            joined.append(pair[0] + pair[1])
            place += 2
        else:
            joined.append(symbols[place])
            place += 1
    return joined
