'use strict';
// What all live views share. One page, one view: each view stands in an iframe of its own.
// Everything shown is made with textContent, so words are never read as HTML.

const data = JSON.parse(document.getElementById('data').textContent);
const LARGEST = 1e100; // numbers typed by the reader stay where products are finite
// The elements that change, by name.
const page = { view: document.getElementById('view') };

const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
const dot = (one, other) => total(one.map((number, c) => number * other[c]));
const within = (place, size) => Math.max(0, Math.min(size - 1, place));

// --------------------------------------------------------------------------------- numbers

const minus = (text) => text.replace('-', '−');

function number(x) {
  const size = Math.abs(x);
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  if (size >= 1e5) return minus(x.toExponential(1).replace('e+', 'e'));
  const text = x.toFixed(size >= 1000 ? 0 : 2);
  return minus(text.replace(/^-(0\.00)$/, '$1'));
}

const inBrackets = (numbers) => numbers.map(number).join(', ');
const quoted = (word) => `“${word}”`;

// --------------------------------------------------------------------------------- colours

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
/* global SIGNED -- the scale of all maps; the page writes its stops in front of this script */
const stopsOf = (theme) => SIGNED[theme].split(' ').map(channels);
const SCALE = { light: stopsOf('light'), dark: stopsOf('dark') };

// -1 is the strongest ochre, 0 the colour of the page, 1 the strongest purple
function colourOf(x, theme) {
  const stops = SCALE[theme];
  const place = ((Math.max(-1, Math.min(1, x)) + 1) / 2) * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  const part = place - below;
  return stops[below].map((from, c) => Math.round(from + part * (stops[below + 1][c] - from)));
}

const onBoth = (colour) => `light-dark(${colour('light')}, ${colour('dark')})`;
const shadeOf = (x) => onBoth((theme) => `rgb(${colourOf(x, theme)})`);

function luminance(colour) {
  const linear = colour
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// black or white, whichever has more contrast
const textOn = (colour) => (luminance(colour) > 0.179 ? '#000' : '#fff');

function fill(element, x) {
  element.style.background = shadeOf(x);
  element.style.color = onBoth((theme) => textOn(colourOf(x, theme)));
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

// the same for a part of a drawing
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
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

// rows of { name, numbers, className } as a table that scrolls sideways if it must
function numberTable(caption, columns, rows) {
  const top = make('tr', {}, make('td'), ...columns.map((text) => head('col', '', text)));
  const lines = rows.map(({ name, numbers, className = '' }) => {
    const cells = numbers.map((x) => make('td', { 'data-value': x }, minus(x.toPrecision(4))));
    return make('tr', {}, head('row', className, name), ...cells);
  });
  const [above, body] = [make('thead', {}, top), make('tbody', {}, ...lines)];
  const table = make('table', { className: 'plain' }, make('caption', {}, caption), above, body);
  const scroll = make('div', { className: 'scroll', tabIndex: 0, role: 'region' }, table);
  scroll.ariaLabel = caption;
  return scroll;
}

// What can be folded away; narrow pages start with it folded, if `startsOpen` says so.
const isOpen = {};
// A width of 0 is not known yet; slides may set a view in two columns.
const isNarrow = () =>
  page.width > 0 && page.width / (document.documentElement.dataset.columns ?? 1) < 600;

function folded(name, startsOpen, ...children) {
  const open = (isOpen[name] ??= startsOpen);
  const details = make('details', { open }, make('summary', {}, name), ...children);
  details.addEventListener('toggle', () => {
    isOpen[name] = details.open;
    update();
  });
  return details;
}

// -------------------------------------------------------------------------------- the keyboard

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

// where a key leads from [row, column] in a table of [rows, columns]; null if it leads nowhere
function stepped(event, place, size) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const step = STEPS_OF_KEYS[event.key];
  if (!step) return null;
  event.preventDefault();
  return place.map((at, axis) => within(at + step[axis], size[axis]));
}

// --------------------------------------------------------- the page around: theme, width and height

// The frame that this view stands in, or null: none, or one that a browser keeps apart.
let ownFrame = null;
try {
  ownFrame = window.frameElement;
} catch {
  // the view works, with the theme of the system and the height that it was given
}

// The page that holds this view, or null.
const around = () => ownFrame?.ownerDocument ?? null;

// JupyterLab and exported notebooks name their theme in `body`, Sphinx in `html` or `body`.
function followTheme() {
  const { body, documentElement: root } = around();
  const jupyter = { true: 'light', false: 'dark' }[body.dataset.jpThemeLight];
  const theme = jupyter ?? body.dataset.theme ?? root.dataset.theme;
  document.documentElement.dataset.theme = theme ?? 'auto';
}

// Asking a frame for its box lays it out, even where the page around skips what is off the screen.
// In a tab that is not open it has no width at all.
function widthNow() {
  ownFrame?.getBoundingClientRect();
  return document.documentElement.clientWidth;
}

page.width = widthNow();

function fitHeight() {
  if (widthNow())
    ownFrame.style.height = `${Math.ceil(document.body.getBoundingClientRect().height)}px`;
}

// Each view has a function `update`, which paints what changed, and lays out what the width decides.
function fit() {
  const width = widthNow();
  if (width && width !== page.width) {
    page.width = width;
    update();
  }
  if (ownFrame) fitHeight();
}

// Frames in a part of the page that is skipped off the screen are not told of a new width, but that
// part is. JupyterLab skips cells in this way, and all that stands in a tab that is not open.
function followWidth() {
  new ResizeObserver(fitHeight).observe(document.body);
  const { ResizeObserver: Observer, requestAnimationFrame: soon } = around().defaultView;
  const watch = new Observer(() => soon(fit));
  for (let part = ownFrame; part; part = part.parentElement) {
    const skips = getComputedStyle(part).contentVisibility === 'auto';
    if (skips || part === ownFrame) watch.observe(part);
  }
  window.addEventListener('pagehide', () => watch.disconnect());
}

function followPage() {
  window.addEventListener('resize', fit);
  if (!ownFrame) return;
  const { body, documentElement: root } = around();
  const attributeFilter = ['data-jp-theme-light', 'data-theme'];
  const watch = new MutationObserver(followTheme);
  [body, root].forEach((element) => watch.observe(element, { attributeFilter }));
  followTheme();
  followWidth();
  fit();
}
