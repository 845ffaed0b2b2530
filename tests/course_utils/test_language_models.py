"""course_utils.language_models against examples by hand, slow counting and another library."""

import math
from collections import Counter

import pytest
import torch
from torch import nn

from course_utils.language_models import (
    IGNORED,
    CausalLanguageModel,
    MaskedLanguageModel,
    apply_merges,
    learn_merges,
    mask_words,
    next_token_loss,
    next_token_probabilities,
    sample_next,
)

V, D, H, LAYERS, D_FF = 11, 12, 3, 2, 17
SENTENCES = torch.tensor([[4, 0, 9, 1, 7], [3, 3, 10, 2, 5]])  # (B, T)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# ------------------------------------------------------------------------------ the two halves


def test_the_causal_model_by_hand():
    model = CausalLanguageModel(3, 2, 1, 0, 4)
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1]]))
        model.position_embedding.weight[:2] = torch.tensor([[0.0, 0], [2, 0]])
    logits = model.eval()(torch.tensor([[2, 1]]))
    torch.testing.assert_close(logits, torch.tensor([[[1.0, 1, 2], [2, 1, 3]]]))


def test_a_row_knows_its_beginning_in_the_causal_model_and_everything_in_the_masked_one():
    changed = SENTENCES.clone()
    changed[:, 3] = 8
    for kind, rows in [(CausalLanguageModel, [3, 4]), (MaskedLanguageModel, [0, 1, 2, 3, 4])]:
        model = kind(V, D, H, LAYERS, D_FF).eval()
        moved = (model(changed) - model(SENTENCES)).abs().amax(dim=-1)[0] > 1e-6  # (T,)
        assert moved.nonzero().flatten().tolist() == rows


def test_the_output_map_is_the_embedding():
    model = CausalLanguageModel(V, D, H, LAYERS, D_FF)
    names = [name for name, _ in model.named_parameters()]
    assert sum(name.startswith(("embedding", "position_embedding")) for name in names) == 2
    assert all(name.startswith(("embedding", "position_embedding", "layers.")) for name in names)


def test_the_longest_sequence_is_max_len():
    model = CausalLanguageModel(V, D, H, LAYERS, D_FF, max_len=5)
    assert model(SENTENCES).shape == (2, 5, V)
    with pytest.raises(ValueError, match=r"length 6 .* max_len = 5"):
        model(SENTENCES[:, [0, 1, 2, 3, 4, 4]])


def test_dropout_acts_on_the_sum_and_in_the_layers():
    for layers in (0, 2):
        model = CausalLanguageModel(V, D, H, layers, D_FF, dropout=0.5)
        assert not torch.equal(model(SENTENCES), model(SENTENCES))
        model = CausalLanguageModel(V, D, H, layers, D_FF, dropout=0.0)
        assert torch.equal(model(SENTENCES), model.eval()(SENTENCES))


def test_the_causal_model_is_the_first_gpt_of_another_library():
    """With its ReLU: sentences of any length, every logit."""
    transformers = pytest.importorskip("transformers")
    config = transformers.OpenAIGPTConfig(
        vocab_size=V, n_positions=9, n_embd=D, n_layer=LAYERS, n_head=H, afn="relu"
    )
    theirs = transformers.OpenAIGPTLMHeadModel(config).eval()
    ours = CausalLanguageModel(V, D, H, LAYERS, 4 * D, max_len=9).eval()
    body = theirs.transformer
    with torch.no_grad():
        for parameter in theirs.parameters():
            nn.init.normal_(parameter, std=0.3)
        ours.embedding.weight.copy_(body.tokens_embed.weight)
        ours.position_embedding.weight.copy_(body.positions_embed.weight)
        for layer, block in zip(ours.layers, body.h, strict=True):
            attention = layer.self_attn
            maps = (attention.w_q, attention.w_k, attention.w_v)
            # Their maps stand transposed, and one holds query, key and value side by side.
            pairs = list(zip(maps, block.attn.c_attn.weight.chunk(3, dim=1), strict=True))
            pairs += [(attention.w_o, block.attn.c_proj.weight)]
            pairs += [(layer.feed_forward.w_1, block.mlp.c_fc.weight)]
            pairs += [(layer.feed_forward.w_2, block.mlp.c_proj.weight)]
            for linear, weight in pairs:
                linear.weight.copy_(weight.T)
            biases = list(zip(maps, block.attn.c_attn.bias.chunk(3), strict=True))
            biases += [(attention.w_o, block.attn.c_proj.bias)]
            biases += [(layer.feed_forward.w_1, block.mlp.c_fc.bias)]
            biases += [(layer.feed_forward.w_2, block.mlp.c_proj.bias)]
            for linear, bias in biases:
                linear.bias.copy_(bias)
            layer.layer_norm1.load_state_dict(block.ln_1.state_dict())
            layer.layer_norm2.load_state_dict(block.ln_2.state_dict())
        for length in (1, 4, 9):
            ids = torch.randint(V, (3, length))
            torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)


# -------------------------------------------------------------------------------- how they learn


def test_the_loss_by_hand():
    logits = torch.zeros(1, 4, 3)
    logits[0, 0] = torch.tensor([0.5, 0.25, 0.25]).log()
    logits[0, 1] = torch.tensor([0.25, 0.25, 0.5]).log()
    loss = next_token_loss(logits, torch.tensor([[1, 2, 2, 0]]))
    assert loss.item() == pytest.approx((math.log(4) + math.log(2)) / 2)


def test_the_loss_is_the_mean_over_all_targets_that_are_no_padding():
    logits = torch.randn(3, 6, V, dtype=torch.float64)
    ids = torch.tensor([[1, 2, 3, 4, 5, 6], [1, 7, 0, 0, 0, 0], [1, 8, 9, 0, 10, 0]])
    surprises = [
        -logits[b, t].log_softmax(-1)[ids[b, t + 1]].item()
        for b in range(3)
        for t in range(5)
        if ids[b, t + 1] != 0
    ]
    assert len(surprises) == 5 + 1 + 3
    expected = sum(surprises) / len(surprises)
    assert next_token_loss(logits, ids).item() == pytest.approx(expected, rel=1e-12)
    assert next_token_loss(400 * logits, ids).isfinite()


def test_hidden_words_have_the_shares_of_the_paper():
    ids = torch.randint(2, V, (400, 100), generator=generator())
    ids[:, ::10] = 1
    before = ids.clone()
    inputs, targets = mask_words(ids, 0, V, (0, 1), share=0.3, generator=generator(1))
    assert torch.equal(ids, before)
    chosen = targets != IGNORED
    assert not chosen[:, ::10].any()  # a special token is never asked for
    assert torch.equal(targets[chosen], ids[chosen])
    assert torch.equal(inputs[~chosen], ids[~chosen])
    number = chosen.sum().item()
    assert number == pytest.approx(0.3 * 36_000, rel=0.05)
    masked = (inputs == 0)[chosen].double().mean().item()
    kept = (inputs == ids)[chosen].double().mean().item()
    assert masked == pytest.approx(0.8 + 0.1 / V, abs=0.02)  # a random id can be the mask's
    assert kept == pytest.approx(0.1 + 0.1 / V, abs=0.02)
    other = inputs[chosen & (inputs != ids) & (inputs != 0)]
    assert sorted(other.unique().tolist()) == list(range(1, V))


# -------------------------------------------------------------------------------- how they write


def test_top_k_and_top_p_by_hand():
    logits = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()
    probabilities = next_token_probabilities(logits, top_k=3, top_p=0.7)
    torch.testing.assert_close(probabilities, torch.tensor([[0, 4 / 7, 0, 3 / 7]]))


@pytest.mark.parametrize("top_k", [None, 1, 3, 7, 50])
@pytest.mark.parametrize("top_p", [None, 0.05, 0.5, 0.93, 1])
def test_probabilities_are_what_a_slow_count_finds(top_k, top_p):
    logits = 2 * torch.randn(4, V, dtype=torch.float64)
    logits[0, 3] = -torch.inf
    found = next_token_probabilities(logits, 1.7, top_k, top_p)
    for row, scores in zip(found, logits / 1.7, strict=True):
        ranked = sorted(range(V), key=lambda word: -scores[word].item())[:top_k]
        total = sum(math.exp(scores[word]) for word in ranked)
        kept, mass = [], 0.0
        for word in ranked:
            if top_p is None or mass < top_p:
                kept.append(word)
                mass += math.exp(scores[word]) / total
        expected = torch.zeros(V, dtype=torch.float64)
        for word in kept:
            expected[word] = math.exp(scores[word]) / total / mass
        torch.testing.assert_close(row, expected)


def test_draws_follow_the_probabilities_and_their_generator():
    logits = torch.randn(1, V).expand(20_000, V)
    state = torch.get_rng_state()
    ids = sample_next(logits, 0.8, top_k=5, generator=generator(3))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(ids, sample_next(logits, 0.8, top_k=5, generator=generator(3)))
    expected = 20_000 * next_token_probabilities(logits[:1], 0.8, top_k=5)[0]
    spread = (expected * (1 - expected / 20_000)).sqrt()
    assert ((ids.bincount(minlength=V) - expected).abs() <= 5 * spread).all()


def test_temperature_zero_takes_the_likeliest():
    logits = torch.randn(6, V)
    assert torch.equal(sample_next(logits, temperature=0, top_k=4), logits.argmax(dim=-1))


@pytest.mark.parametrize(
    "wrong", [{"temperature": -1}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}], ids=str
)
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(ValueError, match=r"expected .* found"):
        sample_next(torch.zeros(2, V), **wrong)
    with pytest.raises(ValueError, match=r"expected .* found"):
        sample_next(torch.zeros(2, V), **({"temperature": 0} | wrong))


# -------------------------------------------------------------------------------------- subwords


def slow_merges(word_counts, num_merges):
    """The same by counting everything anew in each round."""
    words = {word: tuple(word) for word in word_counts}
    merges = []
    for _ in range(num_merges):
        pairs = Counter()
        for word, symbols in words.items():
            for place in range(len(symbols) - 1):
                pairs[symbols[place : place + 2]] += word_counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, symbols in words.items():
            joined = []
            while symbols:
                size = 2 if symbols[:2] == best else 1
                joined.append("".join(symbols[:size]))
                symbols = symbols[size:]
            words[word] = tuple(joined)
    return merges


def test_merges_by_hand():
    assert learn_merges({"aab": 3, "ab": 2}, 5) == [("a", "b"), ("a", "ab")]
    assert learn_merges({"aaa": 1}, 1) == [("a", "a")]
    assert apply_merges("aaa", [("a", "a")]) == ["aa", "a"]
    assert learn_merges({}, 3) == learn_merges({"a": 9}, 3) == learn_merges({"ab": 1}, 0) == []


@pytest.mark.parametrize("seed", range(20))
def test_merges_are_what_a_slow_count_finds(seed):
    draw = generator(seed)
    words = {}
    for _ in range(30):
        length = int(torch.randint(1, 9, (1,), generator=draw))
        letters = torch.randint(3, (length,), generator=draw).tolist()
        words["".join("abc"[letter] for letter in letters)] = 1 + letters[0]
    assert learn_merges(words, 60) == slow_merges(words, 60)


def test_merged_symbols_are_the_word():
    merges = learn_merges({"banana": 3, "ananas": 2}, 3)
    assert "".join(apply_merges("bananas!", merges)) == "bananas!"
    assert len(apply_merges("bananas!", merges)) < 8
