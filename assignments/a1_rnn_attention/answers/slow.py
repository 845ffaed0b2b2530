"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import torch

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.answers.shared import ThreeMaps
from autograder.bank.answers import LOOPS, PRODUCTS


@BANK.right("annotations", slow=LOOPS)
def joined_number_by_number(forward_states, backward_states):
    B, S, h = forward_states.shape
    sentences = []
    for b in range(B):
        words = []
        for j in range(S):
            numbers = []
            for k in range(h):
                numbers.append(forward_states[b, j, k])
            for k in range(h):
                numbers.append(backward_states[b, S - 1 - j, k])
            words.append(torch.stack(numbers))
        sentences.append(torch.stack(words))
    return torch.stack(sentences)


@BANK.right("annotations", slow=PRODUCTS)
def joined_by_products(forward_states, backward_states):
    _, S, h = forward_states.shape
    turned = torch.eye(S, dtype=backward_states.dtype).flip(0)
    both = torch.eye(2 * h, dtype=backward_states.dtype)
    forward = torch.einsum("bsh,hk->bsk", forward_states, both[:h])
    return forward + torch.einsum("st,bth,hk->bsk", turned, backward_states, both[h:])


@BANK.right("BahdanauAttention", slow=LOOPS)
class NumberByNumber(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        B, S, encoder_dim = annotations.shape
        W, U, v = self.W.weight, self.U.weight, self.v.weight
        contexts, all_weights = [], []
        for b in range(B):
            powers = []
            for j in range(S):
                if mask is not None and not mask[b, j]:
                    powers.append(0 * annotations[b, j, 0])
                    continue
                score = 0.0
                for a in range(W.shape[0]):
                    total = 0.0
                    for d in range(W.shape[1]):
                        total = total + W[a, d] * state[b, d]
                    for e in range(U.shape[1]):
                        total = total + U[a, e] * annotations[b, j, e]
                    score = score + v[0, a] * torch.tanh(total)
                powers.append(torch.exp(score))
            whole = sum(powers)
            weights = [power / whole if whole > 0 else power for power in powers]
            context = []
            for e in range(encoder_dim):
                total = 0.0
                for j in range(S):
                    total = total + weights[j] * annotations[b, j, e]
                context.append(total)
            contexts.append(torch.stack(context))
            all_weights.append(torch.stack(weights))
        return torch.stack(contexts), torch.stack(all_weights)


@BANK.right("BahdanauAttention", slow=PRODUCTS)
class InProductsOfAllWithAll(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        own = (state[:, None] * self.W.weight).sum(-1)  # (B, A, D) before the sum
        words = (annotations[:, :, None] * self.U.weight).sum(-1)  # (B, S, A, E) before the sum
        scores = (self.v.weight * torch.tanh(own[:, None] + words)).sum(-1)
        weights = self.softmax(scores, mask)
        eye = torch.eye(annotations.shape[-1]).to(weights)
        return torch.einsum("bs,bse,ef->bf", weights, annotations, eye), weights
