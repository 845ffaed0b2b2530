"""course_utils.rnn against the equations, one sentence and one word at a time."""

import pytest
import torch
from torch import nn

from course_utils.attention import annotations
from course_utils.rnn import Seq2Seq, translate

# Distinct sizes, so that a swapped axis cannot pass unnoticed.
B, S, T, E, HIDDEN, ATTENTION = 3, 7, 5, 6, 4, 8
SRC_VOCAB, TGT_VOCAB = 13, 11
PAD, BOS, EOS = 0, 1, 2
SRC = torch.tensor([[3, 4, 5, 6, 7, 8, 2], [12, 3, 2, 0, 0, 0, 0], [9, 10, 11, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 3, 4, 5, 6], [1, 7, 8, 0, 0], [1, 9, 0, 0, 0]])

BOTH = pytest.mark.parametrize("attention_dim", [None, ATTENTION], ids=["plain", "attention"])
DTYPES = pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=["float32", "float64"]
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def small_model(attention_dim, dtype=torch.float32):
    return Seq2Seq(SRC_VOCAB, TGT_VOCAB, E, HIDDEN, attention_dim).to(dtype)


def lively_model(attention_dim, seed):
    """A model whose translations differ in words and length."""
    torch.manual_seed(seed)
    model = small_model(attention_dim, torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return model


def assert_close(actual, expected, tolerance=1e-6):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def one_way_gru(model, suffix):
    """One direction of the encoder, as a GRU of its own."""
    gru = nn.GRU(E, HIDDEN, batch_first=True).to(model.generator.weight.dtype)
    for name, parameter in gru.named_parameters():
        parameter.data = getattr(model.encoder, name + suffix).data
    return gru


def logits_by_the_equations(model, sentence, words):
    """One sentence without padding, its translation word by word."""
    embedded = model.src_embedding(sentence).unsqueeze(0)
    forward_states, last_forward = one_way_gru(model, "")(embedded)
    backward_states, last_backward = one_way_gru(model, "_reverse")(embedded.flip(1))
    states = annotations(forward_states, backward_states)
    context = torch.cat([last_forward[0], last_backward[0]], dim=-1)
    state = torch.tanh(model.initial_state(context))
    logits, weights = [], []
    for word in words:
        if model.attention is not None:
            context, row = model.attention(state, states)
            weights.append(row[0])
        previous = model.tgt_embedding(word).unsqueeze(0)
        state = model.decoder(torch.cat([previous, context], dim=1), state)
        logits.append(model.generator(torch.cat([state, context], dim=1))[0])
    return torch.stack(logits), weights


@BOTH
@DTYPES
def test_teacher_forcing_equals_the_equations_for_each_sentence(attention_dim, dtype, tolerance):
    model = small_model(attention_dim, dtype)
    logits, weights = model(SRC, TGT)
    assert logits.dtype == dtype
    assert logits.shape == (B, T, TGT_VOCAB)
    for b in range(B):
        length = int((SRC[b] != PAD).sum())
        expected, rows = logits_by_the_equations(model, SRC[b, :length], TGT[b])
        assert_close(logits[b], expected, tolerance)
        if attention_dim is not None:
            assert weights.shape == (B, T, S)
            assert_close(weights[b, :, :length], torch.stack(rows), tolerance)
            assert not weights[b, :, length:].any()
    if attention_dim is None:
        assert weights is None


@BOTH
def test_gradients_equal_those_of_the_equations(attention_dim):
    model = small_model(attention_dim, torch.float64)
    direction = torch.randn(B, T, TGT_VOCAB, dtype=torch.float64)
    decoder_side = [p for name, p in model.named_parameters() if not name.startswith("encoder.")]
    found = torch.autograd.grad((model(SRC, TGT)[0] * direction).sum(), decoder_side)
    total = 0
    for b in range(B):
        sentence = SRC[b, SRC[b] != PAD]
        total = total + (logits_by_the_equations(model, sentence, TGT[b])[0] * direction[b]).sum()
    wanted = torch.autograd.grad(total, decoder_side)
    assert_close(found, wanted, 1e-10)


@BOTH
def test_every_parameter_gets_a_finite_gradient(attention_dim):
    model = small_model(attention_dim)
    model(SRC, TGT)[0].square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_without_attention_the_decoder_is_one_gru_with_a_constant_input():
    model = small_model(None)
    source = model.encode(SRC)
    gru = nn.GRU(E + 2 * HIDDEN, HIDDEN, batch_first=True)
    for name, parameter in model.decoder.named_parameters():
        getattr(gru, f"{name}_l0").data = parameter.data
    context = source.summary.unsqueeze(1).expand(-1, T, -1)
    inputs = torch.cat([model.tgt_embedding(TGT), context], dim=-1)
    states, _ = gru(inputs, model.start(source).unsqueeze(0))
    expected = model.generator(torch.cat([states, context], dim=-1))
    assert_close(model(SRC, TGT)[0], expected, 1e-5)


def test_the_summary_is_the_last_state_of_each_direction():
    source = small_model(None).encode(SRC)
    lengths = (SRC != PAD).sum(dim=1)
    for b in range(B):
        assert_close(source.summary[b, :HIDDEN], source.annotations[b, lengths[b] - 1, :HIDDEN])
        assert_close(source.summary[b, HIDDEN:], source.annotations[b, 0, HIDDEN:])
        assert not source.annotations[b, lengths[b] :].any()
    assert torch.equal(source.mask, SRC != PAD)
    assert source.keys is None


@BOTH
def test_steps_equal_teacher_forcing(attention_dim):
    model = small_model(attention_dim)
    expected, expected_weights = model(SRC, TGT)
    source = model.encode(SRC)
    state = model.start(source)
    for t in range(T):
        logits, state, weights = model.step(TGT[:, t], state, source)
        assert_close(logits, expected[:, t])
        if attention_dim is not None:
            assert_close(weights, expected_weights[:, t])


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_translations_are_what_teacher_forcing_on_them_predicts(attention_dim, seed):
    model = lively_model(attention_dim, seed)
    ids, weights = translate(model, SRC, BOS, EOS, max_len=9)
    assert ids.dtype == torch.int64
    assert ids.shape[1] <= 9
    assert (ids[:, 0] == BOS).all()
    logits, expected_weights = model(SRC, ids[:, :-1])
    for b, row in enumerate(ids.tolist()):
        end = row.index(EOS) if EOS in row else len(row) - 1
        assert logits[b, :end].argmax(dim=-1).tolist() == row[1 : end + 1]
        assert set(row[end + 1 :]) <= {PAD}
        if attention_dim is not None:
            assert_close(weights[b, :end], expected_weights[b, :end])
    ended = (ids == EOS).any(dim=1)
    assert ids.shape[1] == 9 or ended.all()


def test_models_used_above_write_sentences_of_different_lengths():
    lengths = set()
    for attention_dim in (None, ATTENTION):
        for seed in range(5):
            ids, _ = translate(lively_model(attention_dim, seed), SRC, BOS, EOS, 9)
            lengths |= set((ids != PAD).sum(dim=1).tolist())
    assert len(lengths) >= 3


@BOTH
def test_translating_leaves_the_mode_and_the_source_as_they_were(attention_dim):
    model, src = small_model(attention_dim), SRC.clone()
    model.encoder.eval()
    translate(model, src, BOS, EOS, 6)
    assert model.training
    assert not model.encoder.training
    assert torch.equal(src, SRC)


@BOTH
def test_a_translation_can_be_nothing_but_its_beginning(attention_dim):
    ids, weights = translate(small_model(attention_dim), SRC, BOS, EOS, max_len=1)
    assert ids.tolist() == [[BOS]] * B
    if attention_dim is not None:
        assert weights.shape == (B, 0, S)
    with pytest.raises(ValueError, match="at least 1, but it is 0"):
        translate(small_model(attention_dim), SRC, BOS, EOS, max_len=0)
