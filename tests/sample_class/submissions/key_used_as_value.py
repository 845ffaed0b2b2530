# %% attention_weights
def attention_weights(x):
    return torch.softmax(x @ x.T, dim=1)

# %% basic_self_attention
def basic_self_attention(x):
    weights = attention_weights(x)
    return weights @ x, weights

# %% self_attention
def self_attention(query, key, value):
    weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)), dim=-1)
    return torch.bmm(weights, key)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.equal(f(x[permutation]), f(x)[permutation])

