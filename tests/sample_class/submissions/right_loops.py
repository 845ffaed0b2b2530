# %% attention_weights
def attention_weights(x):
    rows = []
    for x_i in x:
        scores = torch.stack([torch.dot(x_i, x_j) for x_j in x])
        exponentials = torch.exp(scores)
        rows.append(exponentials / exponentials.sum())
    return torch.stack(rows)

# %% basic_self_attention
def basic_self_attention(x):
    weights = attention_weights(x)
    z = torch.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            z[i] = z[i] + weights[i, j] * x[j]
    return z, weights

# %% self_attention
def self_attention(query, key, value):
    outputs = []
    for q, k, v in zip(query, key, value):
        scores = torch.stack([torch.stack([q_i.dot(k_j) for k_j in k]) for q_i in q])
        outputs.append(scores.softmax(1) @ v)
    print("shapes", query.shape, key.shape, value.shape)
    return torch.stack(outputs)

# %% is_permutation_equivariant
def is_permutation_equivariant(f, x, permutation):
    left, right = f(x[permutation]), f(x)
    for i, p in enumerate(permutation.tolist()):
        if not torch.allclose(left[i], right[p], rtol=1e-4, atol=1e-5):
            return False
    return True

