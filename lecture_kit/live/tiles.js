// The view of a softmax in one pass: one query, its keys block by block, and what is carried along.

// `done` blocks have been read; `scores` are the reader's own.
const state = { done: 0 };

// ------------------------------------------------------------------------------- the computation

const blocks = () =>
  Array.from({ length: Math.ceil(state.scores.length / state.block) }, (_, k) =>
    state.scores.map((_, j) => j).slice(k * state.block, (k + 1) * state.block),
  );

// what is carried along after the first `count` blocks, and the factor of the last of them
function carried(count) {
  let [m, sum, output, factor] = [-Infinity, 0, 0, 1];
  for (const block of blocks().slice(0, count)) {
    const before = m;
    m = Math.max(m, ...block.map((j) => state.scores[j]));
    factor = Math.exp(before - m);
    const powers = block.map((j) => Math.exp(state.scores[j] - m));
    sum = factor * sum + total(powers);
    output = factor * output + total(block.map((j, at) => powers[at] * data.values[j]));
  }
  return { m, sum, output, factor };
}

const most = () => Math.max(...state.scores);
const atOnce = () => {
  const powers = state.scores.map((score) => Math.exp(score - most()));
  return total(powers.map((power, j) => power * data.values[j])) / total(powers);
};

// ------------------------------------------------------------------------------------ controls

function step(count) {
  state.done = Math.max(0, Math.min(blocks().length, state.done + count));
  update();
}

function scoreField(j) {
  const input = make('input', { type: 'number', step: 0.5, min: -100, max: 100 });
  input.ariaLabel = `score of key ${j + 1}`;
  input.value = String(Number(data.scores[j].toFixed(2)));
  input.addEventListener('input', () => {
    const typed = input.valueAsNumber;
    const fits = Number.isFinite(typed) && Math.abs(typed) <= 100;
    input.ariaInvalid = fits ? null : 'true';
    if (!fits) return;
    state.scores[j] = typed;
    update();
  });
  return input;
}

function build() {
  const sizes = data.scores.map((_, j) => ({ text: String(j + 1), value: String(j + 1) }));
  const size = selection('keys in a block', sizes, String(data.block), (value) => {
    Object.assign(state, { block: Number(value), done: 0 });
    update();
  });
  page.next = button('next block', () => step(1));
  page.back = button('one block back', () => step(-1));
  page.again = button('begin again', () => step(-Infinity));
  page.cells = data.scores.map((_, j) => {
    const [name, value] = [`key ${j + 1}`, number(data.values[j])];
    const weight = make('span', { className: 'share' });
    const cell = make(
      'div',
      { className: 'cell' },
      make('span', { className: 'name' }, name),
      scoreField(j),
      make('span', { className: 'value' }, `v = ${value}`),
      weight,
    );
    return { cell, weight };
  });
  const keys = make('div', { className: 'keys', role: 'group', ariaLabel: 'scores and values' });
  keys.append(...page.cells.map(({ cell }) => cell));
  page.carried = make('div', { className: 'carried' });
  page.told = make('p', { className: 'told', role: 'status' });
  const hint = make(
    'p',
    { className: 'hint' },
    'Change a score, and step through the blocks again. A factor below 1 is a rescaling.',
  );
  const choices = make('div', { className: 'choices' }, page.next, page.back, page.again, size);
  page.view.replaceChildren(choices, keys, page.carried, page.told, hint);
}

// ---------------------------------------------------------------------------------- the picture

function paintKeys() {
  const list = blocks();
  const seen = list.slice(0, state.done).flat();
  const current = state.done ? list[state.done - 1] : [];
  const { m } = carried(state.done);
  page.cells.forEach(({ cell, weight }, j) => {
    const block = list.findIndex((one) => one.includes(j));
    cell.dataset.first = String(list[block][0] === j);
    cell.classList.toggle('seen', seen.includes(j));
    cell.classList.toggle('current', current.includes(j));
    weight.textContent = seen.includes(j) ? `e^(ω−m) ${number(Math.exp(state.scores[j] - m))}` : '';
  });
}

function paintCarried() {
  const [before, after] = [carried(Math.max(0, state.done - 1)), carried(state.done)];
  const shown = (x) => (x === -Infinity ? '−∞' : number(x));
  const line = (name, key) => {
    const from = state.done
      ? [make('span', { className: 'before' }, shown(before[key])), ' → ']
      : [];
    const now = make('b', {}, shown(after[key]));
    return make('p', {}, make('span', { className: 'name' }, name), ...from, now);
  };
  page.carried.replaceChildren(
    line('maximum m', 'm'),
    line('sum ℓ', 'sum'),
    line('output o', 'output'),
  );
  page.carried.classList.toggle('rescaled', state.done > 1 && after.factor < 1);
}

function tell() {
  const { m, sum, output, factor } = carried(state.done);
  if (!state.done) {
    page.told.textContent =
      'No block has been read yet, so m is −∞, and the sum and the output are 0.';
    return;
  }
  const moved =
    state.done === 1
      ? 'The first block sets the maximum.'
      : factor < 1
        ? `The maximum has risen to ${number(m)}, so sum and output were multiplied by ${factor.toPrecision(3)} before the block was added.`
        : 'The maximum has stayed, so the block was added without any rescaling.';
  const left = blocks().length - state.done;
  const end = left
    ? `${left === 1 ? 'One block is' : `${left} blocks are`} still to come.`
    : `The result is o / ℓ = ${number(output / sum)}, and a softmax over all keys at once gives ${number(atOnce())}.`;
  page.told.textContent = `${moved} ${end}`;
}

function update() {
  page.next.disabled = state.done === blocks().length;
  page.back.disabled = page.again.disabled = state.done === 0;
  paintKeys();
  paintCarried();
  tell();
}

function start() {
  Object.assign(state, { scores: [...data.scores], block: data.block });
  build();
  update();
  followPage();
}

start();
