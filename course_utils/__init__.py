"""The code that the lectures build, one module an idea: the reference that answers are compared with.

| module | what it holds | lecture | source |
|---|---|--:|---|
| `rnn` | translation with recurrent networks, with and without attention | 1 | Bahdanau et al. (2015) |
| `attention` | additive, basic, scaled dot-product, multi-head | 1 to 5 | Vaswani et al. (2017), section 3.2 |
| `masks` | causal and padding masks, and targets shifted by one | 4 | Vaswani et al. (2017), section 3.2.3 |
| `positional` | sinusoids, relative biases, ALiBi and rotary positions | 6 | Vaswani et al. (2017), section 3.5 |
| `layers` | layer norm, dropout, feed-forward, encoder and decoder layer | 7, 8 | Vaswani et al. (2017), section 3.1 |
| `transformer` | the whole model, with greedy and beam decoding | 8 | Vaswani et al. (2017) |
| `language_models` | GPT and BERT, sampling, subwords | 9 | Radford et al. (2018), Devlin et al. (2019) |
| `fast_attention` | cache, sliding window, grouped heads, one-pass softmax | 10 | Shazeer (2019), Dao et al. (2022) |
| `modern` | RMSNorm, SwiGLU, rotary positions, and their block | 11 | Touvron et al. (2023) |
| `inside` | induction score, ablation, patching and the logit lens | 12 | Olsson et al. (2022), Meng et al. (2022) |
| `evaluation` | running a model without training it | 4 to 12 | |
| `signoff` | the last cell of an assignment | | |

Types say shapes, in the letters that stand at the top of each module. `Float[Tensor, "... T d_k"]` is a
tensor of float32 or float64 with any leading axes, then T and d_k; `Int` is int64, and `Bool` a mask.
Within a signature a letter is one length, `_` any length, and `{size}` the argument of that name. Nothing
looks at types while you work: `tests/course_utils/test_types.py` holds them to what is computed.

Wherever PyTorch has the same, ours is held to it with equal weights, outputs and gradients alike, in
`tests/course_utils/`. What lectures are furnished with, such as pictures and data, is in `lecture_kit`.
"""
