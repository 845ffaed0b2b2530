# %% attention_weights
import warnings


def softmax(scores, axis=-1):
    shifted = scores - scores.max(dim=axis, keepdim=True).values
    return shifted.exp() / shifted.exp().sum(dim=axis, keepdim=True)


def attention_weights(x, axis=-1):
    warnings.warn("my own softmax", stacklevel=2)
    return softmax(torch.einsum("id,jd->ij", x, x), axis)

# %% basic_self_attention
def basic_self_attention(x):
    weights = attention_weights(x)
    return [torch.einsum("ij,jd->id", weights, x), weights]

# %% self_attention
def self_attention(query, key, value, scale=1.0):
    scores = scale * torch.einsum("btd,bsd->bts", query, key)
    return torch.einsum("bts,bsv->btv", softmax(scores), value)

# %% is_permutation_equivariant
import numpy as np


def is_permutation_equivariant(f, x, permutation):
    after, before = f(x[permutation]).numpy(), f(x).numpy()[permutation.numpy()]
    return bool(np.all(np.abs(after - before) <= 1e-5 + 1e-4 * np.abs(before)))

