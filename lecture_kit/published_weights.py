"""A `course_utils.modern.ModernLanguageModel` from a checkpoint of the Llama family that lies on disk.

The checkpoint is a folder with config.json and *.safetensors, as the transformers library saves it.
Three things differ from the course's model: the names, the pairing of the features that are turned
together, and groups of query heads that share a key and a value head. Nothing is fetched.

Shapes: D = d_model, H heads, G key and value heads, d_k = D / H width of a head, V vocabulary.
"""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_utils.modern import ModernLanguageModel
from lecture_kit.checkpoints import Stored, json_object, read, stored_in_checkpoint

CONFIG = "config.json"
OUTSIDE = {  # our name: the published one
    "embedding.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "head.weight": "lm_head.weight",
}
IN_A_BLOCK = {  # after layers.l. here, and after model.layers.l. there
    "norm1.weight": "input_layernorm.weight",
    "w_q.weight": "self_attn.q_proj.weight",
    "w_k.weight": "self_attn.k_proj.weight",
    "w_v.weight": "self_attn.v_proj.weight",
    "w_o.weight": "self_attn.o_proj.weight",
    "norm2.weight": "post_attention_layernorm.weight",
    "feed_forward.w_gate.weight": "mlp.gate_proj.weight",
    "feed_forward.w_up.weight": "mlp.up_proj.weight",
    "feed_forward.w_down.weight": "mlp.down_proj.weight",
}
# older checkpoints also store the speeds of the rotation, which follow from rope_theta
COMPUTED = "self_attn.rotary_emb.inv_freq"
SIZES = (
    "vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size",
)  # fmt: skip
MUST_BE = {  # the key in config.json: what it is where it is left out, and what alone can be loaded
    "model_type": (None, "llama"),
    "hidden_act": ("silu", "silu"),
    "attention_bias": (False, False),
    "mlp_bias": (False, False),
    "partial_rotary_factor": (1.0, 1.0),
}
KINDS_OF_ROPE = ("default", "linear")


class Llama(NamedTuple):
    """What config.json says of a model; the first five are those that `ModernLanguageModel` begins with."""

    vocab_size: int
    d_model: int
    num_heads: int
    num_layers: int
    d_ff: int
    num_kv_heads: int
    base: float  # of the angles
    factor: float  # by how much positions are pressed together
    eps: float
    tied: bool  # whether the last map is the embedding


def load_llama(folder: str | Path) -> ModernLanguageModel:
    """The model of a checkpoint, in float32 and in eval mode.

    Grouped key and value heads are repeated until each query head has its own, which changes no
    result. float16 and bfloat16 become float32, also without a change.

    Args:
        folder: holds config.json, and model.safetensors or model.safetensors.index.json with its files.

    Returns:
        a `ModernLanguageModel`; where the checkpoint does not tie its embeddings, it has a `head`.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the model is of another kind, a tensor is missing, surplus or of another shape or
            dtype, or a file is damaged. The message says what was expected, what was found and what
            to do.

    Source: modeling_llama.py of the transformers library; Touvron et al. (2023), section 2.2; Ainslie
    et al. (2023), section 2.2, for the groups.
    """
    folder = Path(folder)
    llama = read_config(folder)
    stored = {
        name: tensor
        for name, tensor in stored_in_checkpoint(folder).items()
        if not name.endswith(COMPUTED)
    }
    with torch.device("meta"):  # shapes alone: no number is drawn that would be overwritten
        model = ModernLanguageModel(
            *llama[:5], base=llama.base, eps=llama.eps, factor=llama.factor, tied=llama.tied
        )
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    _refuse_other_tensors(folder, llama, shapes, stored)
    weights = {name: _ours(name, llama, stored) for name in shapes}
    model.load_state_dict(weights, assign=True)
    return model.eval()


def read_config(folder: Path) -> Llama:
    """What config.json says, if `ModernLanguageModel` can be it.

    Raises:
        FileNotFoundError: there is no config.json.
        ValueError: it describes a model that cannot be loaded, or leaves out a size.
    """
    path = folder / CONFIG
    if not path.exists():
        raise FileNotFoundError(
            f"expected {CONFIG} in {folder}, and it is not there. Fetch it from where the weights are."
        )
    config = json_object(path)
    for key, (default, expected) in MUST_BE.items():
        if (found := config.get(key, default)) != expected:
            raise ValueError(
                f"expected {key} = {expected!r} in {path}, found {found!r}. The course's block has no "
                "such thing, so take another checkpoint, or load this one with transformers."
            )
    if missing := [key for key in (*SIZES, "rms_norm_eps") if key not in config]:
        raise ValueError(
            f"expected {', '.join(missing)} in {path}, found none. Fetch {CONFIG} again, or fill in "
            "what the model's authors say."
        )
    vocab_size, d_model, num_heads, num_layers, d_ff = (config[key] for key in SIZES)
    num_kv_heads = config.get("num_key_value_heads") or num_heads
    d_k = config.get("head_dim") or d_model // num_heads
    if d_k * num_heads != d_model or d_k % 2 != 0 or num_heads % num_kv_heads != 0:
        raise ValueError(
            "expected hidden_size = num_attention_heads · head_dim with an even head_dim, and a "
            f"num_key_value_heads that divides num_attention_heads, in {path}; found {d_model}, "
            f"{num_heads}, {d_k} and {num_kv_heads}. The course's block cannot be built from these, so "
            "take another checkpoint."
        )
    base, factor = _rope(config, path)
    tied = config.get("tie_word_embeddings", False)
    return Llama(
        vocab_size, d_model, num_heads, num_layers, d_ff, num_kv_heads,
        base, factor, config["rms_norm_eps"], tied,
    )  # fmt: skip


def _rope(config: dict[str, Any], path: Path) -> tuple[float, float]:
    """Base and factor of the angles, from the keys of transformers 4 or of transformers 5."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    whole = rope.get("partial_rotary_factor", 1.0) == 1.0
    if kind not in KINDS_OF_ROPE or not whole or (kind == "linear" and "factor" not in rope):
        raise ValueError(
            f"expected rotary positions of type {' or '.join(KINDS_OF_ROPE)} in {path}, the latter with "
            f"a factor, found {rope}. `apply_rotary` turns all features and divides all positions by one "
            "factor. It can do nothing else, so take a checkpoint that asks for nothing else."
        )
    base = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    return base, rope["factor"] if kind == "linear" else 1.0


def published_name(ours: str) -> str:
    """What a parameter of the course's model is called in a published checkpoint."""
    if ours in OUTSIDE:
        return OUTSIDE[ours]
    _, number, rest = ours.split(".", maxsplit=2)
    return f"model.layers.{number}.{IN_A_BLOCK[rest]}"


def neighbours_from_halves(weight: Tensor, num_heads: int) -> Tensor:
    """The rows of W_q or W_k for a model that turns neighbours, from those for one that turns halves.

    Within each head, row k becomes row 2k, and row k + d_k / 2 becomes row 2k + 1, k < d_k / 2.

    Args:
        weight: (num_heads · d_k, D) float tensor, d_k even.
        num_heads: H for queries, G for keys.

    Returns:
        (num_heads · d_k, D) tensor, the same rows in another order.
    """
    halves = weight.unflatten(0, (num_heads, 2, -1))  # (H, 2, d_k / 2, D)
    return halves.transpose(1, 2).flatten(0, 2)


def repeat_groups(weight: Tensor, num_kv_heads: int, num_heads: int) -> Tensor:
    """The rows of W_k or W_v with a head for each query head, from those with a head for each group.

    Query head h uses head h // (H / G), so the rows of each head are repeated H / G times in place.

    Args:
        weight: (G · d_k, D) float tensor.
        num_kv_heads, num_heads: G and H; G divides H.

    Returns:
        (H · d_k, D) tensor.

    Source: Ainslie et al. (2023), section 2.2.
    """
    heads = weight.unflatten(0, (num_kv_heads, -1))  # (G, d_k, D)
    return heads.repeat_interleave(num_heads // num_kv_heads, dim=0).flatten(0, 1)


def _ours(name: str, llama: Llama, stored: dict[str, Stored]) -> Tensor:
    """One parameter of the course's model, from the checkpoint."""
    theirs = published_name(name)
    weight = read(theirs, stored[theirs])
    if name.endswith("w_q.weight"):
        return neighbours_from_halves(weight, llama.num_heads)
    if name.endswith("w_k.weight"):
        weight = neighbours_from_halves(weight, llama.num_kv_heads)
    if name.endswith(("w_k.weight", "w_v.weight")):
        return repeat_groups(weight, llama.num_kv_heads, llama.num_heads)
    return weight


def _refuse_other_tensors(
    folder: Path, llama: Llama, shapes: dict[str, tuple[int, ...]], stored: dict[str, Stored]
) -> None:
    """Compare names and shapes with what config.json promises.

    Args:
        shapes: of the course's parameters, by our names.
        stored: what the checkpoint holds, by published names.
    """
    expected = {published_name(name): shape for name, shape in shapes.items()}
    for name in shapes:
        if name.endswith(("w_k.weight", "w_v.weight")):
            rows = llama.d_model // llama.num_heads * llama.num_kv_heads
            expected[published_name(name)] = (rows, llama.d_model)
    head, embedding = OUTSIDE["head.weight"], OUTSIDE["embedding.weight"]
    if llama.tied and head in stored and embedding in stored:
        if not torch.equal(read(head, stored[head]), read(embedding, stored[embedding])):
            raise ValueError(
                f"expected {head} to equal {embedding}, because {folder / CONFIG} says "
                "tie_word_embeddings, and they differ. If the head is meant to be one of its own, set "
                "tie_word_embeddings to false there."
            )
        expected[head] = expected[embedding]
    missing = sorted(expected.keys() - stored.keys())
    surplus = sorted(stored.keys() - expected.keys())
    if missing or surplus:
        hint = ""
        if missing == [head]:
            hint = " (If the embedding is to be the last map, set tie_word_embeddings to true.)"
        raise ValueError(
            f"expected the {len(expected)} tensors that {CONFIG} promises in {folder}; missing: "
            f"{_some(missing)}; surplus: {_some(surplus)}. Take a checkpoint whose {CONFIG} fits its "
            f"weights, and which has no further parts such as biases, adapters or packed weights.{hint}"
        )
    for name, shape in expected.items():
        if stored[name].shape != shape:
            raise ValueError(
                f"expected {name} of shape {shape}, as {folder / CONFIG} says, found "
                f"{stored[name].shape} in {stored[name].path}. Take {CONFIG} and weights from one place."
            )


def _some(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more or "none"
