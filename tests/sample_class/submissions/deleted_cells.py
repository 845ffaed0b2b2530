# %% attention_weights
def attention_weights(x):
    return torch.softmax(x @ x.T, dim=1)

# %% basic_self_attention
def basic_self_attention(x):
    weights = attention_weights(x)
    return weights @ x, weights

# %% self_attention
def self_attention(query, key, value):
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)
    return weights @ value

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)

