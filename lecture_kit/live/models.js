// The course's translators in plain JavaScript: numbers in, numbers out, nothing of a page.
// Every number between a German word and an English one is kept. Rows are Float32Arrays; names of
// weights are PyTorch's. `off` holds what the reader switched off, by these names:
//   e1 d2          a layer of the encoder, of the decoder
//   e1a d1s d1c    its self-attention, its cross-attention; e1f d1f its feed-forward network
//   d1c3           a head, counted from 1
//   d1cr           the residual connection around a part: norm(f(x)) instead of norm(x + f(x))
//   pe pd          positions of the encoder, of the decoder
//   root           the division by √dₖ
//   mask           the causal mask of the decoder
//   fwd bwd        one reading direction of a recurrent encoder
//   att            the choice of a recurrent decoder: all words get the same weight
//   state          its state: every word begins from nothing
// `hidden` holds the places of German words that nobody may look at, `tau` divides all scores.

const PAD = 0; // nobody looks at it
const BOS = 1;
const EOS = 2;
const MOST_WORDS = 40; // as `translators.MAX_TOKENS`
const NOTHING_CHANGED = { off: new Set(), hidden: new Set(), tau: 1 };

// ------------------------------------------------------------------------------------ small parts

function layerNorm(weights, name, row) {
  const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
  const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length;
  const [gain, bias] = [weights[`${name}.weight`], weights[`${name}.bias`]];
  return row.map((x, c) => ((x - mean) / Math.sqrt(variance + 1e-5)) * gain[c] + bias[c]);
}

function positionVector(position, width) {
  return Float32Array.from({ length: width }, (_, c) => {
    const angle = position / 10000 ** ((c - (c % 2)) / width);
    return c % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

// -------------------------------------------------------------------------------- the transformer

// `weights` and how many heads; the rest can be read off the names
function transformerFrom(weights, heads) {
  const count = (side) =>
    new Set(Object.keys(weights).flatMap((name) => name.match(`^${side}_layers\\.\\d+`)?.[0] ?? []))
      .size;
  const width = weights['generator.weight'][0].length;
  return {
    weights,
    heads,
    width,
    layers: { encoder: count('encoder'), decoder: count('decoder') },
  };
}

// token: √D · E[id]; position: its vector, or zeros; x: the sum
function embedded({ weights, width }, table, ids, start, withPositions) {
  return ids.map((id, place) => {
    const token = weights[`${table}.weight`][id].map((x) => x * Math.sqrt(width));
    const position = withPositions ? positionVector(start + place, width) : new Float32Array(width);
    return { token, position, x: plus(token, position) };
  });
}

const emptyAttention = () =>
  Object.fromEntries(
    ['x', 'q', 'k', 'v', 'weights', 'heads', 'mixed', 'out', 'sum', 'norm'].map((name) => [
      name,
      [],
    ]),
  );
const emptyFeed = () => ({ x: [], before: [], hidden: [], out: [], sum: [], norm: [] });

// what follows each part: the residual connection and the norm
function closePart(model, kept, norm, part, off, x, out) {
  const alone = off.has(`${part}r`);
  const sum = alone ? out : plus(x, out);
  kept.sum.push(sum);
  kept.norm.push(layerNorm(model.weights, norm, sum));
}

// Attention with what is around it, for the rows `xs`; `kept` has all rows so far and gets these.
// Keys and values come from `memory`, which is not computed twice, or else from `xs` themselves.
function attendFrom(model, { name, norm, part }, kept, xs, memory, changes, sees) {
  const { weights, heads, width } = model;
  const size = width / heads;
  const scale = (changes.off.has('root') ? 1 : Math.sqrt(size)) * changes.tau;
  if (!memory || !kept.k.length) {
    for (const row of memory ?? xs) {
      kept.k.push(linear(weights, `${name}.w_k`, row));
      kept.v.push(linear(weights, `${name}.w_v`, row));
    }
  }
  const slice = (row, h) => row.subarray(h * size, (h + 1) * size);
  for (const x of xs) {
    const i = kept.x.push(x) - 1;
    const q = linear(weights, `${name}.w_q`, x);
    kept.q.push(q);
    const own = Array.from({ length: heads }, (_, h) =>
      softmax(
        kept.k.map((key, j) =>
          sees(i, j) ? product(slice(q, h), slice(key, h)) / scale : -Infinity,
        ),
      ),
    );
    kept.weights.push(own);
    const outputs = own.map((row, h) =>
      changes.off.has(`${part}${h + 1}`)
        ? new Float32Array(size)
        : mixture(
            row,
            kept.v.map((value) => slice(value, h)),
            size,
          ),
    );
    kept.heads.push(outputs);
    const mixed = new Float32Array(width);
    outputs.forEach((output, h) => mixed.set(output, h * size));
    kept.mixed.push(mixed);
    const out = changes.off.has(part)
      ? new Float32Array(width)
      : linear(weights, `${name}.w_o`, mixed);
    kept.out.push(out);
    closePart(model, kept, norm, part, changes.off, x, out);
  }
}

function feedFrom(model, { name, norm, part }, kept, xs, { off }) {
  const { weights, width } = model;
  for (const x of xs) {
    const before = linear(weights, `${name}.w_1`, x);
    const hidden = before.map((number) => Math.max(0, number));
    const out = off.has(part) ? new Float32Array(width) : linear(weights, `${name}.w_2`, hidden);
    kept.x.push(x);
    kept.before.push(before);
    kept.hidden.push(hidden);
    kept.out.push(out);
    closePart(model, kept, norm, part, off, x, out);
  }
}

// Rows of the stream behind each layer; a layer that is switched off passes them on.
function encoded(model, ids, changes) {
  const words = embedded(model, 'src_embedding', ids, 0, !changes.off.has('pe'));
  let xs = words.map(({ x }) => x);
  const layers = [];
  for (let l = 0; l < model.layers.encoder; l++) {
    const [name, layer] = [`encoder_layers.${l}`, `e${l + 1}`];
    const kept = { attention: emptyAttention(), feed: emptyFeed(), passed: xs };
    layers.push(kept);
    if (changes.off.has(layer)) continue;
    const attention = { name: `${name}.self_attn`, norm: `${name}.layer_norm1`, part: `${layer}a` };
    attendFrom(
      model,
      attention,
      kept.attention,
      xs,
      null,
      changes,
      (i, j) => !changes.hidden.has(j),
    );
    const feed = { name: `${name}.feed_forward`, norm: `${name}.layer_norm2`, part: `${layer}f` };
    feedFrom(model, feed, kept.feed, kept.attention.norm, changes);
    xs = kept.passed = kept.feed.norm;
  }
  return { ids, words, layers, memory: xs };
}

const startedDecoder = (model) => ({
  ids: [],
  words: [],
  layers: Array.from({ length: model.layers.decoder }, () => ({
    self: emptyAttention(),
    cross: emptyAttention(),
    feed: emptyFeed(),
    passed: [],
  })),
  logits: [],
});

// Reads further ids. Keys and values of earlier rows stay in `decoder`: it is the cache.
function decodeFurther(model, decoder, ids, memory, changes) {
  const { off, hidden } = changes;
  const start = decoder.ids.length;
  const words = embedded(model, 'tgt_embedding', ids, start, !off.has('pd'));
  decoder.ids.push(...ids);
  decoder.words.push(...words);
  let xs = words.map(({ x }) => x);
  decoder.layers.forEach((kept, l) => {
    const [name, layer] = [`decoder_layers.${l}`, `d${l + 1}`];
    if (!off.has(layer)) {
      const self = { name: `${name}.self_attn`, norm: `${name}.layer_norm1`, part: `${layer}s` };
      const sees = (i, j) => (off.has('mask') || j <= i) && decoder.ids[j] !== PAD;
      attendFrom(model, self, kept.self, xs, null, changes, sees);
      const cross = { name: `${name}.cross_attn`, norm: `${name}.layer_norm2`, part: `${layer}c` };
      const own = kept.self.norm.slice(start);
      attendFrom(model, cross, kept.cross, own, memory, changes, (i, j) => !hidden.has(j));
      const feed = { name: `${name}.feed_forward`, norm: `${name}.layer_norm3`, part: `${layer}f` };
      feedFrom(model, feed, kept.feed, kept.cross.norm.slice(start), changes);
      xs = kept.feed.norm.slice(start);
    }
    kept.passed.push(...xs);
  });
  decoder.logits.push(...xs.map((x) => linear(model.weights, 'generator', x)));
}

// Greedy translation with everything that was computed. `runs[t]` has the rows of the decoder that wrote
// word t, and may have later ones: with a cache it is one and the same. Without the causal mask earlier
// rows change with every word, so each run begins anew.
function translatedByTransformer(model, ids, changes = NOTHING_CHANGED) {
  const encoder = encoded(model, ids, changes);
  const [written, runs, logits] = [[BOS], [], []];
  let decoder = startedDecoder(model);
  while (written.length < MOST_WORDS && !written.slice(1).includes(EOS)) {
    const anew = changes.off.has('mask');
    if (anew) decoder = startedDecoder(model);
    const further = anew ? [...written] : written.slice(-1);
    decodeFurther(model, decoder, further, encoder.memory, changes);
    runs.push(decoder);
    logits.push(decoder.logits.at(-1));
    written.push(best(logits.at(-1)));
  }
  return { encoder, runs, logits, written };
}

// -------------------------------------------------------------------- recurrent, with attention

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// PyTorch's GRU: reset, update, new; `ends` are the ends of the weights' names
function gru(weights, name, ends, x, state) {
  const [input, inner] = ['ih', 'hh'].map((which) => {
    const bias = weights[`${name}.bias_${which}${ends}`];
    const rows = weights[`${name}.weight_${which}${ends}`];
    return rows.map((w, out) => product(w, which === 'ih' ? x : state) + bias[out]);
  });
  const size = state.length;
  return state.map((before, c) => {
    const reset = sigmoid(input[c] + inner[c]);
    const update = sigmoid(input[size + c] + inner[size + c]);
    const fresh = Math.tanh(input[2 * size + c] + reset * inner[2 * size + c]);
    return (1 - update) * fresh + update * before;
  });
}

function joined(one, other) {
  const both = new Float32Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

const recurrentFrom = (weights) => ({
  weights,
  width: weights['encoder.weight_hh_l0'][0].length,
});

function annotated({ weights, width }, ids, { off }) {
  const words = ids.map((id) => weights['src_embedding.weight'][id]);
  const read = (ends, order, isOff) => {
    const states = [];
    let state = new Float32Array(width);
    for (const place of order) {
      state = gru(weights, 'encoder', ends, words[place], state);
      states[place] = isOff ? new Float32Array(width) : state;
    }
    return states;
  };
  const order = ids.map((_, place) => place);
  const forward = read('_l0', order, off.has('fwd'));
  const backward = read('_l0_reverse', [...order].reverse(), off.has('bwd'));
  const annotations = forward.map((state, place) => joined(state, backward[place]));
  const summary = joined(forward.at(-1), backward[0]);
  const keys = annotations.map((row) => linear(weights, 'attention.U', row));
  return { ids, words, forward, backward, annotations, summary, keys };
}

// where one state of the decoder looks, and what it takes from there
function chosenFrom({ weights }, state, encoder, { off, hidden, tau }) {
  const asked = linear(weights, 'attention.W', state);
  const [v] = weights['attention.v.weight'];
  const fit = (key) =>
    product(
      v,
      key.map((x, c) => Math.tanh(x + asked[c])),
    ) / tau;
  const scores = encoder.keys.map((key, j) =>
    hidden.has(j) ? -Infinity : off.has('att') ? 0 : fit(key),
  );
  const shares = softmax(scores);
  return {
    scores,
    weights: shares,
    context: mixture(shares, encoder.annotations, encoder.summary.length),
  };
}

// Greedy translation with everything that was computed, a step for each word.
function translatedByRecurrent(model, ids, changes = NOTHING_CHANGED) {
  const { weights, width } = model;
  const encoder = annotated(model, ids, changes);
  let state = linear(weights, 'initial_state', encoder.summary).map(Math.tanh);
  const [written, steps, logits] = [[BOS], [], []];
  while (written.length < MOST_WORDS && !written.slice(1).includes(EOS)) {
    if (changes.off.has('state')) state = new Float32Array(width);
    const word = weights['tgt_embedding.weight'][written.at(-1)];
    const choice = chosenFrom(model, state, encoder, changes);
    const after = gru(weights, 'decoder', '', joined(word, choice.context), state);
    logits.push(linear(weights, 'generator', joined(after, choice.context)));
    steps.push({ word, before: state, ...choice, after });
    state = after;
    written.push(best(logits.at(-1)));
  }
  return { encoder, steps, logits, written };
}
