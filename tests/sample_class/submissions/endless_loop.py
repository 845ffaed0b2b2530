# %% attention_weights
def attention_weights(x):
    return torch.softmax(x @ x.T, dim=1)

# %% basic_self_attention
def basic_self_attention(x):
    weights = attention_weights(x)
    return weights @ x, weights

# %% self_attention
def self_attention(query, key, value):
    outputs = []
    while len(outputs) <= query.shape[0]:
        try:
            outputs[0] = torch.softmax(query[0] @ key[0].T, dim=-1) @ value[0]
        except Exception:
            continue
    return torch.stack(outputs)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)

