"""Wrong answers to assignment 2 that public projects really gave, written anew."""

import torch

from assignments.a2_self_attention.answers.bank import BANK


@BANK.wrong(
    "attention_weights",
    named="softmax over the columns",
    published="nerdai/llms-from-scratch-rs#30",
)
def weights_over_the_first_axis(x):
    """The softmax runs over the first axis of the scores."""
    return torch.softmax(x @ x.T, 0)


@BANK.wrong(
    "basic_self_attention",
    named="softmax over the columns",
    published="nerminnuraydogan/vision-transformer#1",
)
def context_with_the_softmax_along_the_queries(x):
    """The softmax runs along the words that ask, not along those that are looked at."""
    weights = torch.mm(x, x.t()).softmax(dim=0)
    return torch.mm(weights, x), weights
