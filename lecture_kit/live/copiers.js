// A language model of today's blocks in plain JavaScript: numbers in, numbers out, nothing of a page.
// It is course_utils.modern.ModernLanguageModel, with heads that can be silenced and a vector of the
// stream that can be put back. Rows are Float32Arrays, and names of weights are PyTorch's.

// `shape` has the number of heads, the base of the angles and the ε of all norms.
function copierFrom(weights, shape) {
  const layers = new Set(
    Object.keys(weights).flatMap((name) => name.match(/^layers\.\d+/)?.[0] ?? []),
  );
  const width = weights['embedding.weight'][0].length;
  return { weights, ...shape, layers: [...layers], width, size: width / shape.heads };
}

function rmsNorm(model, name, row) {
  const gain = model.weights[`${name}.weight`];
  const root = Math.sqrt(product(row, row) / row.length + model.eps);
  return row.map((x, c) => (x / root) * gain[c]);
}

// pairs of neighbours within each head, turned by the position
function turnedBy(model, row, position) {
  const turned = new Float32Array(row.length);
  for (let c = 0; c < row.length; c += 2) {
    const angle = position / model.base ** ((c % model.size) / model.size);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    turned[c] = row[c] * cos - row[c + 1] * sin;
    turned[c + 1] = row[c] * sin + row[c + 1] * cos;
  }
  return turned;
}

// What each head of a layer takes in at each place, and from where: rows of i + 1 weights.
function attended(model, layer, xs) {
  const { weights, heads, size } = model;
  const normed = xs.map((x) => rmsNorm(model, `${layer}.norm1`, x));
  const [q, k, v] = ['w_q', 'w_k', 'w_v'].map((map) =>
    normed.map((x) => linear(weights, `${layer}.${map}`, x)),
  );
  const [queries, keys] = [q, k].map((rows) => rows.map((row, i) => turnedBy(model, row, i)));
  return Array.from({ length: heads }, (_, h) => {
    const slice = (row) => row.subarray(h * size, (h + 1) * size);
    const rows = queries.map((query, i) =>
      softmax(
        keys.slice(0, i + 1).map((key) => product(slice(query), slice(key)) / Math.sqrt(size)),
      ),
    );
    return {
      weights: rows,
      outputs: rows.map((row) => mixture(row, v.slice(0, row.length).map(slice), size)),
    };
  });
}

function fedForward(model, layer, x) {
  const [gate, up] = ['w_gate', 'w_up'].map((map) =>
    linear(model.weights, `${layer}.feed_forward.${map}`, x),
  );
  const inner = gate.map((a, c) => (a / (1 + Math.exp(-a))) * up[c]);
  return linear(model.weights, `${layer}.feed_forward.w_down`, inner);
}

// Everything that is computed for one row of ids. `silenced` has pairs "layer.head"; what such a head
// gives becomes 0, or `means[layer][head]`. `put` is { layer, position, vector }: the stream before this
// layer has this vector there.
function passed(model, ids, { silenced = new Set(), means = null, put = null } = {}) {
  const { weights, size, width } = model;
  let xs = ids.map((id) => weights['embedding.weight'][id]);
  const [streams, maps] = [[], []];
  model.layers.forEach((layer, l) => {
    if (put?.layer === l) xs = xs.with(put.position, put.vector);
    streams.push(xs);
    const heads = attended(model, layer, xs);
    maps.push(heads.map((head) => head.weights));
    xs = xs.map((x, i) => {
      const merged = new Float32Array(width);
      heads.forEach(({ outputs }, h) => {
        if (!silenced.has(`${l}.${h}`)) merged.set(outputs[i], h * size);
        else if (means) merged.set(means[l][h], h * size);
      });
      const middle = plus(x, linear(weights, `${layer}.w_o`, merged));
      return plus(middle, fedForward(model, layer, rmsNorm(model, `${layer}.norm2`, middle)));
    });
  });
  const logits = xs.map((x) => {
    const normed = rmsNorm(model, 'norm', x);
    return Float32Array.from(weights['embedding.weight'], (row) => product(row, normed));
  });
  return { streams, maps, logits };
}
