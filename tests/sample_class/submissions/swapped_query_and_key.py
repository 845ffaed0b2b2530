# %% attention_weights
def attention_weights(x):
    return torch.softmax(x @ x.T, dim=1)

# %% basic_self_attention
def basic_self_attention(x):
    weights = attention_weights(x)
    return weights, weights @ x

# %% self_attention
def self_attention(query, key, value):
    weights = torch.softmax(torch.bmm(key, query.transpose(1, 2)), dim=-1)
    return torch.bmm(weights, value)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.allclose(f(x), f(x[permutation]), rtol=1e-4, atol=1e-5)

