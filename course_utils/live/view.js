'use strict';
// The live attention view. One page, one view: each view stands in an iframe of its own.
// Everything shown is made with textContent, so words are never read as HTML.

const data = JSON.parse(document.getElementById('data').textContent);
const FIELDS = ['sentence', 'model', 'layer', 'head'];
const LARGEST = 1e100; // numbers typed by the reader stay where products are finite
const TEMPERATURES = [1e-6, 1e6];

// What is looked at now. `query` and `key` count from 0; `hover` is a cell under the mouse.
const state = { index: 0, query: 0, key: 0, step: 0, hover: null, draws: false, compare: 'none' };
// The elements that change, by name.
const page = {};

// ------------------------------------------------------------------------------- attention

const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
const dot = (one, other) => total(one.map((number, c) => number * other[c]));

// softmax over the visible scores; hidden ones get exactly 0, and so do all if none is visible
function maskedSoftmax(scores, visible) {
  const largest = Math.max(...scores.filter((_, j) => visible[j]));
  const powers = scores.map((score, j) => (visible[j] ? Math.exp(score - largest) : 0));
  const sum = total(powers);
  const weights = powers.map((power) => (sum > 0 ? power / sum : 0));
  return { largest, powers, sum, weights };
}

// one query: every number between it and its output
function attendOne(query, keys, values, visible, temperature) {
  const asked = query.map((number) => number / temperature);
  const products = keys.map((key) => dot(query, key));
  const scores = keys.map((key) => dot(asked, key));
  const { largest, powers, sum, weights } = maskedSoftmax(scores, visible);
  const mixed = values.map((value, j) => value.map((number) => weights[j] * number));
  const output = values[0].map((_, c) => total(mixed.map((row) => row[c])));
  return { products, scores, largest, powers, sum, weights, mixed, output };
}

function attend({ q, k, v, mask }, temperature) {
  return q.map((query, i) => attendOne(query, k, v, mask[i], temperature));
}

// --------------------------------------------------------------------------------- numbers

const minus = (text) => text.replace('-', '−');

function number(x) {
  const size = Math.abs(x);
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  if (size >= 1e5) return minus(x.toExponential(1).replace('e+', 'e'));
  const text = x.toFixed(size >= 1000 ? 0 : 2);
  return minus(text.replace(/^-(0\.00)$/, '$1'));
}

// a weight in a map: 0.28, or .28 where cells are narrow
function share(x, signed, narrow) {
  const text = Math.abs(x).toFixed(2);
  const plus = narrow ? '' : '+';
  const sign = signed && text !== '0.00' ? (x < 0 ? '−' : plus) : '';
  return sign + (narrow ? text.replace(/^0/, '').replace('1.00', '1') : text);
}

const inBrackets = (numbers) => numbers.map(number).join(', ');
const quoted = (word) => `“${word}”`;

// --------------------------------------------------------------------------------- colours

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const ramp = data.ramp.map(channels);

// -1 is dark orange, 0 is white, 1 is dark purple
function colourOf(x) {
  const place = ((Math.max(-1, Math.min(1, x)) + 1) / 2) * (ramp.length - 1);
  const below = Math.min(Math.floor(place), ramp.length - 2);
  const part = place - below;
  return ramp[below].map((from, c) => Math.round(from + part * (ramp[below + 1][c] - from)));
}

function luminance(colour) {
  const linear = colour
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// black or white, whichever has more contrast
const textOn = (colour) => (luminance(colour) > 0.179 ? '#000' : '#fff');

function fill(element, x) {
  const colour = colourOf(x);
  element.style.background = `rgb(${colour})`;
  element.style.color = textOn(colour);
}

// a vector as a strip of coloured bands
function strip(numbers, largest) {
  const width = 100 / numbers.length;
  const bands = numbers.map(
    (x, c) => `rgb(${colourOf(x / largest)}) ${c * width}% ${(c + 1) * width}%`,
  );
  return `linear-gradient(to right, ${bands.join(', ')})`;
}

const largestOf = (rows) => Math.max(1e-9, ...rows.flat().map(Math.abs));

// -------------------------------------------------------------------------------- elements

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes('-')) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const button = (text, onclick, more = {}) =>
  make('button', { type: 'button', onclick, ...more }, text);

function selection(label, options, chosen, onchoose) {
  const select = make('select', { onchange: () => onchoose(options[select.selectedIndex].value) });
  for (const { text, value } of options) {
    select.append(make('option', { selected: value === chosen }, text));
  }
  return make('label', { className: 'field' }, make('span', {}, label), select);
}

const head = (scope, className, text) => make('th', { scope, className, title: text }, text);

// ------------------------------------------------------------------------------ what is shown

const item = () => data.items[state.index];
const rootOfWidth = (it) => Math.sqrt(it.q[0].length);
const maskOf = (it) =>
  it.mask
    ? it.mask.map((row) => [...row].map((mark) => mark === '1'))
    : it.queries.map(() => it.keys.map(() => true));
const asGiven = (it) => attend({ ...it, mask: maskOf(it) }, data.temperature ?? rootOfWidth(it));

function nameOf(it) {
  const parts = [it.model, it.layer && `layer ${it.layer}`, it.head && `head ${it.head}`];
  return parts.filter(Boolean).join(', ') || it.sentence;
}

// the cell under the mouse, or else the chosen one
const shownQuery = () => (state.hover ? state.hover[0] : state.query);
const shownKey = () => (state.hover ? state.hover[1] : state.key);

// attentions over the same words, which can stand beside this one
function comparable() {
  const words = (it) => JSON.stringify([it.queries, it.keys]);
  const here = words(item());
  return data.items
    .map((it, index) => ({ it, index }))
    .filter(({ it, index }) => index !== state.index && words(it) === here)
    .map(({ it, index }) => ({ text: nameOf(it), value: String(index) }));
}

const comparedItem = () => (state.compare === 'before' ? item() : data.items[state.compare]);

function restart() {
  const it = item();
  state.q = it.q.map((row) => [...row]);
  state.mask = maskOf(it);
  state.temperature = data.temperature ?? rootOfWidth(it);
  state.hover = null;
}

function open(index) {
  state.index = index;
  state.query = Math.min(state.query, item().queries.length - 1);
  state.key = Math.min(state.key, item().keys.length - 1);
  restart();
  const others = comparable().map(({ value }) => value);
  if (!['none', 'before', ...others].includes(state.compare)) state.compare = 'none';
  build();
}

function choose(query, key) {
  state.hover = null;
  state.query = query;
  state.key = key;
  update();
}

function setMask(decide) {
  state.mask = state.mask.map((row, i) => row.map((was, j) => decide(i, j, was)));
  update();
}

const flip = (query, key) => setMask((i, j, was) => (i === query && j === key ? !was : was));

// ------------------------------------------------------------------------------------ choices

// values of a field among attentions that agree with this one in the fields before it
function valuesOf(field) {
  const before = FIELDS.slice(0, FIELDS.indexOf(field));
  const agreeing = data.items.filter((it) => before.every((name) => it[name] === item()[name]));
  return [...new Set(agreeing.map((it) => it[field]))];
}

// the attention with this value that keeps as many of the other fields as it can
function withValue(field, value) {
  const before = FIELDS.slice(0, FIELDS.indexOf(field));
  const fits = (it) => it[field] === value && before.every((name) => it[name] === item()[name]);
  const kept = (it) => FIELDS.filter((name) => it[name] === item()[name]).length;
  const found = data.items.map((it, index) => ({ it, index })).filter(({ it }) => fits(it));
  return found.reduce((best, next) => (kept(next.it) > kept(best.it) ? next : best)).index;
}

function choices() {
  const fields = FIELDS.filter((field) => new Set(data.items.map((it) => it[field])).size > 1);
  const selects = fields.map((field) =>
    selection(
      field,
      valuesOf(field).map((value) => ({ text: String(value ?? '–'), value })),
      item()[field],
      (value) => {
        open(withValue(field, value));
        page.choices.querySelectorAll('select')[fields.indexOf(field)].focus();
      },
    ),
  );
  const options = [
    { text: 'nothing', value: 'none' },
    { text: 'itself, unchanged', value: 'before' },
    ...comparable(),
  ];
  const compare = selection('compare with', options, state.compare, (value) => {
    state.compare = value;
    build();
    page.choices.querySelector('label:last-child select').focus();
  });
  return [...selects, compare];
}

// ---------------------------------------------------------------------------------- temperature

function setTemperature(value) {
  if (!(value >= TEMPERATURES[0] && value <= TEMPERATURES[1])) return;
  state.temperature = value;
  update();
}

function temperatureControls() {
  const root = rootOfWidth(item());
  page.slider = make('input', {
    type: 'range',
    min: -6,
    max: 6,
    step: 0.25,
    'aria-label': 'temperature τ, each step by a factor of 1.19',
    oninput: () => setTemperature(root * 2 ** Number(page.slider.value)),
  });
  page.temperature = make('input', {
    type: 'number',
    min: 0,
    step: 'any',
    'aria-label': 'temperature τ',
    oninput: () => setTemperature(page.temperature.valueAsNumber),
  });
  const presets = { 1: 1, '√dₖ': root, dₖ: root * root };
  const buttons = Object.entries(presets).map(([text, value]) =>
    button(text, () => setTemperature(value), { 'aria-label': `τ = ${text}` }),
  );
  const name = make('legend', {}, 'temperature τ');
  return make('fieldset', {}, name, page.slider, page.temperature, ...buttons);
}

function maskControls() {
  const it = item();
  page.draw = button('click to hide or show', () => {
    state.draws = !state.draws;
    update();
  });
  const buttons = [
    page.draw,
    button('see all', () => setMask(() => true)),
    button('as given', () => {
      const given = maskOf(it);
      setMask((i, j) => given[i][j]);
    }),
  ];
  if (it.queries.length === it.keys.length) {
    buttons.splice(
      2,
      0,
      button('not ahead', () => setMask((i, j) => j <= i)),
    );
  }
  return make('fieldset', {}, make('legend', {}, 'mask'), ...buttons);
}

function controls() {
  const reset = button('start again', () => {
    restart();
    update();
  });
  return [temperatureControls(), maskControls(), reset];
}

// ----------------------------------------------------------------------------------------- maps

const STEPS_OF_KEYS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
  PageUp: [-Infinity, 0],
  PageDown: [Infinity, 0],
};

const within = (place, size) => Math.max(0, Math.min(size - 1, place));

function placeOf(event) {
  const cell = event.target.closest('td[data-place], th[data-place]');
  if (!cell) return null;
  const [query, key] = cell.dataset.place.split(',');
  return [query === '' ? state.query : Number(query), key === '' ? state.key : Number(key)];
}

function walk(event, map) {
  const place = placeOf(event);
  if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === ' ' || event.key === 'Enter') flip(...place);
  else if (event.key in STEPS_OF_KEYS) {
    const [down, right] = STEPS_OF_KEYS[event.key];
    const query = within(place[0] + down, item().queries.length);
    const key = within(place[1] + right, item().keys.length);
    choose(query, key);
    map.cells[query][key].focus();
  } else return;
  event.preventDefault();
}

function press(event, drawn) {
  const place = placeOf(event);
  if (!place) return;
  const isCell = event.target.closest('td[data-place]');
  choose(...place);
  if (state.draws && drawn && isCell) flip(...place);
}

function point(event) {
  const place = event.pointerType === 'mouse' && event.type === 'pointerover' && placeOf(event);
  if (!place && !state.hover) return;
  state.hover = place || null;
  update();
}

function buildMap(caption, signed, drawn) {
  const { queries, keys } = item();
  const map = { signed, cells: queries.map(() => []), rows: [], columns: [] };
  const top = make('tr', {}, make('td', { className: 'corner' }));
  keys.forEach((word, j) => {
    const column = make('th', { scope: 'col', className: 'key', title: word });
    column.dataset.place = `,${j}`;
    column.append(make('span', {}, word));
    map.columns.push(column);
    top.append(column);
  });
  const body = make('tbody');
  queries.forEach((word, i) => {
    const row = head('row', 'query', word);
    row.dataset.place = `${i},`;
    map.rows.push(row);
    const line = make('tr', {}, row);
    keys.forEach((_, j) => {
      const cell = make('td', { tabIndex: -1 });
      cell.dataset.place = `${i},${j}`;
      map.cells[i].push(cell);
      line.append(cell);
    });
    body.append(line);
  });
  map.caption = make('caption', {}, caption);
  map.table = make(
    'table',
    {
      className: signed ? 'map signed' : 'map',
      role: 'grid',
      onkeydown: (event) => walk(event, map),
      onclick: (event) => press(event, drawn),
      onpointerover: point,
      onpointerleave: point,
    },
    map.caption,
    make('thead', {}, top),
    body,
  );
  map.table.style.setProperty('--count', keys.length);
  map.element = make('div', { className: 'scroll' }, map.table);
  return map;
}

function paintCell(map, i, j, weight, hidden) {
  const { queries, keys } = item();
  const cell = map.cells[i][j];
  const chosen = i === state.query && j === state.key;
  cell.textContent = hidden ? '' : share(weight, map.signed, map.narrow);
  cell.dataset.value = weight;
  cell.classList.toggle('hidden', hidden);
  cell.classList.toggle('shown', i === shownQuery() && j === shownKey());
  cell.tabIndex = chosen ? 0 : -1;
  const what = map.signed ? 'difference' : 'weight';
  const said = hidden ? 'hidden, weight 0' : `${what} ${share(weight, map.signed)}`;
  cell.ariaLabel = `${queries[i]} looks at ${keys[j]}: ${said}`;
  cell.ariaSelected = chosen;
  fill(cell, weight);
}

function paintMap(map, weights, mask) {
  map.narrow = map.cells[0][0].offsetWidth < 34;
  weights.forEach((row, i) => row.forEach((w, j) => paintCell(map, i, j, w, !mask[i][j])));
  map.rows.forEach((row, i) => row.classList.toggle('shown', i === shownQuery()));
  map.columns.forEach((column, j) => column.classList.toggle('shown', j === shownKey()));
}

function buildMaps() {
  const compares = state.compare !== 'none';
  document.body.classList.toggle('compares', compares);
  const other = compares && (comparedItem() === item() ? 'unchanged' : nameOf(comparedItem()));
  const own = compares ? `A: ${nameOf(item())}` : 'Weights';
  page.map = buildMap(own, false, true);
  page.map.table.id = 'map';
  page.other = compares && buildMap(`B: ${other}`, false, false);
  page.difference = compares && buildMap('A − B, the difference', true, false);
  return [page.map, page.other, page.difference].filter(Boolean).map((map) => map.element);
}

function paintMaps(rows) {
  const weights = rows.map((row) => row.weights);
  paintMap(page.map, weights, state.mask);
  if (!page.other) return;
  const it = comparedItem();
  const others = asGiven(it).map((row) => row.weights);
  const differences = weights.map((row, i) => row.map((w, j) => w - others[i][j]));
  paintMap(page.other, others, maskOf(it));
  paintMap(
    page.difference,
    differences,
    state.mask.map((row) => row.map(() => true)),
  );
}

// ----------------------------------------------------------------------------------------- flow

const STEPS = ['q · k', '÷ τ', 'mask', 'softmax', '× value', 'output'];

function stepChoice() {
  const radios = STEPS.map((text, step) => {
    const radio = make('input', { type: 'radio', name: 'step', checked: step === state.step });
    radio.addEventListener('change', () => {
      state.step = step;
      update();
    });
    return make('label', {}, radio, make('span', {}, `${step + 1} ${text}`));
  });
  const next = button('next step', () => {
    state.step = (state.step + 1) % STEPS.length;
    radios[state.step].querySelector('input').checked = true;
    update();
  });
  const steps = make('div', { className: 'steps', role: 'radiogroup' }, ...radios);
  steps.ariaLabel = 'step of the calculation';
  return make('div', { className: 'walk' }, steps, next);
}

function flowRow(word, j) {
  const cells = STEPS.slice(0, 5).map(() => make('td'));
  const box = make('input', { type: 'checkbox', onchange: () => flip(state.query, j) });
  const after = make('span');
  cells[2].append(make('label', {}, box, after));
  const bar = make('i');
  const weight = make('span');
  cells[3].append(bar, weight);
  const bands = make('i', { className: 'strip' });
  const said = make('span', { className: 'unseen' });
  cells[4].append(bands, said);
  const row = make(
    'tr',
    {
      onclick: (event) => event.target.closest('label') || choose(state.query, j),
      onfocusin: () => state.key === j || choose(state.query, j),
    },
    head('row', 'key', word),
    ...cells,
  );
  return { row, cells, box, after, bar, weight, bands, said };
}

function buildFlow() {
  page.flowRows = item().keys.map(flowRow);
  const heads = ['key', 'q · k', '÷ τ', 'mask', 'softmax: weight', 'weight × value'];
  page.heads = heads.map((text) => make('th', { scope: 'col' }, text));
  page.sum = make('td');
  page.output = make('i', { className: 'strip' });
  page.outputSaid = make('span', { className: 'unseen' });
  page.outputCell = make('td', {}, page.output, page.outputSaid);
  const foot = make(
    'tr',
    {},
    make('th', { scope: 'row', colSpan: 4 }, 'output: the sum of the weighted values'),
    page.sum,
    page.outputCell,
  );
  page.flowCaption = make('caption');
  const table = make(
    'table',
    { className: 'flow', id: 'flow' },
    page.flowCaption,
    make('thead', {}, make('tr', {}, ...page.heads)),
    make('tbody', {}, ...page.flowRows.map(({ row }) => row)),
    make('tfoot', {}, foot),
  );
  page.told = make('p', { className: 'told', role: 'status' });
  return [make('div', { className: 'scroll' }, table), stepChoice(), page.told];
}

function paintFlowRow(parts, row, j, largest) {
  const { keys } = item();
  const visible = state.mask[shownQuery()][j];
  const numbers = [row.products[j], row.scores[j], visible ? row.scores[j] : -Infinity];
  parts.cells[0].textContent = number(numbers[0]);
  parts.cells[1].textContent = number(numbers[1]);
  parts.after.textContent = number(numbers[2]);
  parts.box.checked = visible;
  parts.box.ariaLabel = `${item().queries[shownQuery()]} may look at ${keys[j]}`;
  parts.weight.textContent = number(row.weights[j]);
  parts.bar.style.width = `${100 * row.weights[j]}%`;
  parts.bands.style.background = strip(row.mixed[j], largest);
  parts.said.textContent = inBrackets(row.mixed[j]);
  [...numbers, row.weights[j]].forEach((x, step) => (parts.cells[step].dataset.value = x));
  parts.cells.forEach((cell, step) => cell.classList.toggle('now', step === state.step));
  parts.row.classList.toggle('shown', j === shownKey());
  parts.row.classList.toggle('masked', !visible);
}

function paintFlow(row) {
  const word = item().queries[shownQuery()];
  const largest = largestOf([...row.mixed, row.output]);
  page.flowCaption.replaceChildren(
    'From the query ',
    make('b', { className: 'query' }, word),
    ' to its output',
  );
  page.heads[2].textContent = `÷ τ = ${number(state.temperature)}`;
  page.heads.forEach((cell, step) => cell.classList.toggle('now', step - 1 === state.step));
  page.flowRows.forEach((parts, j) => paintFlowRow(parts, row, j, largest));
  page.sum.textContent = `Σ ${number(total(row.weights))}`;
  page.output.style.background = strip(row.output, largest);
  page.outputSaid.textContent = inBrackets(row.output);
  page.outputCell.classList.toggle('now', state.step === 5);
}

// ------------------------------------------------------------------- a step in words, with numbers

function sumInWords(terms, result) {
  const first = terms.slice(0, 3).join(' + ');
  return `${first}${terms.length > 3 ? ' + …' : ''} = ${number(result)}`;
}

function signedTerm(x) {
  return x < 0 ? `(${number(x)})` : number(x);
}

const TOLD = [
  (row, j, query) => {
    const terms = query.map((x, c) => `${signedTerm(x)} · ${signedTerm(item().k[j][c])}`);
    return `Multiply number by number, then add: ${sumInWords(terms, row.products[j])}.`;
  },
  (row, j) => {
    const root = rootOfWidth(item());
    const isRoot = Math.abs(state.temperature - root) < 1e-9 * root;
    const why = isRoot
      ? `τ is √dₖ, the root of ${item().q[0].length}.`
      : `√dₖ would be ${number(root)}.`;
    const division = `${number(row.products[j])} ÷ ${number(state.temperature)}`;
    return `${division} = ${number(row.scores[j])}. ${why}`;
  },
  (row, j, _, visible) =>
    visible ? `Visible: the score stays ${number(row.scores[j])}.` : 'Hidden: the score is −∞.',
  (row, j, _, visible) => {
    if (row.sum === 0) return 'No key is visible: all weights are 0.';
    if (!visible) return 'Hidden: e to the −∞ is 0, and so is the weight.';
    const power = `e^(${number(row.scores[j])} − ${signedTerm(row.largest)}) = ${number(row.powers[j])}`;
    const [part, sum] = [row.powers[j], row.sum].map(number);
    return `${power}, where ${number(row.largest)} is the largest visible score. ${part} ÷ ${sum}, the sum over all keys, is ${number(row.weights[j])}.`;
  },
  (row, j) => {
    const first = `${number(row.weights[j])} · ${signedTerm(item().v[j][0])}`;
    return `Every number of the value counts ${number(row.weights[j])} times. The first: ${first} = ${number(row.mixed[j][0])}.`;
  },
  (row) => {
    const terms = row.mixed.map((values) => signedTerm(values[0]));
    return `Add the weighted values of all keys. The first number: ${sumInWords(terms, row.output[0])}.`;
  },
];

function tell(row) {
  const [i, j] = [shownQuery(), shownKey()];
  const { queries, keys } = item();
  const text = TOLD[state.step](row, j, state.q[i], state.mask[i][j]);
  const pair = `${quoted(queries[i])} looks at ${quoted(keys[j])}. `;
  page.told.replaceChildren(make('b', {}, pair), text);
}

// ------------------------------------------------------------------------------ number by number

function editQuery(input, c) {
  const value = input.valueAsNumber;
  const valid = Math.abs(value) <= LARGEST;
  input.ariaInvalid = !valid;
  if (!valid) return;
  state.q[state.query][c] = value;
  update();
}

function buildProducts() {
  const name = make('div', { className: 'card names', ariaHidden: true });
  ['', 'query', '× key', '= '].forEach((text) => name.append(make('span', {}, text)));
  page.products = item().q[0].map((_, c) => {
    const input = make('input', { type: 'number', step: 0.1, oninput: () => editQuery(input, c) });
    input.ariaLabel = `query, number ${c + 1}`;
    input.addEventListener('blur', update);
    const [key, product] = [make('span', { className: 'key' }), make('span')];
    const place = make('small', {}, c + 1);
    const card = make('div', { className: 'card', role: 'group' }, place, input, key, product);
    return { card, input, key, product };
  });
  page.productsTitle = make('h3');
  const cards = page.products.map(({ card }) => card);
  return make(
    'section',
    {},
    page.productsTitle,
    make('div', { className: 'cards' }, name, ...cards),
  );
}

function buildMixture() {
  const name = make('div', { className: 'card names', ariaHidden: true });
  ['', 'value', '× weight', 'output'].forEach((text) => name.append(make('span', {}, text)));
  page.mixture = item().v[0].map((_, c) => {
    const [value, part, output] = ['value', '', 'output'].map((className) =>
      make('span', { className }),
    );
    const place = make('small', {}, c + 1);
    const card = make('div', { className: 'card', role: 'group' }, place, value, part, output);
    return { card, value, part, output };
  });
  page.mixtureTitle = make('h3');
  const cards = page.mixture.map(({ card }) => card);
  return make(
    'section',
    {},
    page.mixtureTitle,
    make('div', { className: 'cards', id: 'output' }, name, ...cards),
  );
}

function paintProducts(row) {
  const [i, j] = [shownQuery(), shownKey()];
  const { queries, keys, k } = item();
  const [query, key] = [state.q[i], k[j]];
  const products = query.map((x, c) => x * key[c]);
  const largest = largestOf([products]);
  page.productsTitle.replaceChildren(
    'q · k: ',
    make('b', { className: 'query' }, queries[i]),
    ' with ',
    make('b', { className: 'key' }, keys[j]),
    `, ${number(row.products[j])}. Change the query’s numbers.`,
  );
  page.products.forEach(({ card, input, key: shown, product }, c) => {
    if (document.activeElement !== input) {
      input.value = Number(query[c].toPrecision(6));
      input.ariaInvalid = false;
    }
    shown.textContent = number(key[c]);
    product.textContent = number(products[c]);
    fill(product, products[c] / largest);
    card.ariaLabel = `number ${c + 1}: query ${number(query[c])} times key ${number(key[c])}`;
  });
}

function paintMixture(row) {
  const j = shownKey();
  const { queries, keys, v } = item();
  const largest = largestOf([...row.mixed, row.output]);
  page.mixtureTitle.replaceChildren(
    `weight × value: ${number(row.weights[j])} of `,
    make('b', { className: 'value' }, keys[j]),
    ' goes into the output of ',
    make('b', { className: 'query' }, queries[shownQuery()]),
    '.',
  );
  page.mixture.forEach(({ card, value, part, output }, c) => {
    value.textContent = number(v[j][c]);
    part.textContent = number(row.mixed[j][c]);
    fill(part, row.mixed[j][c] / largest);
    output.textContent = number(row.output[c]);
    output.dataset.value = row.output[c];
    fill(output, row.output[c] / largest);
    card.ariaLabel = `number ${c + 1}: value, weighted, and in the output`;
  });
}

// ----------------------------------------------------------------------------------------- tables

function numberTable(caption, columns, rows) {
  const top = make('tr', {}, make('td'), ...columns.map((text) => head('col', '', text)));
  const lines = rows.map((row, i) => {
    const cells = row.map((x) => make('td', { 'data-value': x }, minus(x.toPrecision(4))));
    return make('tr', {}, head('row', 'query', item().queries[i]), ...cells);
  });
  const [above, body] = [make('thead', {}, top), make('tbody', {}, ...lines)];
  const table = make('table', { className: 'plain' }, make('caption', {}, caption), above, body);
  const scroll = make('div', { className: 'scroll', tabIndex: 0, role: 'region' }, table);
  scroll.ariaLabel = caption;
  return scroll;
}

function paintTables(rows) {
  if (!page.tables.open) return;
  const { keys, v } = item();
  const places = v[0].map((_, c) => String(c + 1));
  const titles = ['Scores q · k ÷ τ, before the mask', 'Weights', 'Outputs'];
  page.tableBox.replaceChildren(
    numberTable(
      titles[0],
      keys,
      rows.map((row) => row.scores),
    ),
    numberTable(
      titles[1],
      keys,
      rows.map((row) => row.weights),
    ),
    numberTable(
      titles[2],
      places,
      rows.map((row) => row.output),
    ),
  );
}

function buildTables() {
  page.tableBox = make('div');
  page.tables = make('details', {}, make('summary', {}, 'all numbers as tables'), page.tableBox);
  page.tables.addEventListener('toggle', update);
  return page.tables;
}

// -------------------------------------------------------------------------------------- the whole

function build() {
  page.choices = make('div', { className: 'choices' }, ...choices());
  const wasOpen = page.tables?.open ?? false;
  const maps = make('div', { className: 'maps' }, ...buildMaps());
  const hint = make(
    'p',
    { className: 'hint' },
    'Point at a cell, or walk with the arrow keys. The space bar hides a key from a query.',
  );
  page.view.replaceChildren(
    page.choices,
    make('div', { className: 'controls' }, ...controls()),
    make('div', { className: 'look' }, maps, hint),
    make('div', { className: 'calculation' }, ...buildFlow()),
    make('div', { className: 'numbers' }, buildProducts(), buildMixture()),
    buildTables(),
  );
  page.tables.open = wasOpen;
  update();
}

function paintControls() {
  const root = rootOfWidth(item());
  page.slider.value = Math.log2(state.temperature / root);
  page.slider.ariaValueText = number(state.temperature);
  if (document.activeElement !== page.temperature) {
    page.temperature.value = Number(state.temperature.toPrecision(5));
  }
  page.draw.ariaPressed = state.draws;
  document.body.classList.toggle('draws', state.draws);
}

function update() {
  const now = { ...item(), q: state.q, mask: state.mask };
  const rows = attend(now, state.temperature);
  const row = rows[shownQuery()];
  paintControls();
  paintMaps(rows);
  paintFlow(row);
  paintProducts(row);
  paintMixture(row);
  paintTables(rows);
  tell(row);
}

// --------------------------------------------------------------- the page around: theme and height

// The page that holds this view, or null where a browser keeps the two apart.
function around() {
  try {
    return window.frameElement?.ownerDocument ?? null;
  } catch {
    return null;
  }
}

// JupyterLab and exported notebooks name their theme in `body`, Sphinx in `html` or `body`.
function followTheme() {
  const { body, documentElement: root } = around();
  const jupyter = { true: 'light', false: 'dark' }[body.dataset.jpThemeLight];
  const theme = jupyter ?? body.dataset.theme ?? root.dataset.theme;
  document.documentElement.dataset.theme = theme ?? 'auto';
}

function fitHeight() {
  const height = Math.ceil(document.body.getBoundingClientRect().height);
  if (height > 0) window.frameElement.style.height = `${height}px`;
}

function start() {
  page.view = document.getElementById('view');
  state.query = within(data.query, data.items[0].queries.length);
  restart();
  const first = attend({ ...item(), q: state.q, mask: state.mask }, state.temperature);
  const { weights } = first[state.query];
  state.key = weights.indexOf(Math.max(...weights));
  if (data.compare) state.compare = comparable()[0]?.value ?? 'before';
  open(0);
  window.addEventListener('resize', update);
  if (!around()) return;
  const { body, documentElement: root } = around();
  const attributeFilter = ['data-jp-theme-light', 'data-theme'];
  const watch = new MutationObserver(followTheme);
  [body, root].forEach((element) => watch.observe(element, { attributeFilter }));
  followTheme();
  new ResizeObserver(fitHeight).observe(document.body);
}

start();
