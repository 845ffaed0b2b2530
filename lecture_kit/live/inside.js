// The view of a look inside: a model that copies runs here. Heads are switched off, or one vector is put back.

const PERIOD = data.block.length;
const places = Array.from({ length: PERIOD }, (_, k) => k); // of a copy
const ON_COLUMNS = `repeat(${PERIOD}, minmax(0, 1fr))`;

// `off` holds pairs "layer.head" and `tried` shares by "layer.position"; `place` is the position within
// the second copy of the word whose attention is shown, `replaced` that of the word in the first copy.
const state = {
  shows: 'heads',
  model: 0,
  block: [...data.block],
  off: new Set(),
  givesMean: false,
  head: null,
  place: data.place,
  replaced: data.place,
  tried: new Map(),
  put: null,
};
let models = []; // once their weights have arrived
let clean = null; // what the model of now computes for the row of now, with nothing changed

// ------------------------------------------------------------------------------- the computation

const modelNow = () => models[state.model];
const row = () => [...state.block, ...state.block];
const wordAt = (position) => data.words[row()[position]];
const answerTo = (place) => state.block[(place + 1) % PERIOD]; // after the last word it begins again

function logOf(logits, id) {
  const largest = logits[best(logits)];
  return logits[id] - largest - Math.log(logits.reduce((sum, x) => sum + Math.exp(x - largest), 0));
}

// What is predicted after each word of the second copy, how probable the right word is, and the loss.
function judged({ logits }) {
  const second = logits.slice(PERIOD);
  const said = second.map(best);
  const logs = second.map((one, place) => logOf(one, answerTo(place)));
  const right = said.filter((id, place) => id === answerTo(place)).length;
  return { said, chances: logs.map(Math.exp), right, loss: -total(logs) / PERIOD };
}

const withHeadsOff = () =>
  passed(modelNow(), row(), {
    silenced: state.off,
    means: state.givesMean ? modelNow().means : null,
  });

// how much a head attends to the word after the earlier copy, from the second copy on
const inductionScore = (rows) =>
  total(places.map((place) => rows[PERIOD + place][place + 1])) / PERIOD;

// The word that stands in for the one that is replaced: the next that is not in the row.
function standIn() {
  let id = state.block[state.replaced];
  while (state.block.includes(id)) id = (id + 1) % data.words.length;
  return id;
}

const corruptedRow = () => row().with(state.replaced, standIn());
const logOfAnswer = ({ logits }) =>
  logOf(logits[PERIOD + state.replaced], answerTo(state.replaced));

const patched = (layer, position) => {
  const vector = clean.streams[layer][position];
  return passed(modelNow(), corruptedRow(), { put: { layer, position, vector } });
};

const SMALLEST_LOSS = 0.1; // of the answer's log-probability, of which a share can be told

// what the replacement takes away, and the share of it that comes back
const taken = () => logOfAnswer(clean) - page.corrupted;
const shareOf = (layer, position) =>
  (logOfAnswer(patched(layer, position)) - page.corrupted) / taken();

// ---------------------------------------------------------------------------------- what is done

function renew() {
  state.tried.clear();
  state.put = null;
  clean = passed(modelNow(), row());
  page.corrupted = logOfAnswer(passed(modelNow(), corruptedRow()));
}

function choose(changes) {
  Object.assign(state, changes);
  const [layer, head] = state.head;
  state.head = [within(layer, modelNow().layers.length), within(head, modelNow().heads)];
  renew();
  update();
}

function otherWords() {
  const ids = data.words.map((_, id) => id);
  const block = places.map(() => ids.splice(Math.floor(Math.random() * ids.length), 1)[0]);
  choose({ block });
}

const allHeads = () =>
  modelNow().layers.flatMap((_, l) => Array.from({ length: modelNow().heads }, (_, h) => [l, h]));
const isOff = (l, h) => state.off.has(`${l}.${h}`);

function switchHeads(heads, on) {
  for (const [l, h] of heads) state.off[on ? 'delete' : 'add'](`${l}.${h}`);
  update();
}

function tryOut(layer, position) {
  state.put = [layer, position];
  state.tried.set(`${layer}.${position}`, shareOf(layer, position));
}

function tryAll() {
  modelNow().layers.forEach((_, layer) => row().forEach((_, position) => tryOut(layer, position)));
  state.put = null;
  update();
}

// ------------------------------------------------------------------------------------- controls

const pressed = (element, isPressed) => (element.ariaPressed = String(isPressed));

// buttons of which one is pressed; the label is for those who cannot see them, unless it `isSaid`
function choiceOf(label, isSaid, options, onchoose) {
  const buttons = options.map(({ text, value }) => button(text, () => onchoose(value)));
  const name = isSaid ? [make('span', { ariaHidden: 'true' }, label)] : [];
  const group = make('div', { className: 'choice', role: 'group', ariaLabel: label });
  group.append(...name, ...buttons);
  const paint = (chosen) => buttons.forEach((one, k) => pressed(one, options[k].value === chosen));
  return { group, paint };
}

// One of these elements is reached by the tab key, the others by arrows: rows of elements.
function withArrows(rows, onstep) {
  rows.flat().forEach((one) => (one.tabIndex = -1));
  rows[0][0].tabIndex = 0;
  const reach = (i, j) => {
    rows.flat().forEach((one) => (one.tabIndex = -1));
    rows[i][j].tabIndex = 0;
  };
  rows.forEach((line, i) =>
    line.forEach((one, j) => {
      one.addEventListener('focus', () => reach(i, j));
      one.addEventListener('keydown', (event) => {
        const to = stepped(event, [i, j], [rows.length, line.length]);
        if (!to) return;
        rows[to[0]][to[1]].focus();
        onstep?.(...to);
      });
    }),
  );
  return reach;
}

function lineOf(name, cells, more = {}) {
  const label = make('span', { className: 'name', ariaHidden: 'true' }, name);
  const line = make('div', { className: 'line', role: 'group', ariaLabel: name, ...more }, label);
  line.append(...cells);
  return line;
}

function build() {
  page.shows = choiceOf(
    'what is changed',
    false,
    [
      { text: 'switch heads off', value: 'heads' },
      { text: 'put one vector back', value: 'vectors' },
    ],
    (shows) => {
      state.shows = shows;
      update();
    },
  );
  page.models = choiceOf(
    'model',
    true,
    models.map(({ name }, value) => ({ text: name, value })),
    (chosen) => choose({ model: chosen }),
  );
  page.shows.group.classList.add('wide');
  page.models.group.hidden = models.length === 1;
  page.heads = make('section', { ariaLabel: 'switch heads off' });
  page.vectors = make('section', { ariaLabel: 'put one vector back' });
  const top = make(
    'div',
    { className: 'choices' },
    page.shows.group,
    page.models.group,
    button('other words', otherWords),
  );
  page.view.style.setProperty('--columns', ON_COLUMNS);
  page.view.replaceChildren(top, page.heads, page.vectors);
  buildHeads();
  buildVectors();
}

// ---------------------------------------------------------------------------- heads: what is seen

function buildHeads() {
  page.first = places.map(() => make('span', { className: 'word' }));
  page.second = places.map((place) =>
    button('', () => look(place), { className: 'word', role: 'radio' }),
  );
  page.said = places.map(() => make('span', { className: 'word said' }));
  page.reach = withArrows([page.second], (_, place) => look(place));
  page.lines = draw('svg', {
    class: 'lines',
    viewBox: `0 0 ${PERIOD} 1`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  });
  const second = lineOf('second copy', page.second, { role: 'radiogroup' });
  second.ariaLabel = 'second copy: from which word the head attends';
  second.classList.add('below');
  const said = lineOf('prediction', page.said);
  said.classList.add('below');
  const picture = make(
    'div',
    { className: 'rows' },
    lineOf('first copy', page.first),
    page.lines,
    second,
    said,
  );
  page.result = make('p', { className: 'result', role: 'status' });
  page.allOn = button('all heads on', () => switchHeads(allHeads(), true));
  page.layers = make('div', { className: 'layers' });
  page.told = make('p', { className: 'told', role: 'status' });
  page.wholeLayers = make('div', { className: 'choice' });
  const gives = [
    { text: 'zeros', value: false },
    { text: 'its mean over other sequences', value: true },
  ];
  const mean = selection('a head that is off gives', gives, state.givesMean, (givesMean) => {
    state.givesMean = givesMean;
    update();
  });
  const hint = make(
    'p',
    { className: 'hint' },
    'Clear the box of a head and watch what the model predicts. The bar below a word is the ' +
      'probability of the right one.',
  );
  page.numbers = make('div');
  page.heads.replaceChildren(
    picture,
    make('div', { className: 'answer' }, page.result, page.allOn),
    page.layers,
    page.told,
    hint,
    folded('more to switch', false, make('div', { className: 'choices' }, page.wholeLayers, mean)),
    folded('the weights of this head, in numbers', false, page.numbers),
  );
}

function look(place) {
  state.place = place;
  update();
}

function paintWords(rows) {
  const query = PERIOD + state.place;
  places.forEach((place) => {
    const [first, second] = [page.first[place], page.second[place]];
    first.textContent = wordAt(place);
    second.textContent = wordAt(PERIOD + place);
    fill(first, rows[query][place] ?? 0);
    fill(second, rows[query][PERIOD + place] ?? 0);
    second.ariaChecked = String(place === state.place);
    if (place === state.place) page.reach(0, place);
  });
  page.lines.replaceChildren(
    ...rows[query].map((weight, key) => lineTo(state.place, key, weight)).filter(Boolean),
  );
}

const FAINTEST = 0.05;

// a line from the query to a key of the first copy, or a bow to one beside it
function lineTo(from, key, weight) {
  if (weight < FAINTEST || key === PERIOD + from) return null;
  const [x, to] = [from + 0.5, (key % PERIOD) + 0.5];
  const path = key < PERIOD ? `M${x} 1L${to} 0` : `M${x} 1C${x} 0.2 ${to} 0.2 ${to} 1`;
  return draw('path', { d: path, 'stroke-width': (9 * weight).toFixed(2) });
}

function paintSaid({ said, chances }) {
  places.forEach((place) => {
    const isRight = said[place] === answerTo(place);
    const chance = make('i');
    chance.style.width = `${100 * chances[place]}%`;
    const aloud = `${isRight ? ', right' : ', wrong'}, the right word has ${number(chances[place])}`;
    page.said[place].className = isRight ? 'word said' : 'word said wrong';
    page.said[place].replaceChildren(
      make('span', {}, data.words[said[place]]),
      make('span', { className: 'unseen' }, aloud),
      make('span', { className: 'chance' }, chance),
    );
  });
}

function paintResult(found) {
  const before = judged(clean);
  const text = [
    make('b', {}, `${found.right} of ${PERIOD}`),
    ' next words are right, and the loss is ',
    make('b', {}, number(found.loss)),
    '.',
  ];
  if (state.off.size) {
    text.push(
      ` With all heads on they are ${before.right}, and the loss is ${number(before.loss)}.`,
    );
  }
  page.result.replaceChildren(...text);
  page.allOn.disabled = state.off.size === 0;
}

// the pattern of a head: queries in rows, keys in columns
function patternOf(rows, isChosen) {
  const size = 2 * PERIOD;
  const cells = rows.flatMap((one, i) =>
    [...one].map((weight, j) =>
      weight < 0.02
        ? null
        : draw('rect', {
            class: 'weight',
            x: j,
            y: i,
            width: 1.03,
            height: 1.03,
            'fill-opacity': weight.toFixed(3),
          }),
    ),
  );
  // the cells that the induction score counts
  const scored = draw('path', {
    class: 'scored',
    d: `M1 ${PERIOD}H2L${PERIOD + 1} ${size - 1}V${size}H${PERIOD}L1 ${PERIOD + 1}Z`,
  });
  const query = draw('rect', {
    class: 'asks',
    x: 0,
    y: PERIOD + state.place,
    width: size,
    height: 1,
  });
  return draw(
    'svg',
    { class: 'pattern', viewBox: `0 0 ${size} ${size}`, 'aria-hidden': 'true' },
    draw('path', { class: 'future', d: `M1 0H${size}V${size - 1}Z` }),
    draw('path', { class: 'copies', d: `M0 ${PERIOD}H${size}M${PERIOD} 0V${size}` }),
    ...cells.filter(Boolean),
    ...(isChosen ? [scored, query] : []),
  );
}

function tile(l, h, rows) {
  const isChosen = state.head.join('.') === `${l}.${h}`;
  const show = button(
    '',
    () => {
      state.head = [l, h];
      update();
    },
    {
      className: 'look',
      ariaPressed: String(isChosen),
      ariaLabel: `show head ${h} of layer ${l}`,
    },
  );
  show.append(patternOf(rows, isChosen));
  const tick = make('input', { type: 'checkbox', checked: !isOff(l, h) });
  tick.ariaLabel = `head ${h} of layer ${l} is on`;
  tick.addEventListener('change', () => switchHeads([[l, h]], tick.checked));
  const label = make('label', {}, tick, make('span', {}, `head ${h}`));
  return make('div', { className: isOff(l, h) ? 'tile off' : 'tile' }, show, label);
}

function paintTiles(maps) {
  const focused = [...page.layers.querySelectorAll('button, input')].indexOf(
    document.activeElement,
  );
  const layers = maps.map((heads, l) => {
    const tiles = make('div', { className: 'tiles' }, ...heads.map((rows, h) => tile(l, h, rows)));
    tiles.style.gridTemplateColumns = `repeat(${Math.min(4, heads.length)}, minmax(0, 1fr))`;
    const name = `layer ${l}`;
    return make('div', { role: 'group', ariaLabel: name }, make('h3', {}, name), tiles);
  });
  page.layers.replaceChildren(...layers);
  if (focused >= 0) page.layers.querySelectorAll('button, input')[focused].focus();
}

const times = (count, one) => (count === 1 ? `one ${one}` : `${count} ${one}s`);

// where a key stands, as seen from the query
function whereabouts(place, key) {
  const [query, further] = [PERIOD + place, key - place];
  const earlier = `the first ${quoted(wordAt(place))}`;
  if (key === query) return 'itself';
  if (further === 0) return earlier;
  if (further > 0 && further < 5) return `${times(further, 'position')} after ${earlier}`;
  return `${times(query - key, 'position')} before it`;
}

function tell(rows) {
  const [l, h] = state.head;
  const { place } = state;
  const from = rows[PERIOD + place];
  const key = best(from);
  const off = isOff(l, h) ? ' It is off, so nothing of this reaches the residual stream.' : '';
  page.told.textContent =
    `Head ${h} of layer ${l} attends from the second ${quoted(wordAt(place))} most to ` +
    `${quoted(wordAt(key))}, ${whereabouts(place, key)}, with a weight of ${number(from[key])}. ` +
    `Its induction score, the mean weight on the framed cells, is ${number(inductionScore(rows))}.${off}`;
}

// for each layer a button; they are made once, as long as there are as many layers
function paintMore() {
  const { layers } = modelNow();
  if (page.wholeLayers.children.length === layers.length) return;
  const buttons = layers.map((_, l) =>
    button(`layer ${l} off`, () => {
      const heads = allHeads().filter(([layer]) => layer === l);
      switchHeads(heads, false);
    }),
  );
  page.wholeLayers.replaceChildren(...buttons);
}

function paintHeads() {
  const run = withHeadsOff();
  const [l, h] = state.head;
  const rows = run.maps[l][h];
  const found = judged(run);
  paintWords(rows);
  paintSaid(found);
  paintResult(found);
  paintTiles(run.maps);
  tell(rows);
  paintMore();
  const words = row().map((_, position) => wordAt(position));
  const rounded = (weight) => Math.round(1e4 * weight) / 1e4;
  const lines = rows.map((one, i) => ({ name: words[i], numbers: one.map(rounded) }));
  const caption = `Head ${h} of layer ${l}: queries in rows, keys in columns`;
  page.numbers.replaceChildren(
    ...(isOpen['the weights of this head, in numbers'] ? [numberTable(caption, words, lines)] : []),
  );
}

// -------------------------------------------------------------------------- vectors: what is seen

function buildVectors() {
  const options = places.map((place) => ({ text: '', value: place }));
  const choice = selection('replaced', options, state.replaced, (replaced) => choose({ replaced }));
  page.words = [...choice.querySelectorAll('option')];
  page.all = button('try every position', tryAll);
  page.asked = make('p');
  page.bars = make('div', { className: 'bars' });
  page.back = make('p', { className: 'told', role: 'status' });
  page.sheets = make('div', { className: 'sheets' });
  page.cells = [];
  const choices = make('div', { className: 'choices' }, choice, page.all);
  page.vectors.replaceChildren(choices, page.asked, page.bars, page.back, page.sheets);
}

// the words once more for each layer: a press puts the vector of this position back before this layer
function buildSheets() {
  const count = modelNow().layers.length;
  const cells = Array.from({ length: 2 * count }, (_, line) =>
    places.map((place) => {
      const [layer, position] = [Math.floor(line / 2), (line % 2) * PERIOD + place];
      const press = () => {
        tryOut(layer, position);
        update();
      };
      const [word, where] = [make('span'), make('span', { className: 'unseen' })];
      const share = make('span', { className: 'share' });
      const cell = button('', press, { className: 'word' });
      cell.append(word, where, share);
      return { cell, word, where, share, layer, position };
    }),
  );
  page.cells = cells.flat();
  withArrows(cells.map((line) => line.map(({ cell }) => cell)));
  const sheets = modelNow().layers.map((_, l) => {
    const lines = ['first copy', 'second copy'].map((name, copy) =>
      lineOf(
        name,
        cells[2 * l + copy].map(({ cell }) => cell),
      ),
    );
    const name = `before layer ${l}`;
    const sheet = make('div', { className: 'rows' }, ...lines);
    return make('div', { role: 'group', ariaLabel: name }, make('h3', {}, name), sheet);
  });
  page.sheets.replaceChildren(...sheets);
}

function paintCells() {
  const words = corruptedRow().map((id) => data.words[id]);
  for (const { cell, word, where, share, layer, position } of page.cells) {
    const found = state.tried.get(`${layer}.${position}`);
    const isTried = found !== undefined;
    word.textContent = words[position];
    share.textContent = isTried ? percent(found) : '·';
    if (isTried) cell.dataset.share = found;
    else delete cell.dataset.share;
    fill(cell, isTried ? Math.max(0, found) : 0);
    const copy = position < PERIOD ? 'first' : 'second';
    const says = isTried ? 'brings back percent:' : 'not tried';
    where.textContent = `, ${copy} copy, before layer ${layer}, ${says} `;
    const kinds = ['word'];
    if (position === state.replaced) kinds.push('replaced');
    if (position === PERIOD + state.replaced) kinds.push('asked');
    if (state.put?.join('.') === `${layer}.${position}`) kinds.push('put');
    cell.className = kinds.join(' ');
  }
}

const percent = (share) => minus(String(Math.round(100 * share) + 0));

function barOf(name, run) {
  const inside = make('i');
  const chance = run ? Math.exp(logOfAnswer(run)) : 0;
  inside.style.width = `${100 * chance}%`;
  const said = run ? best(run.logits[PERIOD + state.replaced]) : null;
  const words = run ? `predicts ${quoted(data.words[said])}` : '';
  return make(
    'p',
    { className: run ? 'bar' : 'bar waiting' },
    make('span', { className: 'name' }, name),
    make('span', { className: 'chance', ariaHidden: 'true' }, inside),
    make('b', {}, run ? number(chance) : '–'),
    make('span', { className: 'says' }, words),
  );
}

function tellBack() {
  const answer = quoted(data.words[answerTo(state.replaced)]);
  if (taken() < SMALLEST_LOSS) {
    page.back.textContent = `The answer hardly depends on this word, so there is nothing to bring back. Replace another one.`;
    return;
  }
  if (!state.put) {
    page.back.textContent = state.tried.size
      ? 'Each number is the percentage of the answer that comes back when the vector at this position alone is put back.'
      : `Press a word below. Its vector at this position comes from the clean run, and everything after it is computed anew. How much of ${answer} comes back?`;
    return;
  }
  const [layer, position] = state.put;
  const share = state.tried.get(state.put.join('.'));
  const copy = position < PERIOD ? 'first' : 'second';
  const word = quoted(data.words[corruptedRow()[position]]);
  page.back.textContent =
    `Before layer ${layer}, the vector of ${word} in the ${copy} copy, ${standsAt(position)}, brings ` +
    `back ${percent(share)} % of the answer.`;
}

function standsAt(position) {
  const away = position - state.replaced;
  if (away === 0) return 'the word that was replaced';
  if (away === PERIOD) return 'after which the answer is asked for';
  return away > 0
    ? `${times(away, 'position')} after the replaced word`
    : `${times(-away, 'position')} before the replaced word`;
}

function paintVectors() {
  const before = data.words[state.block[state.replaced]];
  const [old, fresh, answer] = [
    before,
    data.words[standIn()],
    data.words[answerTo(state.replaced)],
  ];
  page.asked.textContent =
    `In the first copy ${quoted(fresh)} stands in for ${quoted(old)}. How probable is ${quoted(answer)} ` +
    `after the ${quoted(old)} of the second copy?`;
  page.words.forEach((word, place) => (word.textContent = data.words[state.block[place]]));
  page.all.disabled = taken() < SMALLEST_LOSS;
  const isTried = state.put !== null;
  page.bars.replaceChildren(
    barOf('clean run', clean),
    barOf('one word replaced', passed(modelNow(), corruptedRow())),
    barOf('one vector put back', isTried ? patched(...state.put) : null),
  );
  tellBack();
  if (page.cells.length !== 2 * PERIOD * modelNow().layers.length) buildSheets();
  paintCells();
}

// ---------------------------------------------------------------------------------------- all of it

function update() {
  page.shows.paint(state.shows);
  page.models.paint(state.model);
  page.heads.hidden = state.shows !== 'heads';
  page.vectors.hidden = state.shows !== 'vectors';
  if (state.shows === 'heads') paintHeads();
  else paintVectors();
}

// the page calls it when the weights, which come last, are there

function arrive() {
  const stored = JSON.parse(document.getElementById('late').textContent).models;
  models = data.models.map(({ name, means, ...shape }, k) => ({
    ...copierFrom(unpacked(stored[k]), shape),
    name,
    means,
  }));
  state.head = data.head;
  build();
  choose({});
  followPage();
}
