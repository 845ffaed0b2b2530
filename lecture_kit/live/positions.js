// The view of sinusoids: every entry of the table, the waves of its pairs, two positions together.

const PRODUCTS = 'two positions: their dot product';

// What is looked at now, counted from 0. `hover` is the cell under the mouse, [position, column].
const state = { hover: null };

// ------------------------------------------------------------------------------- the encoding

const frequency = (pair) => 10000 ** ((-2 * pair) / state.width);
const wavelength = (pair) => (2 * Math.PI) / frequency(pair);
const pairOf = (column) => Math.floor(column / 2);

function encoding(length, width) {
  const entry = (position, column) => {
    const angle = position * frequency(pairOf(column));
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  };
  const row = (position) => Array.from({ length: width }, (_, column) => entry(position, column));
  return Array.from({ length }, (_, position) => row(position));
}

const pairs = () => Array.from({ length: state.width / 2 }, (_, pair) => pair);
const productAt = (offset) => total(pairs().map((pair) => Math.cos(offset * frequency(pair))));

// ------------------------------------------------------------------------------ what is shown

const shownPosition = () => (state.hover ? state.hover[0] : state.position);
const shownColumn = () => (state.hover ? state.hover[1] : state.column);
const shownPair = () => pairOf(shownColumn());
const showsTwo = () => isOpen[PRODUCTS];
// the offset that the reader wished for, or the nearest one that stays in the table
const shownOffset = () => within(shownPosition() + state.offset, state.length) - shownPosition();
const otherPosition = () => shownPosition() + shownOffset();

function setSize(length, width) {
  const hadColumn = state.column;
  Object.assign(state, { length, width, hover: null });
  state.table = encoding(length, width);
  state.position = within(state.position, length);
  state.column = hadColumn < width ? hadColumn : width - 2 + (hadColumn % 2);
  paintTable();
  update();
}

function choose(position, column) {
  state.hover = null;
  state.position = within(position, state.length);
  state.column = within(column, state.width);
  update();
}

const choosePair = (pair) => choose(state.position, 2 * pair + (state.column % 2));

function chooseOffset(offset) {
  state.hover = null;
  state.offset = offset;
  update();
}

// ----------------------------------------------------------------------------------- numbers

const exact = (x) => minus(x.toFixed(3).replace(/^-(0\.000)$/, '$1'));
const lower = (number) => [...String(number)].map((digit) => '₀₁₂₃₄₅₆₇₈₉'[digit]).join('');
const theta = (pair) => `θ${lower(pair)}`;
const signed = (offset) => (offset > 0 ? `+${offset}` : minus(String(offset)));

function words(x) {
  const digits = x < 100 ? 1 : 0;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${x.toLocaleString('en', options)} words`;
}

function turnsInWords(pair) {
  const turns = state.length / wavelength(pair);
  if (turns >= 1) return `${turns.toFixed(1)} times in these ${state.length} positions`;
  const share = turns < 0.01 ? 'less than 1' : Math.floor(100 * turns);
  return `${share} % of a turn in these ${state.length} positions`;
}

// ---------------------------------------------------------------------------------- controls

function buildControls() {
  const options = data.widths.map((width) => ({ text: String(width), value: String(width) }));
  const width = selection('width', options, String(state.width), (value) =>
    setSize(state.length, Number(value)),
  );
  page.length = slider('length', data.lengths, (length) => setSize(length, state.width));
  page.pair = slider('pair k', [0, 0], choosePair);
  page.position = slider('position', [0, 0], (position) => choose(position, state.column));
  const sliders = [page.length, page.pair, page.position].map(({ field }) => field);
  return make('div', { className: 'sizes' }, width, ...sliders);
}

function paintControls() {
  page.length.set(state.length, String(state.length));
  page.pair.set(pairOf(state.column), String(pairOf(state.column)), [0, state.width / 2 - 1]);
  page.position.set(state.position, String(state.position), [0, state.length - 1]);
}

// ----------------------------------------------------------------------------------- the table

function cellUnder(event) {
  const box = page.map.getBoundingClientRect();
  const [right, down] = [(event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height];
  const place = [Math.floor(down * state.length), Math.floor(right * state.width)];
  return [within(place[0], state.length), within(place[1], state.width)];
}

function point(event) {
  const place = event.pointerType === 'mouse' && event.type === 'pointermove' && cellUnder(event);
  if (!place && !state.hover) return;
  if (place && state.hover && String(place) === String(state.hover)) return;
  state.hover = place || null;
  update();
}

function walk(event) {
  const there = stepped(event, [state.position, state.column], [state.length, state.width]);
  if (there) choose(...there);
}

function buildTable() {
  page.canvases = ['light', 'dark'].map((className) => make('canvas', { className }));
  const outline = (name) => (page[name] = make('i', { className: name }));
  const frames = ['framePair', 'frameRow', 'frameOther', 'frameCell'].map(outline);
  page.map = make(
    'div',
    {
      className: 'map',
      tabIndex: 0,
      role: 'application',
      onpointermove: point,
      onpointerleave: point,
      onclick: (event) => choose(...cellUnder(event)),
      onkeydown: walk,
    },
    ...page.canvases,
    ...frames,
  );
  page.across = make('div', { className: 'across', ariaHidden: true });
  page.down = make('div', { className: 'down', ariaHidden: true });
  page.corner = make('div', { className: 'corner', ariaHidden: true });
  page.corner.append(make('span', {}, 'position'), make('span', {}, 'dimension'));
  const hint = make('p', { className: 'hint' });
  hint.append(
    'Point at a cell, or walk with the arrow keys. Blank is 0, purple above, ochre below.',
  );
  const board = make('div', { className: 'board' }, page.corner, page.across, page.down, page.map);
  return make('div', { className: 'look' }, board, hint);
}

// one pixel for each entry; the style sheet makes them large, and shows one of the two canvases
function paintTable() {
  const { length, width, table } = state;
  for (const canvas of page.canvases) {
    Object.assign(canvas, { width, height: length });
    const image = new ImageData(width, length);
    const pixels = table.flat().map((x) => [...colourOf(x, canvas.className), 255]);
    image.data.set(pixels.flat());
    canvas.getContext('2d').putImageData(image, 0, 0);
  }
  const label = (at, size, side) => {
    const text = make('span', {}, at);
    text.style[side] = `${(100 * (at + 0.5)) / size}%`;
    return text;
  };
  const places = (size) => ticks([0, size - 1], 6).filter(Number.isInteger);
  page.across.replaceChildren(...places(width).map((at) => label(at, width, 'left')));
  page.down.replaceChildren(...places(length).map((at) => label(at, length, 'top')));
}

function frame(element, [left, top, width, height]) {
  const sides = {
    left: left / state.width,
    top: top / state.length,
    width: width / state.width,
    height: height / state.length,
  };
  for (const [name, part] of Object.entries(sides)) element.style[name] = `${100 * part}%`;
}

function paintFrames() {
  const [position, column] = [shownPosition(), shownColumn()];
  frame(page.framePair, [2 * pairOf(column), 0, 2, state.length]);
  frame(page.frameRow, [0, position, state.width, 1]);
  frame(page.frameOther, [0, otherPosition(), state.width, 1]);
  frame(page.frameCell, [column, position, 1, 1]);
  page.frameOther.hidden = !showsTwo();
  page.map.ariaLabel =
    `Table of encodings, ${state.length} positions by ${state.width} dimensions. ` +
    `Position ${position}, dimension ${column}: ${exact(state.table[position][column])}. ` +
    'The arrow keys walk.';
}

// --------------------------------------------------------------------------------- one position

function buildPair() {
  page.waves = draw('svg', { class: 'chart', role: 'img' });
  page.waves.addEventListener('click', (event) => {
    const at = Math.round(page.chart.back(event.offsetX));
    choose(at, state.column);
  });
  page.clock = draw('svg', { class: 'clock', viewBox: '-66 -66 132 132', role: 'img' });
  page.formula = make('p', { className: 'formula' });
  page.told = make('p', { className: 'told' });
  page.pairTitle = make('h3');
  const said = make('div', { role: 'status' }, page.formula, page.told);
  const entry = make('div', { className: 'entry' }, page.clock, said);
  return make('section', { className: 'pair' }, entry, page.pairTitle, page.waves);
}

function paintWaves() {
  const pair = shownPair();
  const [sine, cosine] = [0, 1].map((side) => make('b', { className: ['plum', 'ochre'][side] }));
  sine.textContent = `sine, column ${2 * pair}`;
  cosine.textContent = `cosine, column ${2 * pair + 1}`;
  page.pairTitle.replaceChildren(`Pair ${pair}: `, sine, ' and ', cosine);
  const label = `Waves of pair ${pair} over ${state.length} positions, once round in ${words(wavelength(pair))}`;
  const chart = axes(page.waves, [0, state.length - 1], [-1.08, 1.08], { x: 'position', label });
  page.chart = chart;
  if (showsTwo()) mark(chart, otherPosition(), 'rose');
  mark(chart, shownPosition(), 'ink');
  curve(chart, (position) => Math.cos(position * frequency(pair)), 'ochre');
  curve(chart, (position) => Math.sin(position * frequency(pair)), 'plum');
  ['plum', 'ochre'].forEach((className, side) => {
    const column = state.table.map((row) => row[2 * pair + side]);
    dots(chart, column, 0, className);
  });
  const column = shownColumn();
  ring(chart, shownPosition(), state.table[shownPosition()][column], column % 2 ? 'ochre' : 'plum');
}

function hand(position, className) {
  const [sine, cosine] = state.table[position].slice(2 * shownPair(), 2 * shownPair() + 2);
  const [right, up] = [56 * sine, -56 * cosine];
  return {
    right,
    up,
    line: draw('line', { class: `hand ${className}`, x1: 0, y1: 0, x2: right, y2: up }),
  };
}

// the hand points up at position 0; its tip is as far right as the sine, as far up as the cosine
function paintClock() {
  const { right, up, line } = hand(shownPosition(), 'ink');
  const other = showsTwo() ? [hand(otherPosition(), 'rose').line] : [];
  page.clock.replaceChildren(
    draw('circle', { class: 'face', r: 56 }),
    draw('path', { class: 'cross', d: 'M-56 0H56M0-56V56' }),
    draw('line', { class: 'side plum', x1: 0, y1: 0, x2: right, y2: 0 }),
    draw('line', { class: 'side ochre', x1: right, y1: 0, x2: right, y2: up }),
    ...other,
    line,
    draw('circle', { class: 'ink', r: 4 }),
  );
  page.clock.ariaLabel = `The hand of pair ${shownPair()} at position ${shownPosition()}`;
}

function tell() {
  const [position, column, pair] = [shownPosition(), shownColumn(), shownPair()];
  const name = column % 2 === 0 ? 'sin' : 'cos';
  const result = exact(state.table[position][column]);
  const steps = [`${theta(pair)}`, short(frequency(pair))].map(
    (f) => `${name}(${position} · ${f})`,
  );
  page.formula.replaceChildren(
    make('span', {}, `PE[${position}, ${column}]`),
    ...steps.flatMap((text) => [' ', make('span', {}, `= ${text}`)]),
    ' ',
    make('span', {}, '= ', make('b', {}, result)),
  );
  page.told.textContent =
    `${theta(pair)} = 10000^(${minus(String(-2 * pair))}/${state.width}) = ${short(frequency(pair))}. The hand ` +
    `goes round once in ${words(wavelength(pair))}, ${turnsInWords(pair)}.`;
}

// -------------------------------------------------------------------------------- two positions

function buildProducts() {
  page.offset = slider('offset m', [0, 0], chooseOffset);
  page.products = draw('svg', { class: 'chart', role: 'img' });
  page.products.addEventListener('click', (event) => {
    chooseOffset(Math.round(page.productChart.back(event.offsetX)));
  });
  page.product = make('p', { className: 'formula' });
  page.productTold = make('p', { className: 'told' });
  page.parts = make('div', { className: 'parts', role: 'img' });
  page.partsTitle = make('h3');
  page.productTitle = make('h3');
  const said = make('div', { role: 'status' }, page.product, page.productTold);
  const text = make('div', {}, said, page.partsTitle, page.parts);
  page.reach = make('p', { className: 'hint' });
  const graph = make('div', {}, page.productTitle, page.products, page.reach);
  const box = make('div', { className: 'two' }, page.offset.field, graph, text);
  return folded(PRODUCTS, data.offset !== null, box);
}

function paintProducts() {
  const [position, offset] = [shownPosition(), shownOffset()];
  page.offset.set(offset, signed(offset), [-position, state.length - 1 - position]);
  const largest = state.width / 2;
  const last = state.length - 1;
  const from = state.table.map((row) => dot(state.table[position], row));
  const all = Array.from({ length: last + 1 }, (_, n) => productAt(n));
  const least = Math.min(0, ...all);
  const label = `Dot product against the offset, from ${minus(String(-last))} to ${last}`;
  const chart = axes(page.products, [-last, last], [least, 1.05 * largest], {
    x: 'offset m',
    label,
  });
  page.productChart = chart;
  const reach = { x: chart.x(-position), y: chart.high, height: chart.low - chart.high };
  reach.width = chart.x(last - position) - reach.x;
  chart.svg.prepend(draw('rect', { class: 'reach', ...reach }));
  mark(chart, 0, 'ink');
  mark(chart, offset, 'rose');
  curve(chart, productAt, 'muted');
  dots(chart, from, -position, 'plum');
  ring(chart, offset, from[position + offset], 'rose');
  page.productTitle.replaceChildren(
    'PE[pos] · PE[pos + m] from ',
    make('b', {}, `pos = ${position}`),
  );
  page.reach.textContent =
    `Grey: what position ${position} reaches in the table. ` +
    'Choose another position: the grey moves, the curve stays.';
  tellProduct(position, offset, from[position + offset]);
  paintParts(offset);
}

// the smallest and the largest dot product of positions that stand this far apart
function rangeAt(offset) {
  const far = Math.abs(offset);
  const found = state.table.slice(far).map((row, n) => dot(row, state.table[n]));
  return [found.length, Math.min(...found), Math.max(...found)];
}

function tellProduct(position, offset, product) {
  const name = (at, className) => make('span', { className }, `PE[${at}]`);
  page.product.dataset.value = product;
  page.product.replaceChildren(
    name(position, 'ink'),
    ' · ',
    name(position + offset, 'rose'),
    ' = ',
    make('b', {}, exact(product)),
  );
  const [count, low, high] = rangeAt(offset).map((x, n) => (n ? exact(x) : x));
  const same = low === high ? `always ${low}` : `from ${low} to ${high}`;
  const often = count === 1 ? 'once in the table' : `${count} times in the table: ${same}`;
  page.productTold.textContent =
    `The most is ${state.width / 2}, one for each pair of columns. ` +
    `Two positions ${Math.abs(offset)} apart occur ${often}.`;
}

function paintParts(offset) {
  const parts = pairs().map((pair) => Math.cos(offset * frequency(pair)));
  page.partsTitle.textContent = `It is the sum over the pairs k of cos(θₖ · ${minus(String(offset))}):`;
  page.parts.ariaLabel = `by pair: ${parts.map(exact).join(', ')}`;
  const shows = state.width <= 16;
  const cells = parts.map((part, pair) => {
    const cell = make('span', { title: `pair ${pair}: ${exact(part)}` }, shows ? number(part) : '');
    cell.classList.toggle('shown', pair === shownPair());
    fill(cell, part);
    return cell;
  });
  page.parts.replaceChildren(...cells);
}

// -------------------------------------------------------------------------------------- tables

function buildTables() {
  page.tableBox = make('div');
  page.tables = folded('all numbers as tables', false, page.tableBox);
  return page.tables;
}

function paintTables() {
  const { table, length, width, position } = state;
  const key = page.tables.open ? `${length} ${width} ${position}` : '';
  if (page.tableBox.dataset.key === key) return;
  page.tableBox.dataset.key = key;
  const row = (numbers, name) => ({ name: String(name), numbers });
  const products = table.map((other) => [dot(other, table[position])]);
  const columns = table[0].map((_, column) => String(column));
  const both = () => [
    numberTable(
      'Encodings: a row for each position, a column for each dimension',
      columns,
      table.map(row),
    ),
    numberTable(`Dot products with position ${position}`, ['dot product'], products.map(row)),
  ];
  page.tableBox.replaceChildren(...(key ? both() : []));
}

// ------------------------------------------------------------------------------------- the whole

function update() {
  paintControls();
  paintFrames();
  paintWaves();
  paintClock();
  tell();
  if (showsTwo()) paintProducts();
  paintTables();
}

function start() {
  Object.assign(state, { width: data.width, column: 2 * data.pair, position: data.position });
  state.offset = data.offset ?? 3;
  const parts = [buildControls(), buildTable(), buildPair(), buildProducts(), buildTables()];
  page.view.replaceChildren(...parts);
  setSize(data.length, data.width);
  followPage();
}

start();
