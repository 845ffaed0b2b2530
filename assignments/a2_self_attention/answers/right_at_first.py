"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a2_self_attention.answers.bank import BANK
from course_utils import attention


@BANK.wrong("attention_weights")
def weights_of_a_hundred_words(x):
    return attention.attention_weights(x[:100])


@BANK.wrong("basic_self_attention")
def context_of_a_hundred_words(x):
    return attention.basic_self_attention(x[:100])


@BANK.wrong("self_attention", told="too short or too long")
def batch_of_ten(query, key, value):
    return attention.self_attention(query[:10], key[:10], value[:10])


@BANK.wrong("self_attention")
def batch_with_a_hundred_keys(query, key, value):
    return attention.self_attention(query, key[:, :100], value[:, :100])


@BANK.wrong("is_permutation_equivariant", told="True where False is right")
def asked_about_a_hundred_rows(f, x, permutation):
    one, other = f(x[permutation])[:100], f(x)[permutation][:100]
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5)
