"""lecture_kit.published_weights: small random checkpoints, and models of another library."""

import json
import math
import re
from pathlib import Path

import pytest
import torch

from course_utils.attention import split_heads
from course_utils.inside import ablate_heads, logit_lens, patch_activation
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel, apply_rotary, attention_maps
from lecture_kit import published_weights
from lecture_kit.published_weights import (
    load_llama,
    neighbours_from_halves,
    published_name,
    repeat_groups,
)

PAGE = (Path(__file__).parents[2] / "docs" / "published_weights.md").read_text(encoding="utf-8")
V, D, H, G, LAYERS, D_FF = 23, 24, 6, 2, 3, 17
D_K = D // H
CONFIG = {
    "model_type": "llama",
    "vocab_size": V,
    "hidden_size": D,
    "num_attention_heads": H,
    "num_key_value_heads": G,
    "num_hidden_layers": LAYERS,
    "intermediate_size": D_FF,
    "rms_norm_eps": 1e-5,
    "rope_theta": 300.0,
    "rope_scaling": None,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
}
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int8: "I8"}
Q_PROJ, K_PROJ = (f"model.layers.1.self_attn.{letter}_proj.weight" for letter in "qk")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def write_safetensors(path, tensors, padding=0):
    """A file of the format, byte by byte, as its description has it."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        numbers = bytes(tensor.contiguous().view(torch.uint8).flatten().tolist())
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(numbers)],
        }
        data += numbers
    text = json.dumps(header).encode() + b" " * padding
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def random_tensors(dtype=torch.float32, tied=True, layers=LAYERS):
    shapes = {"model.embed_tokens.weight": (V, D), "model.norm.weight": (D,)}
    for number in range(layers):
        shapes |= {
            f"model.layers.{number}.{name}.weight": shape
            for name, shape in {
                "input_layernorm": (D,),
                "self_attn.q_proj": (D, D),
                "self_attn.k_proj": (G * D_K, D),
                "self_attn.v_proj": (G * D_K, D),
                "self_attn.o_proj": (D, D),
                "post_attention_layernorm": (D,),
                "mlp.gate_proj": (D_FF, D),
                "mlp.up_proj": (D_FF, D),
                "mlp.down_proj": (D, D_FF),
            }.items()
        }
    if not tied:
        shapes["lm_head.weight"] = (V, D)
    return {name: (0.4 * torch.randn(shape)).to(dtype) for name, shape in shapes.items()}


def checkpoint(folder, tensors, without=(), **changes):
    """A folder with both files; CONFIG with some keys changed or left out."""
    folder.mkdir(exist_ok=True)
    config = {key: value for key, value in (CONFIG | changes).items() if key not in without}
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def turn_halves(x, base, factor):
    """Feature k of each head turned together with feature k + d_k / 2: (B, H, T, d_k)."""
    half = x.shape[-1] // 2
    speeds = base ** -(torch.arange(half).double() / half)
    angles = torch.outer(torch.arange(x.shape[2]).double() / factor, speeds).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def logits_of(tensors, ids, base=300.0, factor=1.0, eps=1e-5):
    """A Llama in a few lines, straight from the published names: halves, groups, its own head."""

    def norm(x, name):
        return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * tensors[name + ".weight"]

    def linear(x, name):
        return x @ tensors[name + ".weight"].T

    x = tensors["model.embed_tokens.weight"][ids]
    for number in range(LAYERS):
        here = f"model.layers.{number}."
        normed = norm(x, here + "input_layernorm")
        query, key, value = (linear(normed, f"{here}self_attn.{c}_proj") for c in "qkv")
        query = turn_halves(split_heads(query, H), base, factor)
        key = turn_halves(split_heads(key, G), base, factor)
        contexts = []
        for head in range(H):
            group = head // (H // G)
            scores = query[:, head] @ key[:, group].mT / math.sqrt(D_K)
            scores = scores.masked_fill(~causal_mask(ids.shape[1]), -math.inf)
            contexts.append(scores.softmax(-1) @ split_heads(value, G)[:, group])
        x = x + linear(torch.cat(contexts, dim=-1), here + "self_attn.o_proj")
        normed = norm(x, here + "post_attention_layernorm")
        gate = linear(normed, here + "mlp.gate_proj")
        inner = gate * gate.sigmoid() * linear(normed, here + "mlp.up_proj")
        x = x + linear(inner, here + "mlp.down_proj")
    head = "lm_head" if "lm_head.weight" in tensors else "model.embed_tokens"
    return linear(norm(x, "model.norm"), head)


def assert_same_logits(model, tensors, **kind):
    for length in (1, 2, 19):
        ids = torch.randint(V, (2, length))
        expected = logits_of(tensors, ids, **kind)
        with torch.no_grad():
            torch.testing.assert_close(model(ids), expected, atol=2e-5, rtol=2e-5)


# ------------------------------------------------------------------------- the parts of the change


def test_rows_of_halves_become_rows_of_neighbours():
    weight = torch.arange(12.0).unsqueeze(1)  # two heads of six rows
    expected = [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]
    assert neighbours_from_halves(weight, 2).flatten().tolist() == expected


def test_scores_of_neighbours_are_those_of_halves():
    x = torch.randn(1, 7, D)
    w_q, w_k = torch.randn(2, D, D)
    theirs = [turn_halves(split_heads(x @ w.T, H), 300.0, 1.0) for w in (w_q, w_k)]
    ours = [
        apply_rotary(split_heads(x @ neighbours_from_halves(w, H).T, H), torch.arange(7), 300.0)
        for w in (w_q, w_k)
    ]
    scores, expected = ours[0] @ ours[1].mT, theirs[0] @ theirs[1].mT
    torch.testing.assert_close(scores, expected, atol=1e-4, rtol=1e-5)


def test_each_query_head_gets_the_rows_of_its_group():
    weight = torch.arange(6.0).unsqueeze(1)  # two key heads of three rows
    repeated = repeat_groups(weight, 2, 4).flatten().tolist()
    assert repeated == [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]
    assert torch.equal(repeat_groups(weight, 2, 2), weight)


def test_names():
    assert (
        published_name("layers.12.feed_forward.w_up.weight") == "model.layers.12.mlp.up_proj.weight"
    )
    assert published_name("head.weight") == "lm_head.weight"


# ------------------------------------------------------------------------------------- whole models


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "a head of its own"])
def test_logits_are_those_of_the_published_names(tmp_path, tied):
    tensors = random_tensors(tied=tied)
    model = load_llama(checkpoint(tmp_path, tensors, tie_word_embeddings=tied))
    assert isinstance(model, ModernLanguageModel) and not model.training
    assert (model.head is None) == tied
    assert_same_logits(model, tensors)
    others = model.embed(torch.randint(V, (1, 4))), attention_maps(model, torch.zeros(1, 4).long())
    assert all(tensor.dtype == torch.float32 for tensor in others)


def test_the_loaded_model_can_be_trained(tmp_path):
    model = load_llama(checkpoint(tmp_path, random_tensors()))
    model(torch.randint(V, (1, 5))).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32_exactly(tmp_path, dtype):
    tensors = random_tensors(dtype)
    model = load_llama(checkpoint(tmp_path, tensors))
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert torch.equal(model.embedding.weight, tensors["model.embed_tokens.weight"].float())
    assert_same_logits(model, {name: tensor.float() for name, tensor in tensors.items()})


@pytest.mark.parametrize(
    "changes",
    [
        {"rope_scaling": {"type": "linear", "factor": 2.5}},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.5}},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.5, "rope_theta": 300.0}},
    ],
    ids=["transformers before 4.43", "since 4.43", "since 5"],
)
def test_positions_may_be_pressed_together(tmp_path, changes):
    without = ("rope_theta", "rope_scaling") if "rope_parameters" in changes else ()
    tensors = random_tensors()
    model = load_llama(checkpoint(tmp_path, tensors, without, **changes))
    assert_same_logits(model, tensors, factor=2.5)


def test_what_config_may_leave_out(tmp_path):
    without = ("rope_theta", "rope_scaling", "hidden_act", "tie_word_embeddings")
    tensors = random_tensors(tied=False)
    model = load_llama(checkpoint(tmp_path, tensors, without, rms_norm_eps=0.1, head_dim=D_K))
    assert_same_logits(model, tensors, base=10000.0, eps=0.1)


def test_without_groups(tmp_path):
    tensors = random_tensors()
    full = tensors | {
        name: torch.cat([tensor.unflatten(0, (G, D_K))[g] for g in range(G) for _ in range(H // G)])
        for name, tensor in tensors.items()
        if name.endswith(("k_proj.weight", "v_proj.weight"))
    }
    model = load_llama(checkpoint(tmp_path, full, without=("num_key_value_heads",)))
    assert_same_logits(model, tensors)


def test_stored_speeds_of_the_rotation_are_passed_over(tmp_path):
    speeds = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(D_K // 2)}
    tensors = random_tensors()
    assert_same_logits(load_llama(checkpoint(tmp_path, tensors | speeds)), tensors)


def test_a_tied_head_that_is_stored_as_well(tmp_path):
    tensors = random_tensors()
    both = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}
    model = load_llama(checkpoint(tmp_path, both))
    assert model.head is None
    assert_same_logits(model, tensors)


def test_data_may_begin_at_any_byte(tmp_path):
    tensors = random_tensors(torch.bfloat16)
    folder = checkpoint(tmp_path, tensors)
    for padding in (0, 1, 3):
        write_safetensors(folder / "model.safetensors", tensors, padding)
        model = load_llama(folder)
        assert torch.equal(model.norm.weight, tensors["model.norm.weight"].float())


def shards(folder, tensors, files=3):
    """The same checkpoint in several files and an index."""
    folder = checkpoint(folder, {})
    (folder / "model.safetensors").unlink()
    file_of = {name: f"model-{k % files:05}.safetensors" for k, name in enumerate(tensors)}
    for file in set(file_of.values()):
        here = {name: tensor for name, tensor in tensors.items() if file_of[name] == file}
        write_safetensors(folder / file, here)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": file_of}))
    return folder


def test_several_files_through_their_index(tmp_path):
    tensors = random_tensors()
    assert_same_logits(load_llama(str(shards(tmp_path, tensors))), tensors)


# --------------------------------------------------------------------------- what cannot be loaded


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model_type": "qwen2"}, "expected model_type = 'llama' in .*config.json, found 'qwen2'"),
        ({"attention_bias": True}, "expected attention_bias = False in .*, found True"),
        ({"mlp_bias": True}, "expected mlp_bias = False"),
        ({"hidden_act": "gelu"}, "expected hidden_act = 'silu' in .*, found 'gelu'"),
        ({"partial_rotary_factor": 0.5}, "expected partial_rotary_factor = 1.0"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "default or linear.*llama3"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "default or linear.*dynamic"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "default or linear.*yarn"),
        ({"rope_scaling": {"type": "linear"}}, "the latter with a factor"),
        (
            {"rope_parameters": {"partial_rotary_factor": 0.5}},
            "found .'partial_rotary_factor': 0.5",
        ),
        ({"head_dim": 6}, "found 24, 6, 6 and 2. .*take another checkpoint"),
        ({"num_key_value_heads": 4}, "found 24, 6, 4 and 4"),
    ],
)
def test_another_kind_of_model_is_refused(tmp_path, changes, told):
    with pytest.raises(ValueError, match=told):
        load_llama(checkpoint(tmp_path, random_tensors(), **changes))


def test_an_odd_width_is_refused(tmp_path):
    sizes = {"hidden_size": 18, "num_attention_heads": 6}
    with pytest.raises(ValueError, match=r"even head_dim.*found 18, 6, 3 and 2"):
        load_llama(checkpoint(tmp_path, {}, **sizes))


def test_a_size_that_config_leaves_out_is_named(tmp_path):
    with pytest.raises(ValueError, match="expected intermediate_size, rms_norm_eps in"):
        load_llama(checkpoint(tmp_path, {}, without=("rms_norm_eps", "intermediate_size")))


def test_missing_and_surplus_tensors_are_named(tmp_path):
    tensors = random_tensors(layers=LAYERS + 1)
    del tensors[Q_PROJ]
    told = f"expected the 29 tensors .*missing: {Q_PROJ}; surplus: model.layers.3.input_layernorm.weight, .* and 6 more"
    with pytest.raises(ValueError, match=told):
        load_llama(checkpoint(tmp_path, tensors))


def test_a_bias_is_surplus(tmp_path):
    name = Q_PROJ.replace("weight", "bias")
    with pytest.raises(ValueError, match=f"missing: none; surplus: {name}.*such as biases"):
        load_llama(checkpoint(tmp_path, random_tensors() | {name: torch.zeros(D)}))


def test_a_head_that_is_missing_is_explained(tmp_path):
    with pytest.raises(
        ValueError, match=r"missing: lm_head.weight; .*set tie_word_embeddings to true"
    ):
        load_llama(checkpoint(tmp_path, random_tensors(), tie_word_embeddings=False))


def test_a_head_that_differs_from_the_embedding_is_explained(tmp_path):
    with pytest.raises(ValueError, match=r"they differ.*set tie_word_embeddings to false"):
        load_llama(checkpoint(tmp_path, random_tensors(tied=False)))


def test_a_wrong_shape_is_named(tmp_path):
    tensors = random_tensors() | {K_PROJ: torch.zeros(D, D)}
    told = re.escape(f"expected {K_PROJ} of shape (8, 24), as ") + r".*found \(24, 24\) in"
    with pytest.raises(ValueError, match=told):
        load_llama(checkpoint(tmp_path, tensors))


def test_quantised_weights_are_refused(tmp_path):
    tensors = random_tensors() | {K_PROJ: torch.zeros(G * D_K, D, dtype=torch.int8)}
    with pytest.raises(ValueError, match=r"one of F32, F16, BF16, found I8.*not quantised"):
        load_llama(checkpoint(tmp_path, tensors))


def test_a_file_that_ends_early_is_refused(tmp_path):
    folder = checkpoint(tmp_path, random_tensors())
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-7])
    told = "expected .*model.safetensors to be a file of the format safetensors.*not fully covered.*again"
    with pytest.raises(ValueError, match=told):
        load_llama(folder)


@pytest.mark.parametrize(
    "data", [b"", b"\x02", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n"]
)
def test_another_kind_of_file_is_refused(tmp_path, data):
    folder = checkpoint(tmp_path, {})
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(
        ValueError, match=r"expected .* to be a file of the format safetensors.*git lfs"
    ):
        load_llama(folder)


@pytest.mark.parametrize(
    "header", [b"{", b"[]", b'{"a": 1}', b'{"a": {"dtype": "F32"}}', b"\xff\xff"]
)
def test_a_damaged_header_is_refused(tmp_path, header):
    folder = checkpoint(tmp_path, {})
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(
        ValueError, match=r"expected .* to be a file of the format safetensors.*header.*again"
    ):
        load_llama(folder)


def test_a_header_that_contradicts_itself_is_refused(tmp_path):
    folder = checkpoint(tmp_path, random_tensors())
    whole = (folder / "model.safetensors").read_bytes()
    first = f'"data_offsets": [0, {V * D * 4}]'.encode()
    assert first in whole
    changed = whole.replace(first, first.replace(b"[0", b"[8"))
    (folder / "model.safetensors").write_bytes(changed)
    with pytest.raises(
        ValueError,
        match=r"expected .* to be a file of the format safetensors.*model.embed_tokens.weight.*again",
    ):
        load_llama(folder)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected config.json in"):
        load_llama(tmp_path)
    folder = checkpoint(tmp_path, {})
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    told = "expected model.safetensors or .*, found config.json, pytorch_model.bin.*pickles"
    with pytest.raises(FileNotFoundError, match=told):
        load_llama(folder)


@pytest.mark.parametrize("text", ["", "[1]", "<html>"])
def test_a_config_that_is_no_json_object_is_refused(tmp_path, text):
    folder = checkpoint(tmp_path, {})
    (folder / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"expected a JSON object in .*config.json, found"):
        load_llama(folder)


def test_an_index_that_does_not_fit_its_files(tmp_path):
    tensors = random_tensors()
    folder = shards(tmp_path, tensors)
    index = folder / "model.safetensors.index.json"
    map_of = json.loads(index.read_text())["weight_map"]
    lacks = {name: file for name, file in map_of.items() if name != Q_PROJ}
    index.write_text(json.dumps({"weight_map": lacks}))
    with pytest.raises(ValueError, match=f"only one of the two names {Q_PROJ}"):
        load_llama(folder)
    index.write_text("{}")
    with pytest.raises(ValueError, match=r"missing: model.embed_tokens.weight, .* and 26 more"):
        load_llama(folder)
    index.write_text(json.dumps({"weight_map": map_of | {Q_PROJ: "../elsewhere.safetensors"}}))
    with pytest.raises(FileNotFoundError, match=r"expected the file ../elsewhere.safetensors"):
        load_llama(folder)


# ----------------------------------------------------------------------- mistakes, and what shows them


def in_turns(weight, num_kv_heads, num_heads):
    return weight.repeat(num_heads // num_kv_heads, 1)


@pytest.mark.parametrize(
    ("mistake", "first_place_right"),
    [
        ({"neighbours_from_halves": lambda weight, num_heads: weight}, True),
        ({"_rope": lambda config, path: (10000.0, 1.0)}, True),
        ({"repeat_groups": in_turns}, False),
    ],
    ids=["pairing", "base", "groups"],
)
def test_the_first_place_tells_mistakes_apart(tmp_path, monkeypatch, mistake, first_place_right):
    folder, ids = checkpoint(tmp_path, random_tensors()), torch.randint(V, (3, 12))
    with torch.no_grad():
        right = load_llama(folder)(ids)
        for name, wrong in mistake.items():
            monkeypatch.setattr(published_weights, name, wrong)
        difference = (load_llama(folder)(ids) - right).abs().amax(dim=(0, 2))  # (T,)
    assert (difference[0] < 1e-5) == first_place_right and (difference[1:] > 1e-3).all()


def test_one_can_look_into_a_loaded_model(tmp_path):
    model = load_llama(checkpoint(tmp_path, random_tensors(tied=False), tie_word_embeddings=False))
    ids = torch.randint(V, (2, 7))
    with torch.no_grad():
        logits = model(ids)
        torch.testing.assert_close(logit_lens(model, ids)[-1], logits)
        torch.testing.assert_close(ablate_heads(model, ids, []), logits)
        assert not torch.allclose(ablate_heads(model, ids, [(0, 1)]), logits, atol=1e-3)
        torch.testing.assert_close(patch_activation(model, ids, ids, 1, 3), logits)


# ---------------------------------------------------------------------------------------- the page


def rows_below(heading):
    """The cells of a table in the section of the page with this heading, without its two first lines."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def codes_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_names_every_parameter():
    told = {
        codes_in(ours)[0]: codes_in(theirs)[0]
        for ours, theirs in rows_below("What is changed on the way")
    }
    with torch.device("meta"):
        model = ModernLanguageModel(V, D, H, 1, D_FF, tied=False)
    names = {name.replace("layers.0.", "layers.l.") for name in model.state_dict()}
    assert names == told.keys()
    assert all(published_name(name) == told[name] for name in names)


def test_the_page_says_what_a_model_takes():
    rows = rows_below("Which models fit")
    assert len(rows) == 7
    for _, *sizes, base, last, gigabytes in rows:
        vocab_size, d_model, d_ff, heads, key_heads, layers = map(int, sizes)
        assert heads % key_heads == 0 and int(base) >= 10000
        with torch.device("meta"):
            tied = last == "tied"
            model = ModernLanguageModel(vocab_size, d_model, heads, layers, d_ff, tied=tied)
        found = sum(parameter.numel() for parameter in model.parameters()) * 4 / 1e9
        assert float(gigabytes) == pytest.approx(found, abs=0.051)


def test_the_page_begins_with_code_that_runs(tmp_path, monkeypatch):
    tensors = random_tensors()
    checkpoint(tmp_path / "SmolLM-135M", tensors)
    monkeypatch.chdir(tmp_path)
    first, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(first, names := {})
    assert_same_logits(names["model"], tensors)


# ------------------------------------------------------------------------------- another library


def test_the_other_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    transformers, tokenizers = map(pytest.importorskip, ("transformers", "tokenizers"))
    folder = tmp_path / "SmolLM-135M"
    config = transformers.LlamaConfig(
        vocab_size=V,
        hidden_size=D,
        intermediate_size=D_FF,
        num_hidden_layers=2,
        num_attention_heads=H,
        num_key_value_heads=G,
    )
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    words = [*["The", "capital", "of", "France", "is"], *(f"w{k}" for k in range(V - 5))]
    model = tokenizers.models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="is")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)
    said, difference = capsys.readouterr().out.splitlines()
    assert said.startswith("The capital of France is") and len(said.split()) == 25
    assert float(difference.removeprefix("largest difference: ")) < 1e-5


@pytest.mark.parametrize("groups", [H, G, 1], ids=["a key head each", "grouped", "one key head"])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "a head of its own"])
@pytest.mark.parametrize(
    "scaling", [None, {"rope_type": "linear", "factor": 2.5}], ids=["", "pressed"]
)
def test_a_model_that_another_library_saved(tmp_path, groups, tied, scaling):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=V,
        hidden_size=D,
        intermediate_size=D_FF,
        num_hidden_layers=LAYERS,
        num_attention_heads=H,
        num_key_value_heads=groups,
        rms_norm_eps=1e-5,
        rope_theta=300.0,
        rope_scaling=scaling,
        tie_word_embeddings=tied,
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    size = "6KB" if groups == G else "1GB"  # in the middle case several files and an index
    theirs.save_pretrained(tmp_path, max_shard_size=size)
    assert (tmp_path / "model.safetensors.index.json").exists() == (groups == G)
    ours = load_llama(tmp_path)
    for length in (1, 5, 40):
        ids = torch.randint(V, (2, length))
        with torch.no_grad():
            torch.testing.assert_close(ours(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)


def test_half_precision_that_another_library_saved(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=V,
        hidden_size=D,
        intermediate_size=D_FF,
        num_hidden_layers=1,
        num_attention_heads=H,
        num_key_value_heads=G,
    )
    theirs = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    theirs.save_pretrained(tmp_path)
    ids = torch.randint(V, (2, 9))
    with torch.no_grad():
        expected = theirs.float()(ids).logits
        torch.testing.assert_close(load_llama(tmp_path)(ids), expected, atol=1e-5, rtol=1e-5)
