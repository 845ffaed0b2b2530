"""lecture_kit.experiments.block_variants: its ends are the blocks of the course, and pairs are pairs."""

import pytest
import torch
from torch import nn

from course_utils.layers import TransformerLayer
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel
from course_utils.positional import positional_encoding
from lecture_kit import data
from lecture_kit.experiments.block_variants import (
    D_FF,
    D_MODEL,
    HEADS,
    LAYERS,
    WINDOW,
    Variant,
    VariantModel,
    english_text,
    held_out_loss,
    train,
)

V, B, T = 30, 2, 9
OF_2023 = Variant(rms_norm=True, feed_forward="swiglu", rotary=True, biases=False, scaled=False)
NAMES = {0: "w_q", 1: "w_k", 2: "w_v", 3: "w_o"}


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def randomise(model):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model.eval()


def test_all_changes_together_are_the_block_of_2023():
    model = randomise(VariantModel(V, OF_2023))
    theirs = ModernLanguageModel(V, D_MODEL, HEADS, LAYERS, 2 * D_FF // 3)
    theirs.embedding.load_state_dict(model.embedding.state_dict())
    theirs.norm.load_state_dict(model.norm.state_dict())
    for block, layer in zip(theirs.layers, model.layers, strict=True):
        for number, name in NAMES.items():
            getattr(block, name).load_state_dict(layer.maps[number].state_dict())
        for name in ("norm1", "norm2"):
            getattr(block, name).load_state_dict(getattr(layer, name).state_dict())
        for name in ("gate", "up", "down"):
            ours = getattr(layer.feed_forward, name)
            getattr(block.feed_forward, f"w_{name}").load_state_dict(ours.state_dict())
    ids = torch.randint(V, (B, T))
    torch.testing.assert_close(model(ids), theirs(ids))


def test_without_a_change_it_is_lecture_7s_layer_with_the_norm_first():
    model = randomise(VariantModel(V, Variant()))
    ids = torch.randint(V, (B, T))
    x = model.embedding(ids) * D_MODEL**0.5 + positional_encoding(T, D_MODEL)
    for layer in model.layers:
        theirs = TransformerLayer(D_MODEL, HEADS, D_FF, dropout=0.0, norm_first=True)
        for number, name in NAMES.items():
            getattr(theirs.self_attn, name).load_state_dict(layer.maps[number].state_dict())
        theirs.layer_norm1.load_state_dict(layer.norm1.state_dict())
        theirs.layer_norm2.load_state_dict(layer.norm2.state_dict())
        theirs.feed_forward.w_1.load_state_dict(layer.feed_forward.up.state_dict())
        theirs.feed_forward.w_2.load_state_dict(layer.feed_forward.down.state_dict())
        x = theirs(x, causal_mask(T))
    torch.testing.assert_close(model(ids), model.norm(x) @ model.embedding.weight.T)


def test_all_variants_have_about_as_many_weights():
    variants = [Variant(), OF_2023, Variant(feed_forward="gelu"), Variant(feed_forward="bilinear")]
    sizes = [
        sum(p.numel() for p in VariantModel(179, variant).parameters()) for variant in variants
    ]
    assert max(sizes) < 1.03 * min(sizes)


def test_an_unknown_network_is_refused():
    with pytest.raises(
        ValueError, match="one of relu, gelu, swiglu, bilinear as feed_forward, found 'tanh'"
    ):
        VariantModel(V, Variant(feed_forward="tanh"))


def test_the_text_to_test_with_is_new():
    vocabulary, text, test = english_text()
    assert 75_000 < len(text) < 90_000 and 15_000 < len(test) < 25_000

    def sentences(ids):
        return set(" ".join(vocabulary.words[k] for k in ids).split("<eos>"))

    seen, new = sentences(text.tolist()), sentences(test.tolist())
    long = [sentence for sentence in new if len(sentence.split()) > 8]
    assert sum(sentence in seen for sentence in long) < 0.02 * len(long)
    assert data.UNK_ID not in test


def test_the_same_seed_gives_the_same_model_and_training_helps():
    untrained = held_out_loss(train(Variant(), seed=3, steps=0))
    ten = train(Variant(), seed=3, steps=40)
    again = train(Variant(), seed=3, steps=40)
    assert all(map(torch.equal, ten.state_dict().values(), again.state_dict().values()))
    assert held_out_loss(ten) < untrained - 0.5


def test_the_rate_is_the_peak_of_the_schedule(monkeypatch):
    rates, step = [], torch.optim.AdamW.step

    def noted(optimizer):
        rates.append(optimizer.param_groups[0]["lr"])
        return step(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", noted)
    train(Variant(), seed=0, steps=40, rate=0.02)
    assert rates[29] == max(rates) == pytest.approx(0.02)
    assert rates[0] == pytest.approx(0.02 / 30) and rates[-1] == pytest.approx(0.02 / 10)


def test_the_loss_is_the_mean_surprise_at_new_words():
    model = train(Variant(rotary=True), seed=0, steps=5)
    _, _, text = english_text()
    rows = (len(text) - 1) // WINDOW
    with torch.no_grad():
        surprises = [
            -model(text[k * WINDOW : (k + 1) * WINDOW].unsqueeze(0))[0]
            .log_softmax(dim=-1)
            .gather(1, text[k * WINDOW + 1 : (k + 1) * WINDOW + 1].unsqueeze(1))
            .mean()
            for k in range(rows)
        ]
    assert held_out_loss(model) == pytest.approx(torch.stack(surprises).mean().item(), abs=1e-4)
