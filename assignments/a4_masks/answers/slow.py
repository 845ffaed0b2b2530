"""Right answers that are slow: in loops over single numbers, and in products that are not optimised."""

import torch

from assignments.a4_masks.answers.bank import BANK
from autograder.bank.answers import LOOPS, PRODUCTS


@BANK.right("causal_mask", slow=LOOPS)
def causal_number_by_number(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        for j in range(size):
            if j <= i:
                mask[i, j] = True
    return mask


@BANK.right("causal_mask", slow=PRODUCTS)
def causal_by_products_of_three(size):
    places = torch.eye(size)
    return torch.einsum("ik,kl,jl->ij", places, torch.ones(size, size).tril(), places) > 0


@BANK.right("padding_mask", slow=LOOPS)
def padding_number_by_number(token_ids, pad_id=0):
    B, S = token_ids.shape
    mask = torch.zeros(B, 1, 1, S, dtype=torch.bool)
    for b in range(B):
        for j in range(S):
            mask[b, 0, 0, j] = token_ids[b, j] != pad_id
    return mask


@BANK.right("padding_mask", slow=PRODUCTS)
def padding_by_products_of_three(token_ids, pad_id=0):
    words, one = (token_ids != pad_id).float(), torch.ones(1)
    return torch.einsum("bs,h,t->bhts", words, one, one) > 0


@BANK.right("decoder_mask", slow=LOOPS)
def decoder_number_by_number(token_ids, pad_id=0):
    B, T = token_ids.shape
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(T):
                if j <= i and token_ids[b, j] != pad_id:
                    mask[b, 0, i, j] = True
    return mask


@BANK.right("decoder_mask", slow=PRODUCTS)
def decoder_by_products_of_three(token_ids, pad_id=0):
    T = token_ids.shape[1]
    words = (token_ids != pad_id).float()
    past = torch.ones(T, T).tril()
    return torch.einsum("bk,ik,kj,h->bhij", words, past, torch.eye(T), torch.ones(1)) > 0


@BANK.right("shift_right", slow=LOOPS)
def shifted_number_by_number(target_ids, bos_id):
    B, T = target_ids.shape
    shifted = torch.zeros(B, T, dtype=torch.int64)
    for b in range(B):
        for t in range(T):
            shifted[b, t] = bos_id if t == 0 else target_ids[b, t - 1]
    return shifted


@BANK.right("shift_right", slow=PRODUCTS)
def shifted_by_products_of_all_with_all(target_ids, bos_id):
    T = target_ids.shape[1]
    moves = torch.ones(T - 1, dtype=torch.int64).diag(1) if T > 1 else torch.zeros(1, 1).long()
    shifted = (target_ids[:, :, None] * moves).sum(dim=1)  # (B, T, T) before the sum
    shifted[:, 0] = bos_id
    return shifted
