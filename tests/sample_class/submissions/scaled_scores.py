# %% attention_weights
def attention_weights(x):
    return torch.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1)

# %% basic_self_attention
def basic_self_attention(x):
    weights = torch.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1)
    return weights @ x, weights

# %% self_attention
def self_attention(query, key, value):
    scores = torch.bmm(query, key.transpose(1, 2)) / key.size(-1) ** 0.5
    return torch.bmm(scores.softmax(dim=-1), value)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)

