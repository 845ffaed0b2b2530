// The view of rotary positions: a query and a key, turned pair by pair, and their score.

const BASES = [100, 10000, 500000];
const FACTORS = [1, 16]; // positions are divided by 1 to 16
const WIDTH = data.query.length;

const [queryAt, keyAt] = data.positions;
const state = { query: queryAt, key: keyAt, factor: 1, base: 10000, halves: false };

// ------------------------------------------------------------------------------- the computation

const pairs = () => Array.from({ length: WIDTH / 2 }, (_, pair) => pair);
const featuresOf = (pair) => (state.halves ? [pair, pair + WIDTH / 2] : [2 * pair, 2 * pair + 1]);
const angleOf = (pair, position) => position / state.factor / state.base ** ((2 * pair) / WIDTH);

function turned(vector, pair, position) {
  const [first, second] = featuresOf(pair).map((feature) => vector[feature]);
  const [cos, sin] = [Math.cos, Math.sin].map((of) => of(angleOf(pair, position)));
  return [first * cos - second * sin, first * sin + second * cos];
}

const partOf = (pair, query, key) =>
  dot(turned(data.query, pair, query), turned(data.key, pair, key));
const scoreAt = (query, key) => total(pairs().map((pair) => partOf(pair, query, key)));

// ------------------------------------------------------------------------------------ controls

function move(query, key) {
  const size = data.farthest + 1;
  Object.assign(state, { query: within(query, size), key: within(key, size) });
  update();
}

function build() {
  page.query = slider('query at', [0, data.farthest], (at) => move(at, state.key));
  page.key = slider('key at', [0, data.farthest], (at) => move(state.query, at));
  page.factor = slider('factor', FACTORS, (factor) => {
    state.factor = factor;
    update();
  });
  const bases = BASES.map((base) => ({ text: String(base), value: base }));
  const base = selection('base', bases, state.base, (value) => {
    state.base = value;
    update();
  });
  const ways = [
    { text: 'neighbours', value: false },
    { text: 'halves', value: true },
  ];
  const pairing = selection('pairs of', ways, state.halves, (value) => {
    state.halves = value;
    update();
  });
  page.on = button('both one word on', () => move(state.query + 1, state.key + 1));
  const sliders = [page.query, page.key, page.factor].map(({ field }) => field);
  page.dials = make('div', { className: 'dials' });
  page.told = make('p', { className: 'told', role: 'status' });
  page.scores = draw('svg', { class: 'chart', role: 'img' });
  const curveOf = make(
    'div',
    {},
    make('h3', {}, 'the score, against how far the key is ahead of the query'),
    page.scores,
  );
  const hint = make(
    'p',
    { className: 'hint' },
    make('span', { className: 'query' }, 'Query'),
    ' and ',
    make('span', { className: 'key' }, 'key'),
    ' are hands in each pair of features. What a pair adds to the score is written below it.',
  );
  page.view.replaceChildren(
    make('div', { className: 'sizes' }, ...sliders),
    make('div', { className: 'choices' }, page.on, base, pairing),
    page.dials,
    hint,
    page.told,
    curveOf,
  );
}

// ---------------------------------------------------------------------------------- the picture

const REACH = 56; // of the longest hand

function hand([x, y], longest, className) {
  const [right, up] = [(REACH * x) / longest, (-REACH * y) / longest];
  return draw('line', { class: `hand ${className}`, x1: 0, y1: 0, x2: right, y2: up });
}

function dial(pair, longest) {
  const hands = ['query', 'key'].map((name) => turned(data[name], pair, state[name]));
  const clock = draw(
    'svg',
    { class: 'clock', viewBox: '-66 -66 132 132', role: 'img' },
    draw('circle', { class: 'face', r: 60 }),
    draw('path', { class: 'cross', d: 'M-56 0H56M0-56V56' }),
    hand(hands[0], longest, 'query'),
    hand(hands[1], longest, 'key'),
  );
  const [first, second] = featuresOf(pair);
  clock.ariaLabel =
    `Features ${first} and ${second}: query at ${inBrackets(hands[0])}, ` +
    `key at ${inBrackets(hands[1])}`;
  const part = partOf(pair, state.query, state.key);
  return make(
    'div',
    { className: 'dial' },
    make('span', { className: 'name' }, `features ${first}, ${second}`),
    clock,
    make('b', {}, number(part)),
  );
}

function paintDials() {
  const lengths = pairs().flatMap((pair) =>
    ['query', 'key'].map((name) => Math.hypot(...turned(data[name], pair, 0))),
  );
  const longest = Math.max(1e-9, ...lengths);
  page.dials.replaceChildren(...pairs().map((pair) => dial(pair, longest)));
}

function paintScores() {
  const reach = data.farthest;
  const far = Array.from({ length: 2 * reach + 1 }, (_, at) => scoreAt(0, at - reach));
  const most = 1.1 * Math.max(1e-9, ...far.map(Math.abs));
  const distance = state.key - state.query;
  const now = scoreAt(state.query, state.key);
  const chart = axes(page.scores, [-reach, reach], [-most, most], {
    x: 'distance in words',
    label: `The score against the distance from −${reach} to ${reach}; now ${number(now)} at ${minus(String(distance))}`,
  });
  curve(chart, (at) => scoreAt(0, at), 'plum');
  mark(chart, distance, 'muted');
  ring(chart, distance, now, 'ink');
}

function tell() {
  const distance = Math.abs(state.key - state.query);
  const apart =
    distance === 0
      ? 'stand at the same position'
      : `are ${distance === 1 ? 'one word' : `${distance} words`} apart`;
  const score = number(scoreAt(state.query, state.key));
  page.told.textContent = `Query and key ${apart}, and the score is ${score}.`;
}

function update() {
  page.query.set(state.query, String(state.query));
  page.key.set(state.key, String(state.key));
  page.factor.set(state.factor, String(state.factor));
  page.on.disabled = Math.max(state.query, state.key) === data.farthest;
  paintDials();
  paintScores();
  tell();
}

function start() {
  build();
  update();
  followPage();
}

start();
