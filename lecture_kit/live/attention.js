// The attention view: from a query to its output, number by number.

const FIELDS = ['sentence', 'model', 'layer', 'head'];
const LABELS = { model: 'attention' }; // "encoder", "causal", "d_k = 4": whose, or of which kind
const TEMPERATURES = [1e-6, 1e6];

// What is looked at now. `query` and `key` count from 0; `hover` is a cell under the mouse.
// `order` says which word, counted as given, stands at each place.
const state = {
  index: 0,
  query: 0,
  key: 0,
  step: 0,
  hover: null,
  draws: false,
  compare: 'none',
  walks: false,
};

// ------------------------------------------------------------------------------- attention

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

// a weight in a map: 0.28, or .28 where cells are narrow
function share(x, signed, narrow) {
  const text = Math.abs(x).toFixed(2);
  const plus = narrow ? '' : '+';
  const sign = signed && text !== '0.00' ? (x < 0 ? '−' : plus) : '';
  return sign + (narrow ? text.replace(/^0/, '').replace('1.00', '1') : text);
}

// a vector as a strip of coloured bands
function strip(numbers, largest) {
  const width = 100 / numbers.length;
  const bands = numbers.map((x, c) => `${shadeOf(x / largest)} ${c * width}% ${(c + 1) * width}%`);
  return `linear-gradient(to right, ${bands.join(', ')})`;
}

// the place of a strip, and its numbers for those who do not see it
const emptyStrip = () => [make('i', { className: 'strip' }), make('span', { className: 'unseen' })];

function paintStrip([bands, said], numbers, largest) {
  bands.style.background = strip(numbers, largest);
  said.textContent = inBrackets(numbers);
}

const bold = (className, text) => make('b', { className }, text);
const div = (className, ...children) => make('div', { className }, ...children);

// ------------------------------------------------------------------------------ what is shown

const given = () => data.items[state.index];
const item = () => state.item; // the given one in the reader's order

function inOrder(it) {
  if (!data.permute) return it;
  const moved = ['queries', 'keys', 'q', 'k', 'v'].map((name) => [
    name,
    state.order.map((word) => it[name][word]),
  ]);
  return { ...it, ...Object.fromEntries(moved) };
}

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
  const here = words(given());
  return data.items
    .filter((it) => it !== given() && words(it) === here)
    .map((it) => ({ text: nameOf(it), value: String(data.items.indexOf(it)) }));
}

const isBefore = () => state.compare === 'before';
const comparedItem = () => (isBefore() ? given() : inOrder(data.items[state.compare]));

function restart() {
  const it = given();
  state.order = it.queries.map((_, i) => i);
  state.item = it;
  state.q = it.q.map((row) => [...row]);
  state.mask = maskOf(it);
  state.temperature = data.temperature ?? rootOfWidth(it);
  state.hover = null;
}

function turnTo(index) {
  state.index = index;
  state.query = within(state.query, given().queries.length);
  state.key = within(state.key, given().keys.length);
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

// attentions that agree with this one in the fields before a given one
function agreeing(field) {
  const before = FIELDS.slice(0, FIELDS.indexOf(field));
  return data.items.filter((it) => before.every((name) => it[name] === given()[name]));
}

const valuesOf = (field) => [...new Set(agreeing(field).map((it) => it[field]))];

// the attention with this value that keeps as many of the other fields as it can
function withValue(field, value) {
  const kept = (it) => FIELDS.filter((name) => it[name] === given()[name]).length;
  const found = agreeing(field).filter((it) => it[field] === value);
  return data.items.indexOf(found.reduce((best, it) => (kept(it) > kept(best) ? it : best)));
}

function choices() {
  const fields = FIELDS.filter((field) => new Set(data.items.map((it) => it[field])).size > 1);
  const selects = fields.map((field) =>
    selection(
      LABELS[field] ?? field,
      valuesOf(field).map((value) => ({ text: String(value ?? '–'), value })),
      given()[field],
      (value) => {
        turnTo(withValue(field, value));
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
    page.choices.querySelector('label:last-of-type select').focus();
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
  page.presets = Object.entries(presets).map(([text, value]) => ({
    value,
    preset: button(text, () => setTemperature(value), { 'aria-label': `τ = ${text}` }),
  }));
  const buttons = page.presets.map(({ preset }) => preset);
  const name = make('legend', {}, 'temperature τ');
  return make('fieldset', {}, name, page.slider, page.temperature, ...buttons);
}

function maskControls() {
  const it = item();
  page.draw = button('click to hide or show', () => {
    state.draws = !state.draws;
    update();
  });
  const seeAll = button('see all', () => setMask(() => true));
  const notAhead = button('not ahead', () => setMask((i, j) => j <= i));
  const unchanged = button('as given', () => {
    const given = maskOf(it);
    setMask((i, j) => given[i][j]);
  });
  const more = it.queries.length === it.keys.length ? [notAhead, unchanged] : [unchanged];
  return make('fieldset', {}, make('legend', {}, 'mask'), page.draw, seeAll, ...more);
}

const startsWithControls = () => data.controls && !isNarrow();

function controls() {
  const reset = button('start again', () => {
    restart();
    build();
    page.reset.focus();
  });
  page.reset = reset;
  const changes = div('controls', temperatureControls(), maskControls());
  page.choices.append(reset);
  return folded('temperature and mask', startsWithControls(), changes);
}

// ----------------------------------------------------------------------------------------- maps

function placeOf(event, map) {
  const cell = event.target.closest('td[data-place], th[data-place]');
  if (!cell) return null;
  const [query, key] = cell.dataset.place.split(',');
  return [
    query === '' ? state.query : map.back(Number(query)),
    key === '' ? state.key : map.back(Number(key)),
  ];
}

function walk(event, map) {
  const place = placeOf(event, map);
  if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === ' ' || event.key === 'Enter') {
    flip(...place);
    event.preventDefault();
    return;
  }
  const there = stepped(event, place.map(map.here), [map.rows.length, map.columns.length]);
  if (!there) return;
  choose(...there.map(map.back));
  state.walks = true;
  map.cells[there[0]][there[1]].focus();
}

function press(event, map, drawn) {
  const place = placeOf(event, map);
  if (!place) return;
  const isCell = event.target.closest('td[data-place]');
  choose(...place);
  if (state.draws && drawn && isCell) flip(...place);
}

// While the reader walks by keys, the page may scroll under a mouse that rests: that is no pointing.
function point(event, map) {
  const moves = event.movementX !== 0 || event.movementY !== 0;
  if (state.walks ? event.type !== 'pointermove' || !moves : event.type === 'pointermove') return;
  state.walks = false;
  const isOver = event.pointerType === 'mouse' && event.type !== 'pointerleave';
  const place = isOver && placeOf(event, map);
  if (!place && !state.hover) return;
  state.hover = place || null;
  update();
}

const longest = (words) => Math.max(...words.map((word) => word.length));

// `here` says where a map has the word that stands at a place of the reader's order, `back` undoes it
function buildMap(caption, { signed = false, drawn = false, unmoved = false } = {}) {
  const words = unmoved ? given() : item();
  const { queries, keys } = words;
  const map = { signed, words, cells: queries.map(() => []), rows: [], columns: [] };
  const moved = unmoved && data.permute;
  map.here = (place) => (moved ? state.order[place] : place);
  map.back = (place) => (moved ? state.order.indexOf(place) : place);
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
  const pointed = (event) => point(event, map);
  map.table = make(
    'table',
    {
      className: signed ? 'map signed' : 'map',
      role: 'grid',
      onkeydown: (event) => walk(event, map),
      onclick: (event) => press(event, map, drawn),
      onpointerover: pointed,
      onpointermove: pointed,
      onpointerleave: pointed,
    },
    map.caption,
    make('thead', {}, top),
    body,
  );
  const sizes = {
    count: keys.length,
    'longest-query': longest(queries),
    'longest-key': longest(keys),
  };
  Object.entries(sizes).forEach(([name, size]) => map.table.style.setProperty(`--${name}`, size));
  map.element = div('scroll', map.table);
  return map;
}

function paintCell(map, i, j, weight, hidden) {
  const { queries, keys } = map.words;
  const cell = map.cells[i][j];
  const [query, key] = [i, j].map(map.back);
  const chosen = query === state.query && key === state.key;
  cell.textContent = hidden || map.tiny ? '' : share(weight, map.signed, map.narrow);
  cell.dataset.value = weight;
  cell.classList.toggle('hidden', hidden);
  cell.classList.toggle('shown', query === shownQuery() && key === shownKey());
  cell.tabIndex = chosen ? 0 : -1;
  const what = map.signed ? 'difference' : 'weight';
  const said = hidden ? 'hidden, weight 0' : `${what} ${share(weight, map.signed)}`;
  cell.ariaLabel = `${queries[i]} attends to ${keys[j]}: ${said}`;
  cell.ariaSelected = chosen;
  fill(cell, weight);
}

function paintMap(map, weights, mask) {
  const width = map.cells[0][0].offsetWidth;
  map.narrow = width < 34;
  map.tiny = width < 20; // colours alone
  weights.forEach((row, i) => row.forEach((w, j) => paintCell(map, i, j, w, !mask[i][j])));
  const [query, key] = [shownQuery(), shownKey()].map(map.here);
  map.rows.forEach((row, i) => row.classList.toggle('shown', i === query));
  map.columns.forEach((column, j) => column.classList.toggle('shown', j === key));
}

function buildMaps() {
  const compares = state.compare !== 'none';
  document.body.classList.toggle('compares', compares);
  const unmoved = isBefore();
  const own = compares
    ? `A: ${unmoved && data.permute ? 'in your order' : nameOf(given())}`
    : 'Weights';
  const other = compares && (unmoved ? 'unchanged' : nameOf(comparedItem()));
  page.differs = `A − B, ${data.permute ? 'word by word' : 'the difference'}`;
  page.map = buildMap(own, { drawn: true });
  page.map.table.id = 'map';
  page.other = compares && buildMap(`B: ${other}`, { unmoved });
  page.difference = compares && buildMap(page.differs, { signed: true });
  return [page.map, page.other, page.difference].filter(Boolean).map((map) => map.element);
}

function paintMaps(rows) {
  const weights = rows.map((row) => row.weights);
  paintMap(page.map, weights, state.mask);
  if (!page.other) return;
  const it = comparedItem();
  const others = asGiven(it).map((row) => row.weights);
  const { here } = page.other;
  const differences = weights.map((row, i) => row.map((w, j) => w - others[here(i)][here(j)]));
  const isMoved = state.order.some((word, place) => word !== place);
  const isSame = isBefore() && !isMoved && largestOf(differences) < 5e-5;
  page.difference.caption.textContent = isSame
    ? 'A − B: all 0 so far. Change something now.'
    : page.differs;
  paintMap(page.other, others, maskOf(it));
  paintMap(
    page.difference,
    differences,
    state.mask.map((row) => row.map(() => true)),
  );
}

// ---------------------------------------------------------------------------------------- order

// `order` as in state; everything of a word moves with it, the mask stays
function reorder(order) {
  const before = state.order;
  const from = order.map((word) => before.indexOf(word));
  state.q = from.map((place) => state.q[place]);
  state.query = from.indexOf(state.query);
  state.key = from.indexOf(state.key);
  state.order = order;
  state.item = inOrder(given());
  state.hover = null;
  build();
  glide(before);
}

function swap(place, other) {
  if (other < 0 || other >= state.order.length) return;
  const order = [...state.order];
  [order[place], order[other]] = [order[other], order[place]];
  reorder(order);
}

// another order than the one that stands, if there is any
function shuffled(order) {
  const drawn = order.map((word) => [Math.random(), word]).sort(([one], [other]) => one - other);
  const found = drawn.map(([, word]) => word);
  const isSame = found.every((word, place) => word === order[place]);
  return isSame ? [...order.slice(1), order[0]] : found;
}

// rows slide from where they were
function glide(before) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  const { rows } = page.order;
  const height = rows[0].row.offsetHeight;
  rows.forEach(({ row }, place) => {
    const way = (before.indexOf(state.order[place]) - place) * height;
    if (way) row.animate([{ transform: `translateY(${way}px)` }, {}], 250);
  });
}

function orderRow(word, place) {
  const moveBy = (step, focused) => {
    swap(place, place + step);
    const there = page.order.rows[within(place + step, state.order.length)];
    there.buttons[focused].focus();
  };
  const mover = (text, where, step, focused) =>
    button(text, () => moveBy(step, focused), {
      'aria-label': `move ${quoted(word)} ${where}`,
      'aria-disabled': String(!(place + step in state.order)),
    });
  const buttons = [mover('▲', 'up', -1, 0), mover('▼', 'down', 1, 1)];
  const strips = [0, 1, 2].map(emptyStrip);
  const cells = strips.map((both) => make('td', {}, ...both));
  cells[2].prepend(make('small', {}, given().queries[place]));
  const movers = make('td', { className: 'movers' }, make('div', {}, ...buttons));
  const row = make(
    'tr',
    { onclick: (event) => event.target.closest('button') || choose(place, state.key) },
    head('row', 'query', word),
    movers,
    ...cells,
  );
  return { row, buttons, strips };
}

// arrow keys walk over the buttons, of which one is reached by the tabulator
function walkOrder(event) {
  const { rows } = page.order;
  const place = rows.findIndex(({ buttons }) => buttons.includes(event.target));
  if (place < 0) return;
  const column = rows[place].buttons.indexOf(event.target);
  const there = stepped(event, [place, column], [rows.length, 2]);
  if (!there) return;
  rows[there[0]].buttons[there[1]].focus();
}

function buildOrder() {
  const ways = {
    reverse: () => [...state.order].reverse(),
    shuffle: () => shuffled(state.order),
    'as written': () => given().queries.map((_, i) => i),
  };
  const buttons = Object.entries(ways).map(([text, way], which) =>
    button(text, () => {
      reorder(way());
      page.order.buttons[which].focus();
    }),
  );
  const heads = [
    ['word', ''],
    ['move', ''],
    ['after', 'f(x[p])'],
    ['before, moved along', 'f(x)[p]'],
    ['before', 'f(x)'],
  ].map(([name, meaning]) => make('th', { scope: 'col' }, name, make('small', {}, meaning)));
  const rows = item().queries.map(orderRow);
  const table = make(
    'table',
    {
      className: 'order',
      onkeydown: walkOrder,
      onfocusin: ({ target }) => {
        rows.forEach((row) => row.buttons.forEach((one) => (one.tabIndex = -1)));
        if (target.closest('.movers')) target.tabIndex = 0;
      },
    },
    make('caption', {}, 'Output of each word: f is the attention, p your order'),
    make('thead', {}, make('tr', {}, ...heads)),
    make('tbody', {}, ...rows.map(({ row }) => row)),
  );
  rows.forEach((row, i) => row.buttons.forEach((one, c) => (one.tabIndex = i || c ? -1 : 0)));
  const gap = make('p', { className: 'gap', role: 'status' });
  page.order = { rows, buttons, gap };
  const choice = make('fieldset', {}, make('legend', {}, 'order of the words'), ...buttons);
  return div('ordering', choice, table, gap);
}

const gapOf = (rows, others) =>
  Math.max(...rows.flatMap((row, i) => row.map((x, c) => Math.abs(x - others[i][c]))));

// 0.0012 as 1 · 10⁻³
function small(x) {
  if (x === 0 || x >= 0.005) return number(x);
  const [digits, power] = x.toExponential(0).split('e-');
  return `${digits} · 10⁻${[...power].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]).join('')}`;
}

function paintOrder(rows) {
  const places = state.order.map((_, word) => state.order.indexOf(word));
  const q = places.map((place) => state.q[place]);
  const before = attend({ ...given(), q, mask: state.mask }, state.temperature);
  const [unmoved, now] = [before, rows].map((all) => all.map(({ output }) => output));
  const along = state.order.map((word) => unmoved[word]);
  const largest = largestOf(now);
  page.order.rows.forEach(({ row, strips }, place) => {
    row.classList.toggle('shown', place === shownQuery());
    [now, along, unmoved].forEach((all, c) => paintStrip(strips[c], all[place], largest));
  });
  const [equivariant, invariant] = [gapOf(now, along), gapOf(now, unmoved)];
  const why =
    equivariant < 1e-9 * largest ? 'the outputs moved with their words' : 'the mask did not move';
  page.order.gap.dataset.value = equivariant;
  if (state.order.every((word, place) => word === place)) {
    page.order.gap.textContent = 'Move a word, or reverse them all: do the outputs go along?';
    return;
  }
  page.order.gap.replaceChildren(
    'Largest gap between “after” and “before, moved along”: ',
    bold('', small(equivariant)),
    `, because ${why}. Between “after” and “before”: `,
    bold('', small(invariant)),
    '.',
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
  return div('walk', steps, next);
}

function flowRow(word, j) {
  const cells = STEPS.slice(0, 5).map(() => make('td'));
  const box = make('input', { type: 'checkbox', onchange: () => flip(state.query, j) });
  const after = make('span');
  cells[2].append(make('label', {}, box, after));
  const bar = make('i');
  const weight = make('span');
  cells[3].append(make('span', { className: 'bar' }, bar), weight);
  const bands = emptyStrip();
  cells[4].append(...bands);
  const row = make(
    'tr',
    {
      onclick: (event) => event.target.closest('label') || choose(state.query, j),
      onfocusin: () => state.key === j || choose(state.query, j),
    },
    head('row', 'key', word),
    ...cells,
  );
  return { row, cells, box, after, bar, weight, bands };
}

function buildFlow() {
  page.flowRows = item().keys.map(flowRow);
  const heads = ['key', 'q · k', '÷ τ', 'mask', 'softmax: weight', 'weight × value'];
  page.heads = heads.map((text) => make('th', { scope: 'col' }, text));
  page.sum = make('td');
  page.output = emptyStrip();
  page.outputCell = make('td', {}, ...page.output);
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
  return div('scroll', table);
}

function paintFlowRow(parts, row, j, largest) {
  const { keys } = item();
  const visible = state.mask[shownQuery()][j];
  const numbers = [row.products[j], row.scores[j], visible ? row.scores[j] : -Infinity];
  parts.cells[0].textContent = number(numbers[0]);
  parts.cells[1].textContent = number(numbers[1]);
  parts.after.textContent = number(numbers[2]);
  parts.box.checked = visible;
  parts.box.ariaLabel = `${item().queries[shownQuery()]} may attend to ${keys[j]}`;
  parts.weight.textContent = number(row.weights[j]);
  parts.bar.style.width = `${100 * row.weights[j]}%`;
  paintStrip(parts.bands, row.mixed[j], largest);
  [...numbers, row.weights[j]].forEach((x, step) => (parts.cells[step].dataset.value = x));
  parts.cells.forEach((cell, step) => cell.classList.toggle('now', step === state.step));
  parts.row.classList.toggle('shown', j === shownKey());
  parts.row.classList.toggle('masked', !visible);
}

function paintFlow(row) {
  const word = item().queries[shownQuery()];
  const largest = largestOf([...row.mixed, row.output]);
  page.flowCaption.replaceChildren('From the query ', bold('query', word), ' to its output');
  page.heads[2].textContent = `÷ τ = ${number(state.temperature)}`;
  page.heads.forEach((cell, step) => cell.classList.toggle('now', step - 1 === state.step));
  page.flowRows.forEach((parts, j) => paintFlowRow(parts, row, j, largest));
  page.sum.textContent = `Σ ${number(total(row.weights))}`;
  paintStrip(page.output, row.output, largest);
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
  const pair = `${quoted(queries[i])} attends to ${quoted(keys[j])}. `;
  page.told.replaceChildren(bold('', pair), text);
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

// a card for each place of a vector, below a title
function cards(names, title, all, id = '') {
  const spans = names.map((text) => make('span', {}, text));
  const name = make('div', { className: 'card names', ariaHidden: true }, ...spans);
  const shown = all.map((parts, c) => {
    const place = make('small', {}, c + 1);
    parts.card = make('div', { className: 'card', role: 'group' }, place, ...Object.values(parts));
    return parts.card;
  });
  return make('section', {}, title, make('div', { className: 'cards', id }, name, ...shown));
}

function buildProducts() {
  page.products = item().q[0].map((_, c) => {
    const input = make('input', { type: 'number', step: 0.1, oninput: () => editQuery(input, c) });
    input.ariaLabel = `query, number ${c + 1}`;
    input.addEventListener('blur', update);
    return { input, key: make('span', { className: 'key' }), product: make('span') };
  });
  page.productsTitle = make('h3');
  return cards(['', 'query', '× key', '= '], page.productsTitle, page.products);
}

function buildMixture() {
  page.mixture = item().v[0].map(() => {
    const [value, part, output] = ['value', '', 'output'].map((className) =>
      make('span', { className }),
    );
    return { value, part, output };
  });
  page.mixtureTitle = make('h3');
  return cards(['', 'value', '× weight', 'output'], page.mixtureTitle, page.mixture, 'output');
}

function paintProducts(row) {
  const [i, j] = [shownQuery(), shownKey()];
  const { queries, keys, k } = item();
  const [query, key] = [state.q[i], k[j]];
  const products = query.map((x, c) => x * key[c]);
  const largest = largestOf([products]);
  page.productsTitle.replaceChildren(
    'q · k: ',
    bold('query', queries[i]),
    ' with ',
    bold('key', keys[j]),
    `, ${number(row.products[j])}. Change the query’s numbers.`,
  );
  page.products.forEach(({ card, input, key: shown, product }, c) => {
    if (document.activeElement !== input) {
      input.value = Number(query[c].toFixed(3));
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
    bold('value', keys[j]),
    ' goes into the output of ',
    bold('query', queries[shownQuery()]),
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

function paintTables(rows) {
  if (!page.tables.open) return;
  const { queries, keys, v } = item();
  const places = v[0].map((_, c) => String(c + 1));
  const table = (title, columns, name) =>
    numberTable(
      title,
      columns,
      rows.map((row, i) => ({ name: queries[i], numbers: row[name], className: 'query' })),
    );
  page.tableBox.replaceChildren(
    table('Scores q · k ÷ τ, before the mask', keys, 'scores'),
    table('Weights', keys, 'weights'),
    table('Outputs', places, 'output'),
  );
}

function buildTables() {
  page.tableBox = make('div');
  page.tables = folded('all numbers as tables', false, page.tableBox);
  return page.tables;
}

// -------------------------------------------------------------------------------------- the whole

function build() {
  page.choices = div('choices', ...choices());
  const maps = div('maps', ...buildMaps());
  const byFinger = matchMedia('(pointer: coarse)').matches;
  const hint = make(
    'p',
    { className: 'hint' },
    byFinger
      ? 'Tap a cell to follow its numbers. The tick of a key in the table hides it.'
      : 'Point at a cell, click it, or walk with the arrow keys. The space bar hides the chosen cell, and so does its tick in the table.',
  );
  page.told = make('p', { className: 'told', role: 'status' });
  page.parts = { maps, hint, flow: buildFlow(), steps: stepChoice() };
  page.parts.order = data.permute ? [buildOrder()] : [];
  page.parts.controls = controls();
  const numbers = div('numbers', buildProducts(), buildMixture());
  page.parts.numbers = [folded('number by number', false, numbers), buildTables()];
  arrange();
  update();
}

// on a narrow page the answer stands at the map that was tapped, and the way to it below
function arrange() {
  const focused = document.activeElement;
  const { maps, hint, flow, steps, order, controls, numbers } = page.parts;
  page.isNarrow = isNarrow();
  const [atMap, atFlow] = page.isNarrow
    ? [
        [page.told, steps],
        [flow, hint],
      ]
    : [[hint], [flow, steps, page.told]];
  const look = div('look', maps, ...atMap);
  const calculation = div('calculation', ...atFlow);
  const waits = data.permute && page.isNarrow;
  const way = waits ? folded('from a query to its output', false, calculation) : calculation;
  const above = div('above', page.choices, controls);
  const seen = page.isNarrow ? [...order, look, way, above] : [above, ...order, look, way];
  page.view.replaceChildren(...seen, ...numbers);
  focused.focus({ preventScroll: true }); // which moving took away
}

function paintControls() {
  const root = rootOfWidth(item());
  page.slider.value = Math.log2(state.temperature / root);
  page.slider.ariaValueText = number(state.temperature);
  if (document.activeElement !== page.temperature) {
    page.temperature.value = Number(state.temperature.toPrecision(5));
  }
  page.presets.forEach(({ preset, value }) => {
    preset.ariaPressed = Math.abs(state.temperature - value) < 1e-9 * value;
  });
  page.draw.ariaPressed = state.draws;
  document.body.classList.toggle('draws', state.draws);
}

function update() {
  if (page.isNarrow !== isNarrow()) {
    arrange();
    page.parts.controls.open = startsWithControls();
  }
  const now = { ...item(), q: state.q, mask: state.mask };
  const rows = attend(now, state.temperature);
  const row = rows[shownQuery()];
  paintControls();
  if (data.permute) paintOrder(rows);
  paintMaps(rows);
  paintFlow(row);
  paintProducts(row);
  paintMixture(row);
  paintTables(rows);
  tell(row);
}

function start() {
  state.index = data.index ?? 0;
  state.query = within(data.query, given().queries.length);
  restart();
  const first = attend({ ...item(), q: state.q, mask: state.mask }, state.temperature);
  const { weights } = first[state.query];
  state.key = weights.indexOf(Math.max(...weights));
  if (data.compare) state.compare = comparable()[0]?.value ?? 'before';
  turnTo(data.index ?? 0);
  followPage();
}

start();
