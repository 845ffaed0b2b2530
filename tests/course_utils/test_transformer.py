"""course_utils.transformer against nn.Transformer, and its decoding against slower decoding."""

import itertools
import math

import pytest
import torch
from torch import nn

from course_utils import transformer
from course_utils.positional import positional_encoding
from course_utils.transformer import Transformer, beam_search, greedy_decode, greedy_decode_cached

# Distinct sizes, so that a swapped axis cannot pass unnoticed.
B, S, T, D, H, D_FF, LAYERS = 3, 7, 5, 12, 2, 17, 2
SRC_VOCAB, TGT_VOCAB = 13, 11
PAD, BOS, EOS = 0, 1, 2
SRC = torch.tensor([[3, 4, 5, 6, 7, 8, 2], [9, 10, 11, 2, 0, 0, 0], [12, 3, 2, 0, 0, 0, 0]])
TGT = torch.tensor([[1, 3, 4, 5, 6], [1, 7, 8, 0, 0], [1, 9, 0, 0, 0]])

DTYPES = pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=["float32", "float64"]
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def small_model(**options):
    settings = {"dropout": 0.0, "max_len": 19} | options
    return Transformer(SRC_VOCAB, TGT_VOCAB, D, H, LAYERS, D_FF, **settings)


def lively_model(seed):
    """A model whose greedy translations differ in words and length: the end is likely."""
    torch.manual_seed(seed)
    model = small_model().double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
        model.generator.weight.mul_(3)
        model.generator.bias[EOS] += 2
    return model


def assert_close(actual, expected, tolerance=1e-6):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


# --------------------------------------------------------------------------------- the model


def pytorch_twin(model):
    """nn.Transformer without final norms, with the weights of ours.

    The mapping of names is written out: a wrong one makes `load_state_dict` fail.
    """
    options = {"dropout": 0.0, "batch_first": True}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, H, D_FF, **options), LAYERS, enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, H, D_FF, **options), LAYERS)
    twin = nn.Transformer(D, H, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    twin = twin.to(model.generator.weight.dtype)
    twin.load_state_dict(as_pytorch_names(dict(model.named_parameters())))
    return twin


def as_pytorch_names(values):
    """Tensors by our parameters' names → the same tensors by the names of nn.Transformer."""
    renamed = {}
    for side, cross in (("encoder", None), ("decoder", "cross_attn")):
        for i in range(LAYERS):
            ours, theirs = f"{side}_layers.{i}", f"{side}.layers.{i}"
            for our_part, their_part in (("self_attn", "self_attn"), (cross, "multihead_attn")):
                if our_part is None:
                    continue
                for kind in ("weight", "bias"):
                    packed = [values[f"{ours}.{our_part}.w_{letter}.{kind}"] for letter in "qkv"]
                    renamed[f"{theirs}.{their_part}.in_proj_{kind}"] = torch.cat(packed)
                    output = values[f"{ours}.{our_part}.w_o.{kind}"]
                    renamed[f"{theirs}.{their_part}.out_proj.{kind}"] = output
            for kind, n in itertools.product(("weight", "bias"), (1, 2, 3)):
                if n < 3:
                    value = values[f"{ours}.feed_forward.w_{n}.{kind}"]
                    renamed[f"{theirs}.linear{n}.{kind}"] = value
                if n < 3 or cross:
                    renamed[f"{theirs}.norm{n}.{kind}"] = values[f"{ours}.layer_norm{n}.{kind}"]
    return renamed


@DTYPES
def test_the_model_equals_pytorchs(dtype, tolerance):
    model = small_model().to(dtype)
    for name, parameter in model.named_parameters():
        if "layer_norm" in name or name.endswith("bias"):
            nn.init.normal_(parameter, mean=float("norm" in name), std=0.2)
    twin = pytorch_twin(model)
    assert len(list(model.parameters())) == LAYERS * (16 + 26) + 4

    def embed(table, ids):
        positions = positional_encoding(ids.shape[1], D).to(dtype)
        return math.sqrt(D) * nn.functional.embedding(ids, table) + positions

    tables = [
        embedding.weight.detach().clone().requires_grad_()
        for embedding in (model.src_embedding, model.tgt_embedding)
    ]
    expected = model.generator(
        twin(
            embed(tables[0], SRC),
            embed(tables[1], TGT),
            tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),  # here True = hide
            src_key_padding_mask=SRC == PAD,
            tgt_key_padding_mask=TGT == PAD,
            memory_key_padding_mask=SRC == PAD,
        )
    )
    logits = model(SRC, TGT)
    assert logits.dtype == dtype
    assert logits.shape == (B, T, TGT_VOCAB)
    real = TGT != PAD
    assert_close(logits[real], expected[real], tolerance)

    direction = torch.randn(B, T, TGT_VOCAB, dtype=dtype) * real.unsqueeze(-1)
    (expected * direction).sum().backward()
    wanted = {name: parameter.grad for name, parameter in twin.named_parameters()}
    model.zero_grad()
    (logits * direction).sum().backward()
    found = as_pytorch_names({name: p.grad for name, p in model.named_parameters()})
    assert found.keys() == wanted.keys()
    assert_close(found, wanted, 100 * tolerance)
    embeddings = (model.src_embedding.weight.grad, model.tgt_embedding.weight.grad)
    assert_close(embeddings, (tables[0].grad, tables[1].grad), 100 * tolerance)


def test_the_model_names_its_parts():
    model = small_model(pad_id=5)
    parts = ["src_embedding", "tgt_embedding", "positional_encoding", "encoder_layers"]
    parts += ["decoder_layers", "generator"]
    assert [name for name, _ in model.named_children()] == parts
    assert len(model.encoder_layers) == len(model.decoder_layers) == LAYERS
    assert model.generator.weight.shape == (TGT_VOCAB, D)
    assert model.generator.bias is not None
    assert model.pad_id == 5


def test_forward_is_decode_after_encode():
    model = small_model()
    memory = model.encode(SRC)
    assert memory.shape == (B, S, D)
    assert_close(model.decode(TGT, memory, SRC), model(SRC, TGT), 0)


def test_no_position_sees_what_follows():
    model = small_model().eval()
    changed = TGT.clone()
    changed[:, 3] = 10
    difference = (model(SRC, changed) - model(SRC, TGT)).abs().amax(dim=-1)
    assert not difference[:, :3].any()
    assert difference[0, 3:].min() > 1e-4


def test_padding_changes_nothing():
    model = small_model().eval()
    logits = model(SRC, TGT)
    for b in range(B):
        src, tgt = SRC[b : b + 1, SRC[b] != PAD], TGT[b : b + 1, TGT[b] != PAD]
        assert_close(model(src, tgt)[0], logits[b, : tgt.shape[1]], 1e-5)


def test_embeddings_start_about_as_large_as_positions():
    model = Transformer(1009, 997, 64, 4, 1, 32)
    for embedding in (model.src_embedding, model.tgt_embedding):
        assert 0.95 < (embedding.weight * 8).std() < 1.05


def test_dropout_acts_in_training_only():
    model = small_model(dropout=0.3)
    assert not torch.equal(model(SRC, TGT), model(SRC, TGT))
    model.eval()
    assert torch.equal(model(SRC, TGT), model(SRC, TGT))


def test_sequences_beyond_max_len_are_refused():
    model = small_model(max_len=6)
    with pytest.raises(ValueError, match="length 7 is longer than max_len = 6"):
        model.encode(SRC)
    with pytest.raises(ValueError, match="length 7 is longer than max_len = 6"):
        model(SRC[:, :6], torch.ones(B, 7, dtype=torch.int64))


def test_every_parameter_gets_a_finite_gradient_also_from_an_empty_sentence():
    model = small_model()
    src = SRC.clone()
    src[1] = PAD
    model(src, TGT).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_all_that_the_model_makes_lies_on_the_device_of_its_input():
    """The meta device computes shapes only, but refuses tensors of another device."""
    logits = small_model().to("meta")(SRC.to("meta"), TGT.to("meta"))
    assert logits.device.type == "meta"
    assert logits.shape == (B, T, TGT_VOCAB)


def test_inputs_stay_as_they_were():
    src, tgt = SRC.clone(), TGT.clone()
    model = small_model()
    model(src, tgt)
    greedy_decode(model, src, BOS, EOS, 6)
    greedy_decode_cached(model, src, BOS, EOS, 6)
    beam_search(model, src, BOS, EOS, 6)
    assert torch.equal(src, SRC)
    assert torch.equal(tgt, TGT)


# ------------------------------------------------------------------------------ greedy decoding


class Scripted(nn.Module):
    """A model that writes given sentences, whatever it reads, and notes how it was called."""

    def __init__(self, sentences, pad_id=PAD):
        super().__init__()
        self.sentences, self.pad_id = sentences, pad_id
        self.modes, self.written = [], []

    def encode(self, src):
        return torch.zeros(*src.shape, 4)

    def decode(self, tgt, memory, src):
        self.modes.append((self.training, torch.is_grad_enabled()))
        self.written.append(tgt)
        t = tgt.shape[1]
        words = [sentence[min(t, len(sentence)) - 1] for sentence in self.sentences]
        wrong_places = torch.zeros(len(tgt), t - 1, 9)
        return torch.cat([wrong_places, nn.functional.one_hot(torch.tensor(words), 9)[:, None]], 1)


def test_greedy_decoding_ends_each_row_with_eos_and_fills_it_with_padding():
    model = Scripted([[5, 6, EOS, 8], [EOS, 7, 7, 7], [5, 6, 7, EOS]])
    ids = greedy_decode(model, SRC, BOS, EOS, max_len=10)
    assert ids.dtype == torch.int64
    assert ids.tolist() == [[BOS, 5, 6, EOS, PAD], [BOS, EOS, 0, 0, 0], [BOS, 5, 6, 7, EOS]]
    assert model.modes == [(False, False)] * 4
    assert [tgt.shape for tgt in model.written] == [(B, t) for t in (1, 2, 3, 4)]


def test_greedy_decoding_uses_the_models_own_pad_id():
    model = Scripted([[5, 6], [EOS, 7]], pad_id=4)
    assert greedy_decode(model, SRC[:2], BOS, EOS, 3).tolist() == [[BOS, 5, 6], [BOS, EOS, 4]]


@pytest.mark.parametrize("max_len", [1, 2, 4])
def test_greedy_decoding_stops_at_max_len(max_len):
    model = Scripted([[5, 6, 7, 8, 5, 6]] * B)
    ids = greedy_decode(model, SRC, BOS, EOS, max_len)
    assert ids.tolist() == [[BOS, 5, 6, 7][:max_len]] * B


@pytest.mark.parametrize("decode", [greedy_decode, greedy_decode_cached, beam_search])
def test_decoding_leaves_every_mode_as_it_was(decode):
    model = small_model(dropout=0.5).train()
    model.encoder_layers[0].eval()
    before = [module.training for module in model.modules()]
    first = decode(model, SRC, BOS, EOS, 8)
    second = decode(model, SRC, BOS, EOS, 8)
    assert [module.training for module in model.modules()] == before
    assert_close(first, second, 0)


@pytest.mark.parametrize("decode", [greedy_decode, greedy_decode_cached, beam_search])
def test_decoding_refuses_lengths_that_cannot_be(decode):
    with pytest.raises(ValueError, match="at least 1, but it is 0"):
        decode(small_model(), SRC, BOS, EOS, 0)
    endless = small_model(max_len=8)
    nn.init.constant_(endless.generator.bias[EOS : EOS + 1].detach(), -99.0)
    with pytest.raises(ValueError, match="longer than max_len = 8"):
        decode(endless, SRC, BOS, EOS, 10)


def greedy_by_loops(model, sentence, max_len):
    """One sentence, no padding, no batch."""
    src, ids = sentence[sentence != PAD].unsqueeze(0), [BOS]
    while len(ids) < max_len and ids[-1] != EOS:
        ids.append(int(model(src, torch.tensor([ids]))[0, -1].argmax()))
    return ids


@pytest.mark.parametrize("seed", range(5))
def test_greedy_decoding_in_a_batch_equals_one_sentence_at_a_time(seed):
    model = lively_model(seed)
    ids = greedy_decode(model, SRC, BOS, EOS, 12)
    rows = [greedy_by_loops(model, sentence, 12) for sentence in SRC]
    length = max(len(row) for row in rows)
    assert ids.tolist() == [row + [PAD] * (length - len(row)) for row in rows]


@pytest.mark.parametrize("seed", range(5))
def test_cached_decoding_equals_uncached(seed):
    model = lively_model(seed)
    expected = greedy_decode(model, SRC, BOS, EOS, 12)
    assert torch.equal(greedy_decode_cached(model, SRC, BOS, EOS, 12), expected)


def test_models_used_above_write_sentences_of_different_lengths():
    lengths = set()
    for seed in range(5):
        ids = greedy_decode(lively_model(seed), SRC, BOS, EOS, 12)
        lengths |= set((ids != PAD).sum(dim=1).tolist())
    assert len(lengths) >= 4


@DTYPES
def test_cached_steps_give_the_logits_of_the_whole_sequence(dtype, tolerance):
    model = small_model().to(dtype).eval()
    memory = model.encode(SRC)
    expected = model.decode(TGT, memory, SRC)
    cache = model.start_cache(memory)
    for t in range(T):
        logits, cache = model.step(TGT[:, : t + 1], cache, SRC)
        assert_close(logits, expected[:, t], tolerance)


# --------------------------------------------------------------------------------- beam search


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_width_one_is_greedy(seed):
    model = lively_model(seed)
    ids, scores = beam_search(model, SRC, BOS, EOS, 12, beam_width=1)
    assert torch.equal(ids[:, 0], greedy_decode(model, SRC, BOS, EOS, 12))
    assert scores.shape == (B, 1)


def log_probability(model, sentence, ids):
    src = sentence[sentence != PAD].unsqueeze(0)
    log_p = model(src, torch.tensor([ids[:-1]]))[0].log_softmax(dim=-1)
    return sum(log_p[t, word].item() for t, word in enumerate(ids[1:]))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_log_probabilities_over_the_length_penalty(seed, alpha):
    model = lively_model(seed)
    ids, scores = beam_search(model, SRC, BOS, EOS, 9, beam_width=4, alpha=alpha)
    assert (scores.diff(dim=1) <= 0).all()
    for b in range(B):
        assert len({tuple(row) for row in ids[b].tolist()}) == 4
        for row, score in zip(ids[b].tolist(), scores[b].tolist(), strict=True):
            length = row.index(EOS) if EOS in row else len(row) - 1
            assert set(row[length + 1 :]) <= {PAD}
            penalty = ((5 + length) / 6) ** alpha
            expected = log_probability(model, SRC[b], row[: length + 1]) / penalty
            assert score == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wide_enough_finds_the_best_of_all_sentences(seed):
    model, max_len, alpha = lively_model(seed), 3, 0.8
    sentences = [[BOS, EOS], *([BOS, a, b] for a in range(TGT_VOCAB) for b in range(TGT_VOCAB))]
    sentences = [s for s in sentences if s[1] != EOS or len(s) == 2]
    ids, scores = beam_search(model, SRC, BOS, EOS, max_len, beam_width=150, alpha=alpha)
    for b in range(B):
        expected = sorted(
            (log_probability(model, SRC[b], s) / ((4 + len(s)) / 6) ** alpha for s in sentences),
            reverse=True,
        )
        assert scores[b, : len(expected)].tolist() == pytest.approx(expected, abs=1e-9)
        assert (scores[b, len(expected) :] == -math.inf).all()
        best = max(
            sentences, key=lambda s: log_probability(model, SRC[b], s) / ((4 + len(s)) / 6) ** alpha
        )
        assert ids[b, 0].tolist() == best + [PAD] * (3 - len(best))


def test_a_wider_beam_finds_what_greedy_misses():
    """Word 5 looks best at first, but word 6 is followed by a certain end."""

    class Trap(Scripted):
        def decode(self, tgt, memory, src):
            p = torch.full((len(tgt), tgt.shape[1], 9), 1e-6)
            for row, words in zip(p, tgt.tolist(), strict=True):
                if words[-1] == BOS:
                    row[-1, 5], row[-1, 6] = 0.6, 0.4
                elif words[-1] == 6:
                    row[-1, EOS] = 1.0
                else:
                    row[-1, 2:] = 1 / 7
            return p.log()

    model = Trap([])
    assert greedy_decode(model, SRC[:1], BOS, EOS, 3)[0, 1] == 5
    ids, scores = beam_search(model, SRC[:1], BOS, EOS, 3, beam_width=2, alpha=0.0)
    assert ids[0, 0].tolist() == [BOS, 6, EOS]
    assert scores[0, 0].item() == pytest.approx(math.log(0.4), abs=1e-3)


def test_the_length_penalty_is_the_papers():
    assert transformer.length_penalty(1, 0.6) == 1
    assert transformer.length_penalty(7, 0.5) == pytest.approx(math.sqrt(2))
    assert_close(transformer.length_penalty(torch.tensor([1, 13]), 1.0), torch.tensor([1.0, 3.0]))


def test_a_beam_without_width_is_refused():
    with pytest.raises(ValueError, match="beam_width must be at least 1, but it is 0"):
        beam_search(small_model(), SRC, BOS, EOS, 8, beam_width=0)


# ------------------------------------------------------------------------------ looking inside


def test_attention_maps_are_those_of_each_layer_in_order():
    model = small_model(dropout=0.5)
    maps = transformer.attention_maps(model, SRC, TGT)
    shapes = {kind: [tuple(tensor.shape) for tensor in found] for kind, found in maps.items()}
    assert shapes == {
        "encoder": [(B, H, S, S)] * LAYERS,
        "decoder": [(B, H, T, T)] * LAYERS,
        "cross": [(B, H, T, S)] * LAYERS,
    }
    for tensor in itertools.chain(*maps.values()):
        assert_close(tensor.sum(dim=-1), torch.ones(tensor.shape[:-1]))
    assert not maps["cross"][1][2, :, :, 3:].any()
    assert not maps["decoder"][0].triu(1).any()

    model.eval()
    x = model._embed(model.src_embedding, SRC)
    _, first = model.encoder_layers[0].self_attn(x, x, x, (SRC != PAD)[:, None, None])
    assert_close(maps["encoder"][0], first)


def test_attention_maps_leave_the_model_as_it_was():
    model = small_model(dropout=0.5)
    with pytest.raises(ValueError, match="max_len"):
        transformer.attention_maps(model, SRC, torch.ones(B, 99, dtype=torch.int64))
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())
