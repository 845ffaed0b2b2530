# %% attention_weights
def attention_weights(x):
    return torch.softmax(x @ x.T, dim=1)

# %% basic_self_attention
def basic_self_attention(x):
    weights = torch.softmax(x @ x.T, dim=1).detach()
    return weights @ x, weights

# %% self_attention
def self_attention(query, key, value):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.allclose(f(x[permutation])[permutation], f(x), rtol=1e-4, atol=1e-5)

