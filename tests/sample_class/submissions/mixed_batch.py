# %% attention_weights
def attention_weights(x):
    exponentials = (x @ x.T).exp()
    return exponentials / exponentials.sum(dim=1)

# %% basic_self_attention
def basic_self_attention(x):
    scores = x @ x.T
    weights = torch.softmax(scores, dim=-1)
    for i in range(len(x)):
        x[i] = weights[i] @ x
    return x, weights

# %% self_attention
def self_attention(query, key, value):
    q = query.reshape(-1, query.shape[-1])
    k = key.reshape(-1, key.shape[-1])
    v = value.reshape(-1, value.shape[-1])
    weights = torch.softmax(q @ k.T, dim=-1)
    return (weights @ v).reshape(query.shape[0], query.shape[1], -1)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    return torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5).all()

