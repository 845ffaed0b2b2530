// Stored weights, and what every model makes of them, in plain JavaScript: numbers in, numbers out, nothing
// of a page. Rows are Float32Arrays; names of weights are PyTorch's.

// what `translators.packed` stored: name → rows of a matrix, or a vector
function unpacked({ bits, parts, bytes }) {
  const content = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  const weights = {};
  let at = 0;
  const floats = (count) => {
    at += 4 * count;
    return new Float32Array(content.slice(at - 4 * count, at).buffer);
  };
  for (const [name, [rows, columns]] of parts) {
    const numbers = floats(rows);
    if (columns === undefined) {
      weights[name] = numbers;
      continue;
    }
    const size = (rows * columns * bits) / 8;
    const Whole = bits === 8 ? Int8Array : Int16Array;
    const whole = new Whole(content.slice(at, at + size).buffer);
    at += size;
    weights[name] = Array.from(numbers, (scale, row) =>
      Float32Array.from(whole.subarray(row * columns, (row + 1) * columns), (x) => x * scale),
    );
  }
  return weights;
}

// ------------------------------------------------------------------------------------ small parts

function product(one, other) {
  let sum = 0;
  for (let c = 0; c < one.length; c++) sum += one[c] * other[c];
  return sum;
}

const plus = (one, other) => one.map((x, c) => x + other[c]);

function linear(weights, name, row) {
  const [rows, bias] = [weights[`${name}.weight`], weights[`${name}.bias`]];
  const out = new Float32Array(rows.length);
  for (let c = 0; c < rows.length; c++) out[c] = product(rows[c], row) + (bias ? bias[c] : 0);
  return out;
}

// hidden scores are -Infinity and get exactly 0; so do all if every one is hidden
function softmax(scores) {
  const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  if (largest === -Infinity) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((all, power) => all + power, 0);
  return powers.map((power) => power / sum);
}

function mixture(weights, rows, width) {
  const sum = new Float32Array(width);
  rows.forEach((row, j) => {
    for (let c = 0; c < width; c++) sum[c] += weights[j] * row[c];
  });
  return sum;
}

const best = (numbers) =>
  numbers.indexOf(numbers.reduce((most, x) => Math.max(most, x), -Infinity));
