"""Right answers to `BahdanauAttention`."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.answers.shared import ThreeMaps


@BANK.right("BahdanauAttention")
class InMatrices(ThreeMaps):
    pass


@BANK.right("BahdanauAttention")
class InEinsum(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        words = torch.einsum("bse,ae->bsa", annotations, self.U.weight)
        hidden = torch.tanh(torch.einsum("bd,ad->ba", state, self.W.weight).unsqueeze(1) + words)
        weights = self.softmax(torch.einsum("bsa,a->bs", hidden, self.v.weight[0]), mask)
        return torch.einsum("bs,bse->be", weights, annotations), weights


@BANK.right("BahdanauAttention")
class InLoops(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        batch, length, width = annotations.shape
        contexts, all_weights = [], []
        for b in range(batch):
            visible = [j for j in range(length) if mask is None or mask[b, j]]
            scores = {
                j: self.v(torch.tanh(self.W(state[b]) + self.U(annotations[b, j])))[0]
                for j in visible
            }
            total = sum(torch.exp(score) for score in scores.values())
            zero = annotations.new_zeros(())
            weights = [torch.exp(scores[j]) / total if j in scores else zero for j in range(length)]
            context = annotations.new_zeros(width)
            for j in visible:
                context = context + weights[j] * annotations[b, j]
            contexts.append(context)
            all_weights.append(torch.stack(weights))
        # a sum of parts, so that a batch without a visible word still has a gradient, of zero
        nothing = 0 * self.scores(state, annotations)
        return torch.stack(contexts) + nothing[:, :1], torch.stack(all_weights) + nothing


@BANK.right("BahdanauAttention")
class WithItsOwnSoftmax(ThreeMaps):
    def softmax(self, scores, mask):
        exponentials = torch.exp(scores)
        if mask is not None:
            exponentials = exponentials * mask
        total = exponentials.sum(dim=1, keepdim=True)
        return exponentials / torch.where(total == 0, 1, total)


@BANK.right("BahdanauAttention")
class WithOneColumn(ThreeMaps):
    """Scores and weights stay (B, S, 1) until the end."""

    def forward(self, state, annotations, mask=None):
        scores = self.v((self.W(state).unsqueeze(1) + self.U(annotations)).tanh())  # (B, S, 1)
        if mask is None:
            mask = torch.ones(annotations.shape[:2], dtype=torch.bool)
        hidden = ~mask.unsqueeze(-1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=1).masked_fill(hidden, 0.0)
        context = torch.bmm(weights.transpose(1, 2), annotations)  # (B, 1, encoder_dim)
        return context.squeeze(1), weights.squeeze(2)


@BANK.right("BahdanauAttention")
class WithAWholeRowOfStates(ThreeMaps):
    def scores(self, state, annotations):
        states = state.unsqueeze(1).expand(-1, annotations.size(1), -1)  # (B, S, decoder_dim)
        both = torch.cat([self.W.weight, self.U.weight], dim=1)
        joined = torch.cat([states, annotations], dim=-1)
        return F.linear(torch.tanh(F.linear(joined, both)), self.v.weight).squeeze(-1)


@BANK.right("BahdanauAttention")
class WithALargeNumberAndAProduct(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return torch.softmax(scores, -1)
        return torch.softmax(torch.where(mask, scores, -1e9), -1) * mask


@BANK.right("BahdanauAttention")
class WithNanToNum(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        return torch.nan_to_num(scores.softmax(dim=-1))


@BANK.right("BahdanauAttention")
class WithNormalisedRest(ThreeMaps):
    """Hidden words lose their share after the softmax, and the rest is divided by its sum."""

    def softmax(self, scores, mask):
        weights = scores.softmax(dim=-1)
        if mask is None:
            return weights
        weights = weights * mask
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)


@BANK.right("BahdanauAttention")
class WithMoreArguments(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim, dropout=0.0):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("calls", torch.zeros(1))
        for layer in (self.W, self.U, self.v):
            nn.init.xavier_uniform_(layer.weight)

    def softmax(self, scores, mask):
        return self.dropout(super().softmax(scores, mask))


@BANK.right("BahdanauAttention")
class WithColumnsOfWords(ThreeMaps):
    """Words stand in columns, and the results come in a list."""

    def forward(self, state, annotations, mask=None):
        columns = annotations.permute(0, 2, 1)  # (B, encoder_dim, S)
        hidden = torch.tanh(self.W(state).unsqueeze(2) + self.U.weight @ columns)
        weights = self.softmax((self.v.weight @ hidden).squeeze(1), mask)
        return [(columns @ weights.unsqueeze(2)).squeeze(2), weights]


@BANK.right("BahdanauAttention")
class SentenceBySentence(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        results = []
        for b, words in enumerate(annotations):
            scores = self.v(torch.tanh(self.W(state[b]) + self.U(words))).squeeze(-1)  # (S,)
            weights = self.softmax(scores[None], None if mask is None else mask[b : b + 1])[0]
            results.append((weights @ words, weights))
        contexts, weights = zip(*results, strict=True)
        return torch.stack(contexts), torch.stack(weights)


@BANK.right("BahdanauAttention")
class WithSegments(ThreeMaps):
    """Only visible scores exist, in one row for the whole batch."""

    def softmax(self, scores, mask):
        if mask is None:
            mask = torch.full_like(scores, True, dtype=torch.bool)
        sentence = mask.nonzero()[:, 0]
        shares = scores[mask].exp()
        sums = scores.new_zeros(len(scores)).index_add(0, sentence, shares)
        return torch.zeros_like(scores).masked_scatter(mask, shares / sums[sentence])


@BANK.right("BahdanauAttention")
class WithAnEmptyPlace(ThreeMaps):
    """One more place, which takes all the weight where nothing is visible."""

    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        place = torch.where(mask.any(dim=-1, keepdim=True), -torch.inf, 0.0).to(scores.dtype)
        scores = scores.masked_fill(~mask, -torch.inf)
        return torch.cat([scores, place], dim=-1).softmax(dim=-1)[:, :-1]


@BANK.right("BahdanauAttention")
class WithVmap(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        if mask is None:
            mask = torch.ones(annotations.shape[:2], dtype=torch.bool)

        def one_sentence(state, words, visible):
            hidden = torch.tanh(self.W.weight @ state + words @ self.U.weight.T)  # (S, A)
            scores = torch.where(visible, hidden @ self.v.weight[0], -1e30)
            weights = scores.softmax(dim=0) * visible
            return weights @ words, weights

        return torch.vmap(one_sentence)(state, annotations, mask)


@BANK.right("BahdanauAttention")
class ScoresAsABias(ThreeMaps):
    """The context by PyTorch's own attention, to which the scores are added as a mask."""

    def forward(self, state, annotations, mask=None):
        weights = super().forward(state, annotations, mask)[1]
        scores = self.scores(state, annotations)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e30)
        nothing = torch.zeros_like(annotations)
        context = F.scaled_dot_product_attention(
            nothing[:, :1], nothing, annotations, attn_mask=scores.unsqueeze(1)
        ).squeeze(1)
        return (context if mask is None else context * mask.any(dim=-1, keepdim=True)), weights


@BANK.right("BahdanauAttention")
class InBaddbmm(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        hidden = torch.tanh(self.U(annotations).add(self.W(state).unsqueeze(-2)))
        scores = self.v(hidden).transpose(1, 2)  # (B, 1, S)
        if mask is not None:
            scores = torch.where(mask[:, None], scores, torch.full_like(scores, -torch.inf))
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = torch.where(mask[:, None], weights, torch.zeros_like(weights))
        context = weights @ annotations
        return context[:, 0], weights[:, 0]


@BANK.right("BahdanauAttention")
class WithRepeatAndConcatenation(ThreeMaps):
    """W and U side by side are one map of state and annotation side by side."""

    def scores(self, state, annotations):
        repeated = state.unsqueeze(1).repeat(1, annotations.size(1), 1)
        both = torch.cat([repeated, annotations], dim=2)
        joined = torch.cat([self.W.weight, self.U.weight], dim=1)
        return F.linear(torch.tanh(F.linear(both, joined)), self.v.weight).flatten(1)


@BANK.right("BahdanauAttention")
class WithScoresFilledInAList(ThreeMaps):
    def scores(self, state, annotations):
        query = self.W(state)
        columns = [
            self.v((query + self.U(annotations[:, j])).tanh()) for j in range(annotations.shape[1])
        ]
        return torch.cat(columns, dim=1)

    def context(self, weights, annotations):
        return torch.stack([w @ words for w, words in zip(weights, annotations, strict=True)])


@BANK.right("BahdanauAttention")
class WithExpAndMaskedSum(ThreeMaps):
    def softmax(self, scores, mask):
        powers = torch.exp(scores)
        if mask is not None:
            powers = powers * mask
        total = powers.sum(dim=1, keepdim=True)
        return powers / torch.where(total == 0, torch.ones_like(total), total)


@BANK.right("BahdanauAttention")
class WithBiasSetToFalseLater(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        nn.Module.__init__(self)
        self.v = nn.Linear(attention_dim, 1, bias=False)
        self.U = nn.Linear(in_features=encoder_dim, out_features=attention_dim, bias=False)
        self.W = nn.Linear(in_features=decoder_dim, out_features=attention_dim, bias=False)
        self.attention_dim = attention_dim


def _scored(v: torch.Tensor, state: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.tanh(state.unsqueeze(1) + keys).matmul(v.t()).squeeze(-1)


@BANK.right("BahdanauAttention")
class WithItsScoreInAFunction(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        scores = _scored(self.v.weight, self.W(state), self.U(annotations))
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=1)
        if mask is not None:
            weights = weights * mask
        return torch.einsum("bs,bse->be", weights, annotations), weights


@BANK.right("BahdanauAttention")
class WithItsScoreInAModule(nn.Module):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        sizes = {"W": (decoder_dim, attention_dim), "U": (encoder_dim, attention_dim)}
        for name, (inputs, outputs) in {**sizes, "v": (attention_dim, 1)}.items():
            setattr(self, name, nn.Linear(inputs, outputs, bias=False))
        self.score = nn.Sequential(nn.Tanh(), self.v, nn.Flatten(start_dim=-2))

    def forward(self, state, annotations, mask=None):
        scores = self.score(self.W(state).unsqueeze(1) + self.U(annotations))
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        open_rows = mask | ~mask.any(dim=1, keepdim=True)
        weights = scores.masked_fill(~open_rows, -torch.inf).softmax(dim=1) * mask
        return torch.matmul(weights.unsqueeze(1), annotations).squeeze(1), weights
