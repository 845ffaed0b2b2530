// The view of writing: a causal language model that runs here, its next token, and what cuts leave of it.
/* global attendFrom, BOS, emptyAttention, emptyFeed, EOS, feedFrom, NOTHING_CHANGED, plus, product, softmax, unpacked */

// `ids` are the words so far, without <bos>; `k` and `p` are null where they cut nothing.
const state = { ids: [...data.beginning], temperature: data.temperature, k: data.k, p: data.p };
let learned = null; // the model, once its weights have arrived

// ---------------------------------------------------------------------------------- the model

function languageModel(weights) {
  const layers = new Set(
    Object.keys(weights).flatMap((name) => name.match(/^layers\.\d+/)?.[0] ?? []),
  );
  return { weights, heads: data.heads, width: weights['embedding.weight'][0].length, layers };
}

const longest = () => learned.weights['position_embedding.weight'].length;

// The logits of the word that follows; every prefix is computed anew, which is quick for short sentences.
function logitsAfter(ids) {
  const { weights, layers } = learned;
  const [words, places] = ['embedding', 'position_embedding'].map(
    (name) => weights[`${name}.weight`],
  );
  let xs = [BOS, ...ids].map((id, place) => plus(words[id], places[place]));
  for (const name of layers) {
    const attention = emptyAttention();
    const from = { name: `${name}.self_attn`, norm: `${name}.layer_norm1`, part: '' };
    attendFrom(learned, from, attention, xs, null, NOTHING_CHANGED, (i, j) => j <= i);
    const feed = emptyFeed();
    const next = { name: `${name}.feed_forward`, norm: `${name}.layer_norm2`, part: '' };
    feedFrom(learned, next, feed, attention.norm, NOTHING_CHANGED);
    xs = feed.norm;
  }
  return data.words.map((_, id) => product(words[id], xs.at(-1)));
}

// Every word with its probability before and after the cuts, the likeliest first. `cut` names what took it away.
function distribution() {
  const logits = logitsAfter(state.ids);
  const before = softmax(logits);
  const ranked = before.map((chance, id) => ({ id, before: chance, after: 0, cut: '' }));
  ranked.sort((one, other) => other.before - one.before);
  const { temperature, k, p } = state;
  if (temperature === 0) {
    ranked.forEach((word, rank) => (rank ? (word.cut = 'τ') : (word.after = 1)));
    return ranked;
  }
  const heated = softmax(ranked.map(({ id }) => logits[id] / temperature));
  const left = total(heated.slice(0, k ?? heated.length));
  let [sum, kept] = [0, 0];
  ranked.forEach((word, rank) => {
    if (k !== null && rank >= k) word.cut = 'k';
    else if (p !== null && sum >= p) word.cut = 'p';
    else kept += heated[rank];
    sum += heated[rank] / left;
  });
  ranked.forEach((word, rank) => (word.after = word.cut ? 0 : heated[rank] / kept));
  return ranked;
}

// --------------------------------------------------------------------------------- what one does

const isFinished = () => state.ids.at(-1) === EOS;
const isFull = () => isFinished() || state.ids.length + 1 >= longest();

function write(id) {
  if (isFull()) return;
  state.ids.push(id);
  update();
}

function drawWord() {
  let rest = Math.random();
  const words = page.ranked.filter(({ after }) => after > 0);
  const drawn = words.find(({ after }) => (rest -= after) < 0) ?? words[0];
  write(drawn.id);
}

function drawSentence() {
  if (isFull()) state.ids = [];
  do {
    page.ranked = distribution();
    drawWord();
  } while (!isFull());
}

// ---------------------------------------------------------------------------------- controls

const SLIDERS = {
  temperature: { name: 'temperature τ', range: [0, 2, 0.05], off: null },
  k: { name: 'top-k', range: [1, 21, 1], off: 21 },
  p: { name: 'top-p', range: [0.05, 1, 0.05], off: 1 },
};

function slider(key) {
  const { name, range, off } = SLIDERS[key];
  const [min, max, step] = range;
  const input = make('input', { type: 'range', min, max, step });
  const said = make('b');
  input.addEventListener('input', () => {
    state[key] = input.valueAsNumber === off ? null : input.valueAsNumber;
    update();
  });
  const paint = () => {
    input.value = state[key] ?? off;
    const shown = key === 'k' ? state.k : state[key]?.toFixed(2);
    said.textContent = state[key] === null ? 'all' : String(shown);
    input.ariaValueText = said.textContent;
  };
  return {
    field: make('label', { className: 'field' }, make('span', {}, name), input, said),
    paint,
  };
}

function build() {
  page.sliders = Object.keys(SLIDERS).map(slider);
  page.sentence = make('p', { className: 'sentence' });
  page.sentence.ariaLive = 'polite';
  page.bars = make('div', { className: 'bars', role: 'group', ariaLabel: 'next tokens' });
  page.told = make('p', { className: 'told', role: 'status' });
  page.draw = button('draw a token', drawWord);
  page.likeliest = button('take the likeliest', () => write(page.ranked[0].id));
  page.whole = button('draw a sentence', drawSentence);
  page.back = button('one token back', () => {
    state.ids.pop();
    update();
  });
  page.anew = button('begin again', () => {
    state.ids = [];
    update();
  });
  const buttons = [page.draw, page.likeliest, page.whole, page.back, page.anew];
  const sizes = make('div', { className: 'sizes' }, ...page.sliders.map(({ field }) => field));
  const hint = make(
    'p',
    { className: 'hint' },
    'Press a token to append it. A bar is the probability with which a token is drawn, and its outline what the model predicts at τ = 1.',
  );
  page.view.replaceChildren(
    page.sentence,
    make('div', { className: 'choices' }, ...buttons),
    sizes,
    page.bars,
    page.told,
    hint,
  );
}

// ----------------------------------------------------------------------------------- the picture

const percent = (share) => (share > 0 && share < 0.0005 ? '<0.001' : share.toFixed(3));
const nameOf = (id) => (id === EOS ? '⟨end⟩' : data.words[id]);
const CUTS = { k: 'cut by top-k', p: 'cut by top-p', τ: 'not the likeliest' };

// a line for one word, which is a button
function bar({ id, before, after, cut }, widest) {
  const name = make('span', { className: 'name' }, nameOf(id));
  const outline = make('i', { className: 'before' });
  const inside = make('i', { className: 'after' });
  outline.style.width = `${(100 * before) / widest}%`;
  inside.style.width = `${(100 * after) / widest}%`;
  const place = make('span', { className: 'place', ariaHidden: true }, outline, inside);
  const said = make('span', { className: 'said' }, cut ? CUTS[cut] : percent(after));
  const line = button('', () => write(id), { className: cut ? 'bar cut' : 'bar' });
  const aloud = `, the model predicts ${percent(before)}, ${cut ? '' : 'drawn with '}`;
  line.append(name, place, make('span', { className: 'unseen' }, aloud), said);
  line.disabled = isFull();
  return line;
}

function paintSentence() {
  const words = state.ids.map((id) => make('span', {}, nameOf(id)));
  const next = isFull() ? [] : [make('span', { className: 'next' }, '?')];
  page.sentence.replaceChildren(...[...words, ...next].flatMap((word) => [word, ' ']));
}

function tell() {
  if (isFinished()) {
    page.told.textContent = 'The sentence has ended. Draw another one, or take a token back.';
    return;
  }
  const left = page.ranked.filter(({ cut }) => !cut);
  const mass = total(left.map(({ before }) => before));
  const all = left.length === page.ranked.length;
  const [count, share] = [left.length, percent(mass)];
  page.told.textContent = all
    ? `All ${count} tokens can be drawn.`
    : `${count === 1 ? 'One token stays' : `${count} tokens stay`} of ${page.ranked.length}. The model gives ${count === 1 ? 'it' : 'them'} ${share} at τ = 1; what stays is made to sum to one again.`;
}

function update() {
  page.ranked = distribution();
  const shown = page.ranked.slice(0, data.shown);
  const widest = Math.max(...shown.flatMap(({ before, after }) => [before, after]));
  page.sliders.forEach(({ paint }) => paint());
  paintSentence();
  const focused = [...page.bars.children].indexOf(document.activeElement);
  page.bars.replaceChildren(...shown.map((word) => bar(word, widest)));
  if (focused >= 0 && !isFull()) page.bars.children[focused].focus();
  [page.draw, page.likeliest].forEach((one) => (one.disabled = isFull()));
  [page.back, page.anew].forEach((one) => (one.disabled = !state.ids.length));
  tell();
}

// the page calls it when the weights, which come last, are there
// eslint-disable-next-line no-unused-vars
function arrive() {
  learned = languageModel(unpacked(JSON.parse(document.getElementById('late').textContent)));
  build();
  update();
  followPage();
}
