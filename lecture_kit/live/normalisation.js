// The normalisation view: which entries share one mean, and who moves with whom.

const AXES = { B: 'sentences', T: 'tokens', D: 'features' };
const LETTERS = Object.keys(AXES);
// What a choice of axes is called, and what has one mean each.
const CHOICES = {
  '': ['No axis', 'each number minus itself, nothing is left'],
  D: ['Layer norm', 'one mean per token, as transformers use it'],
  BT: ['Batch norm', 'one mean per feature'],
  T: ['Instance norm', 'one mean per sentence and feature'],
  TD: ['T and D', 'one mean per sentence'],
  B: ['B', 'one mean per position and feature'],
  BD: ['B and D', 'one mean per position'],
  BTD: ['B, T and D', 'one mean for everything'],
};
const MOVED = 1e-4; // what is smaller no reader would call a change
const FULL_COLOUR = 2.5; // of normalised numbers
const MOST_IN_FULL = 12; // features whose numbers are written out; more are shown by colour alone

const sizes = [data.x.length, data.x[0].length, data.x[0][0].length];
const places = data.x.flatMap((rows, b) => rows.flatMap((row, t) => row.map((_, d) => [b, t, d])));
const at = (x, [b, t, d]) => x[b][t][d];
const copied = (x) => x.map((rows) => rows.map((row) => [...row]));

// `place` is [sentence, token, feature], from 0; `hover` is a cell under the mouse.
const state = { x: copied(data.x), over: new Set(data.over), place: data.chosen, hover: null };

// ------------------------------------------------------------------------------- normalisation

const isSame = (place, other) => place.every((here, axis) => here === other[axis]);
const shares = (place, other) =>
  place.every((here, axis) => state.over.has(LETTERS[axis]) || here === other[axis]);

function statisticsOf(numbers) {
  const mean = total(numbers.map((x) => x / numbers.length));
  const variance = total(numbers.map((x) => (x - mean) ** 2 / numbers.length));
  return { mean, variance };
}

// one for each mean: the first place that shares it, how many do, mean and variance
function groupsOf(x) {
  const firsts = places.filter((place) =>
    isSame(
      place,
      places.find((one) => shares(one, place)),
    ),
  );
  return firsts.map((first) => {
    const members = places.filter((place) => shares(first, place));
    return { first, count: members.length, ...statisticsOf(members.map((one) => at(x, one))) };
  });
}

function normalised(x, groups) {
  const y = copied(x);
  for (const place of places) {
    const { mean, variance } = groups.find(({ first }) => shares(first, place));
    const [b, t, d] = place;
    const alone = (at(x, place) - mean) / Math.sqrt(variance + data.eps);
    y[b][t][d] = data.gain ? alone * data.gain[d] + data.shift[d] : alone;
  }
  return y;
}

// ------------------------------------------------------------------------------ what is shown

const shown = () => state.hover ?? state.place;
const wordAt = ([b, t]) => data.words[b][t];
const nameOf = (place) =>
  `sentence ${place[0] + 1}, ${quoted(wordAt(place))}, feature ${place[2] + 1}`;
const chosenAxes = () => LETTERS.filter((axis) => state.over.has(axis)).join('');
const given = (x) =>
  number(x)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, ''); // 4.80 as 4.8
const several = (count, name) => `${count} ${name}${count === 1 ? '' : 's'}`;

function choose(place) {
  state.hover = null;
  state.place = place;
  update();
}

function setNumber(place, value) {
  const [b, t, d] = place;
  state.x[b][t][d] = value;
  update();
}

// ------------------------------------------------------------------------------------- the axes

function buildAxes() {
  const boxes = LETTERS.map((axis, which) => {
    const box = make('input', { type: 'checkbox', checked: state.over.has(axis), name: axis });
    box.addEventListener('change', () => {
      if (box.checked) state.over.add(axis);
      else state.over.delete(axis);
      update();
    });
    const size = make('small', {}, `${sizes[which]} ${AXES[axis]}`);
    return make('label', { className: 'axis' }, box, make('b', {}, axis), size);
  });
  page.choice = make('p', { className: 'choice', role: 'status' });
  const fields = make('fieldset', {}, make('legend', {}, 'average over'), ...boxes);
  return make('div', { className: 'axes' }, fields, page.choice);
}

function paintAxes(groups) {
  const [name, meaning] = CHOICES[chosenAxes()];
  const kept = LETTERS.filter((axis) => !state.over.has(axis));
  const product = kept.length ? ` (${kept.join(' · ')})` : '';
  page.choice.dataset.name = name;
  page.choice.replaceChildren(
    make('b', {}, name),
    `: ${meaning}. `,
    make('span', {}, `${several(groups.length, 'mean')}${product}.`),
  );
}

// ------------------------------------------------------------------------------------ the tables

const placeOf = (event) => {
  const cell = event.target.closest('td[data-place]');
  return cell && cell.dataset.place.split(',').map(Number);
};

function walk(event, side) {
  const place = placeOf(event);
  if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^([-.\d]|Enter|F2)$/.test(event.key)) {
    choose(place);
    page.field.focus();
    page.field.select();
    if (event.key.length > 1) event.preventDefault(); // a digit goes on into the field
    return;
  }
  // the sentences' rows follow each other
  const [, tokens] = sizes;
  const there = stepped(
    event,
    [place[0] * tokens + place[1], place[2]],
    [sizes[0] * tokens, sizes[2]],
  );
  if (!there) return;
  choose([Math.floor(there[0] / tokens), there[0] % tokens, there[1]]);
  side.cells.find(({ place: one }) => isSame(one, state.place)).cell.focus();
}

function point(event) {
  if (document.activeElement === page.field) return;
  const isOver = event.pointerType === 'mouse' && event.type === 'pointerover';
  const place = isOver ? placeOf(event) : null;
  if (!place && !state.hover) return;
  state.hover = place;
  update();
}

function sentenceTable(side, b) {
  const heads = data.x[b][0].map((_, d) => make('th', { scope: 'col' }, d + 1));
  const lines = data.x[b].map((row, t) => {
    const word = make('th', { scope: 'row', title: data.words[b][t] }, make('div'));
    side.words.push({ word, b, t });
    const cells = row.map((_, d) => {
      const inner = make('span');
      const cell = make('td', { 'data-place': `${b},${t},${d}` }, inner);
      side.cells.push({ cell, inner, place: [b, t, d] });
      return cell;
    });
    return make('tr', {}, word, ...cells);
  });
  const table = make(
    'table',
    {
      className: 'sheet',
      role: 'grid',
      onkeydown: (event) => walk(event, side),
      onclick: (event) => placeOf(event) && choose(placeOf(event)),
      onpointerover: point,
      onpointerleave: point,
    },
    make('caption', {}, `sentence ${b + 1}`, make('span', { className: 'unseen' }, side.said)),
    make('thead', {}, make('tr', {}, make('td', {}, 'feature'), ...heads)),
    make('tbody', {}, ...lines),
  );
  table.style.setProperty('--count', sizes[2]);
  return table;
}

function buildSide(name, said, title) {
  const side = { said, cells: [], words: [] };
  page[name] = side;
  const tables = data.x.map((_, b) => sentenceTable(side, b));
  return make('section', { className: name, id: name }, make('h3', {}, ...title), ...tables);
}

// the line around all cells that share the mean, drawn side by side
function outline([b, t, d]) {
  const inside = (place) => shares(shown(), place);
  if (!inside([b, t, d])) return 'none';
  const sides = [
    [t > 0 && inside([b, t - 1, d]), '0 2px'],
    [t < sizes[1] - 1 && inside([b, t + 1, d]), '0 -2px'],
    [d > 0 && inside([b, t, d - 1]), '2px 0'],
    [d < sizes[2] - 1 && inside([b, t, d + 1]), '-2px 0'],
  ];
  const open = sides.filter(([goesOn]) => !goesOn).map(([, line]) => `inset ${line} var(--ink)`);
  return open.join(', ') || 'none';
}

function paintSide(side, numbers, before, { limit, least, text }) {
  const moves = (place) => Math.abs(at(numbers, place) - at(before, place)) > least;
  for (const { cell, inner, place } of side.cells) {
    const [x, moved] = [at(numbers, place), moves(place)];
    inner.textContent = text(x);
    fill(inner, x / limit);
    cell.dataset.value = x;
    cell.style.boxShadow = outline(place);
    cell.classList.toggle('sharing', shares(shown(), place));
    cell.classList.toggle('shown', isSame(place, shown()));
    cell.classList.toggle('moved', moved);
    cell.tabIndex = isSame(place, state.place) ? 0 : -1;
    cell.ariaSelected = isSame(place, state.place);
    const was = moved ? `, was ${text(at(before, place))}` : '';
    const shared = shares(shown(), place) ? ', shares the mean' : '';
    cell.ariaLabel = `${wordAt(place)}, feature ${place[2] + 1}${side.said}: ${text(x)}${was}${shared}`;
  }
  for (const { word, b, t } of side.words) {
    const moved = data.x[b][t].some((_, d) => moves([b, t, d]));
    const mark = moved ? [make('i', { title: 'changed' }, 'Δ')] : [];
    word.firstChild.replaceChildren(make('span', {}, data.words[b][t]), ...mark);
    word.classList.toggle('shown', shown()[0] === b && shown()[1] === t);
  }
}

// -------------------------------------------------------------------------- the chosen number

function edit() {
  const value = page.field.valueAsNumber;
  const valid = Math.abs(value) <= LARGEST;
  page.field.ariaInvalid = !valid;
  page.refused.hidden = valid;
  if (valid) setNumber(state.place, value);
}

function shiftToken() {
  const [b, t] = state.place;
  const moved = state.x[b][t].map((x) => 10 * x - 4);
  if (moved.every((x) => Math.abs(x) <= LARGEST)) state.x[b][t] = moved;
  update();
}

function startAgain() {
  state.x = copied(data.x);
  update();
}

function buildEditor() {
  const limit = Math.max(5, 2 * Math.ceil(largestOf(data.x.flat())));
  page.field = make('input', { type: 'number', step: 'any', 'aria-describedby': 'refused' });
  page.field.addEventListener('input', edit);
  page.field.addEventListener('blur', () => update());
  page.field.addEventListener('keydown', ({ key }) => {
    if (key !== 'Enter') return;
    page.before.cells.find(({ place }) => isSame(place, state.place)).cell.focus();
  });
  page.slider = make('input', { type: 'range', min: -limit, max: limit, step: 0.1 });
  page.slider.addEventListener('input', () => setNumber(state.place, page.slider.valueAsNumber));
  page.refused = make(
    'p',
    { id: 'refused', role: 'status', hidden: true },
    'Not a number: the last one stays.',
  );
  page.title = make('h3');
  page.shift = button('10 x − 4', shiftToken);
  const buttons = [page.shift, button('numbers as given', startAgain)];
  return make(
    'div',
    { className: 'editor' },
    page.title,
    make('fieldset', {}, make('legend', {}, 'change it'), page.field, page.slider),
    page.refused,
    make('div', { className: 'controls' }, ...buttons),
  );
}

const over = (above, below) =>
  make('span', { className: 'fraction' }, make('span', {}, ...above), make('span', {}, ...below));
const root = (...inside) => ['√', make('span', { className: 'root' }, ...inside)];

function epsilon() {
  const [digits, power] = data.eps.toExponential().split('e');
  const raised = make('sup', {}, minus(power));
  return make('span', {}, digits === '1' ? '' : `${digits} · `, '10', raised);
}

function buildCalculation() {
  page.facts = make('dl', { className: 'facts' });
  page.formula = make('p', { className: 'formula', ariaHidden: true });
  page.spoken = make('p', { className: 'unseen' });
  return make('div', { className: 'calculation' }, page.facts, page.formula, page.spoken);
}

const signed = (x) => (x < 0 ? `(${number(x)})` : number(x));

function paintFacts(group) {
  const facts = {
    'entries that share this mean': String(group.count),
    'their mean μ': number(group.mean),
    'their variance σ²': number(group.variance),
  };
  const pairs = Object.entries(facts).map(([name, value]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value)),
  );
  page.facts.replaceChildren(...pairs);
  const values = page.facts.querySelectorAll('dd');
  [group.count, group.mean, group.variance].forEach(
    (x, which) => (values[which].dataset.value = x),
  );
}

function paintFormula(group, y) {
  const [x, d] = [at(state.x, shown()), shown()[2]];
  const scaled = data.gain ? ` · ${number(data.gain[d])} + ${signed(data.shift[d])}` : '';
  page.formula.replaceChildren(
    over(['x − μ'], root('σ² + ε')),
    data.gain ? ' · γ + β = ' : ' = ',
    over([`${number(x)} − ${signed(group.mean)}`], root(`${number(group.variance)} + `, epsilon())),
    `${scaled} = `,
    make('b', {}, number(y)),
  );
  page.spoken.textContent = `x minus μ, over the root of σ² plus ε: ${number(x)} minus ${number(group.mean)}, over the root of ${number(group.variance)} plus ${data.eps}${scaled}, is ${number(y)}.`;
}

function paintEditor() {
  const [place, x] = [shown(), at(state.x, shown())];
  page.title.replaceChildren(
    make('b', {}, quoted(wordAt(place))),
    `, feature ${place[2] + 1}, in sentence ${place[0] + 1}`,
  );
  page.field.ariaLabel = nameOf(place);
  page.slider.ariaLabel = `${nameOf(place)}, by hand`;
  page.slider.value = x;
  page.slider.ariaValueText = number(x);
  page.shift.ariaLabel = `10 x − 4 for every feature of ${quoted(wordAt(state.place))}`;
  if (document.activeElement === page.field) return;
  page.field.value = Number(x.toPrecision(6));
  page.field.ariaInvalid = false;
  page.refused.hidden = true;
}

// ------------------------------------------------------------------------------------ who moved

function paintChanges(y, before) {
  const changed = places.filter((place) => at(state.x, place) !== at(data.x, place));
  const moved = places.filter((place) => Math.abs(at(y, place) - at(before, place)) > MOVED);
  const tokens = new Set(moved.map(([b, t]) => `${b},${t}`)).size;
  page.changes.dataset.counts = [changed.length, moved.length, tokens];
  if (!changed.length) {
    page.changes.textContent =
      'Change a number: whatever moves with it gets a corner, and its token a Δ.';
    return;
  }
  page.changes.replaceChildren(
    `You changed ${several(changed.length, 'number')} of x. After the norm, `,
    make('b', {}, `${moved.length} of ${places.length} numbers moved`),
    `, in ${tokens} of ${several(sizes[0] * sizes[1], 'token')}.`,
  );
}

// ----------------------------------------------------------------------------------------- tables

function groupName([b, t, d]) {
  const parts = [`sentence ${b + 1}`, `token ${t + 1}`, `feature ${d + 1}`];
  return parts.filter((_, axis) => !state.over.has(LETTERS[axis])).join(', ') || 'everything';
}

function paintTables(groups, y) {
  if (!page.tables.open) return;
  const features = data.x[0][0].map((_, d) => `feature ${d + 1}`);
  const rowsOf = (x) =>
    x.flatMap((rows, b) =>
      rows.map((numbers, t) => ({ name: `${b + 1}: ${data.words[b][t]}`, numbers })),
    );
  const means = groups.map((group) => ({
    name: groupName(group.first),
    numbers: [group.mean, group.variance],
  }));
  page.tableBox.replaceChildren(
    numberTable('After the norm', features, rowsOf(y)),
    numberTable('All means', ['μ', 'σ²'], means),
  );
}

function buildTables() {
  page.tableBox = make('div');
  page.tables = folded('all numbers as tables', false, page.tableBox);
  return page.tables;
}

// -------------------------------------------------------------------------------------- the whole

function build() {
  const hint = make(
    'p',
    { className: 'hint' },
    'Point at a number, or walk with the arrow keys; type to change it. Blank is zero, purple above, ochre below.',
  );
  const before = buildSide('before', ', before the norm', [
    make('b', {}, 'x'),
    ', before the norm',
  ]);
  const after = buildSide('after', ', after the norm', [
    make('b', {}, 'after the norm'),
    data.gain ? ', with γ and β' : ', without γ and β',
  ]);
  page.changes = make('p', { className: 'changes', role: 'status' });
  after.append(page.changes);
  before.append(hint);
  document.body.classList.toggle('fine', sizes[2] > MOST_IN_FULL);
  const panel = make('div', { className: 'panel' }, buildEditor(), buildCalculation());
  page.view.replaceChildren(buildAxes(), before, panel, after, buildTables());
  update();
}

function update() {
  const groups = groupsOf(state.x);
  const [y, unchanged] = [normalised(state.x, groups), normalised(data.x, groupsOf(data.x))];
  const group = groups.find(({ first }) => shares(first, shown()));
  paintAxes(groups);
  const largest = largestOf(data.x.flat());
  paintSide(page.before, state.x, data.x, { limit: largest, least: 0, text: given });
  paintSide(page.after, y, unchanged, { limit: FULL_COLOUR, least: MOVED, text: number });
  paintEditor();
  paintFacts(group);
  paintFormula(group, at(y, shown()));
  paintChanges(y, unchanged);
  paintTables(groups, y);
}

build();
followPage();
