// A whole translator that works in the page: what is asked, what it answers, and where the reader is.
// `data` has the words and arrives first; the weights come last, so that the page is there before them.

const isRecurrent = data.kind === 'recurrent';
const isSmall = data.small || new URLSearchParams(location.search).has('small');
const EOS_WORD = '<eos>';
const GERMAN = new Map(data.german.map((word, id) => [word, id]));
const SPECIALS = 4; // the first ids are no words
const TAUS = [0.1, 10];
const WARMTHS = [0.1, 10];

// `tick` is the moment that is looked at, counted through `moments`. `word` is the German word whose
// numbers are shown, `over` one under the mouse. `open` is the block that is opened, `head` its head.
const state = {
  text: '',
  words: [],
  tick: 0,
  word: 0,
  over: null,
  open: null,
  head: null,
  warmth: 1,
  off: new Set(),
  hidden: new Set(),
  tau: 1,
  plays: false,
};

let network = null; // once the weights have arrived
let now = null; // what the network computed, with all that the reader changed
let trained = null; // the same as trained

// ------------------------------------------------------------------------------------- computing

const changes = () => ({ off: state.off, hidden: state.hidden, tau: state.tau });
const isChanged = () => state.off.size > 0 || state.hidden.size > 0 || state.tau !== 1;
const translated = (ids, how) =>
  isRecurrent
    ? translatedByRecurrent(network, ids, how)
    : translatedByTransformer(network, ids, how);

function compute() {
  const ids = [...state.words.map((word) => GERMAN.get(word)), EOS];
  trained = translated(ids, NOTHING_CHANGED);
  now = isChanged() ? translated(ids, changes()) : trained;
  state.tick = within(state.tick, moments().length);
  state.word = within(state.word, ids.length);
}

const german = () => [...state.words, EOS_WORD];
const englishOf = (result) => result.written.slice(1).map((id) => data.english[id]);
const english = () => englishOf(now);
const readWord = (t) => data.english[now.written[t]];
const probabilities = (result, t) =>
  softmax([...result.logits[t]].map((logit) => logit / state.warmth));
function chanceOf(share) {
  if (share < 0.0005) return 'less than 0.001';
  return share > 0.9995 && share < 1 ? 'more than 0.999' : share.toFixed(3);
}
const ranked = (numbers) => numbers.map((_, id) => id).sort((a, b) => numbers[b] - numbers[a]);

// -------------------------------------------------------------------------------------- moments

// Names of the parts in the order in which they compute. `e1a` is attention in layer 1 of the encoder.
const partsOfEncoder = () =>
  isRecurrent
    ? ['fwd', 'bwd']
    : Array.from({ length: network?.layers.encoder ?? data.layers }, (_, l) => [
        `e${l + 1}a`,
        `e${l + 1}f`,
      ]).flat();
const partsOfDecoder = () =>
  isRecurrent
    ? ['att', 'state']
    : Array.from({ length: network?.layers.decoder ?? data.layers }, (_, l) =>
        ['s', 'c', 'f'].map((part) => `d${l + 1}${part}`),
      ).flat();

// First the encoder, once; then all parts of the decoder, once for each word. t is -1 in the encoder.
function moments() {
  const reading = ['embed', ...partsOfEncoder()].map((part) => ({ part, t: -1 }));
  const writing = now ? english().flatMap((_, t) => wordMoments(t)) : [];
  return [...reading, ...writing];
}

const wordMoments = (t) => ['read', ...partsOfDecoder(), 'say'].map((part) => ({ part, t }));
const moment = () => moments()[state.tick];
const tickOf = (part, t) => moments().findIndex((one) => one.part === part && one.t === t);
// The word that is being written; in the encoder none is, and the first one is shown.
const step = () => Math.max(0, moment().t);
// whether a part has computed its row t by now
const isDone = (part, t) => tickOf(part, t) <= state.tick;

function goTo(tick) {
  state.tick = within(tick, moments().length);
  update();
}

function goToWord(t) {
  goTo(tickOf('say', within(t, english().length)));
}

// ----------------------------------------------------------------------------------------- playing

const quiet = matchMedia('(prefers-reduced-motion: reduce)');
const PAUSES = { reading: 1500, first: 1300, later: 320, said: 1000, quiet: 1500 };
let timer = null;

function pauseAfter({ part, t }) {
  if (quiet.matches) return PAUSES.quiet;
  if (t < 0) return PAUSES.reading;
  if (part === 'say') return PAUSES.said;
  return t === 0 ? PAUSES.first : PAUSES.later;
}

function play(starts) {
  clearTimeout(timer);
  if (starts && state.tick === moments().length - 1) state.tick = 0;
  state.plays = starts;
  update();
  if (starts) timer = setTimeout(playOn, pauseAfter(moment()));
}

// with little motion wanted, playing goes from word to word
function playOn() {
  if (state.tick === moments().length - 1) {
    play(false);
    return;
  }
  if (quiet.matches) goToWord(moment().t + 1);
  else goTo(state.tick + 1);
  timer = setTimeout(playOn, pauseAfter(moment()));
}

function walkBy(ticks) {
  play(false);
  goTo(state.tick + ticks);
}

function walkByWord(words) {
  play(false);
  goToWord(moment().t + words);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, select, textarea, [role=listbox]')) return;
  const isButton = event.target.closest('button, summary, [role=button], a');
  if (event.key === ' ' && !isButton) play(!state.plays);
  else if (event.key === 'ArrowRight') (event.shiftKey ? walkByWord : walkBy)(1);
  else if (event.key === 'ArrowLeft') (event.shiftKey ? walkByWord : walkBy)(-1);
  else if (event.key === 'Escape' && state.open) openBlock(null);
  else return;
  event.preventDefault();
}

function onKeyAround(event) {
  onKey(event);
  if (event.defaultPrevented) event.stopImmediatePropagation();
}

// ------------------------------------------------------------------------------ the German sentence

const TOKEN = /[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu;
const tokens = (text) => text.normalize('NFC').toLowerCase().match(TOKEN) ?? [];

// how many letters are to be changed, put in or taken away
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, j) => j);
  [...one].forEach((letter, i) => {
    const next = [i + 1];
    [...other].forEach((second, j) => {
      next.push(Math.min(row[j] + (letter !== second), row[j + 1] + 1, next[j] + 1));
    });
    row = next;
  });
  return row.at(-1);
}

const knownWords = data.german.slice(SPECIALS);

function nearest(word) {
  const far = new Map(knownWords.map((known) => [known, distance(word, known)]));
  return knownWords
    .filter((known) => far.get(known) <= Math.max(2, word.length / 2))
    .sort((a, b) => far.get(a) - far.get(b))
    .slice(0, 3);
}

// what keeps a sentence from being translated, in words; empty if nothing does
function complaint(words) {
  if (!words.length) return 'Type a German sentence, or take another one.';
  const unknown = [...new Set(words)].filter((word) => !GERMAN.has(word));
  if (unknown.length) {
    const told = unknown.slice(0, 2).map((word) => {
      const near = nearest(word).map(quoted).join(' or ');
      const known = `${quoted(word)} is none of the ${knownWords.length} words that it has learned`;
      return near ? `${known}. Did you mean ${near}?` : `${known}, and nothing is like it.`;
    });
    return told.join(' ');
  }
  if (words.length > data.longest)
    return `These are ${words.length} words and punctuation marks, and it has read sentences of at most ${data.longest}. Leave some out.`;
  return '';
}

// what followed a word in sentences of the grammar, the most frequent first
const followers = new Map();
for (const sentence of data.sentences) {
  const words = ['', ...sentence.split(' ')];
  words.slice(1).forEach((word, k) => {
    const counts = followers.get(words[k]) ?? new Map();
    followers.set(words[k], counts.set(word, (counts.get(word) ?? 0) + 1));
  });
}

// words that go on from what is typed: those that often follow come first
function completions(text) {
  const words = tokens(text);
  const isNew = text === '' || /\s$/.test(text);
  const begun = isNew ? '' : (words.pop() ?? '');
  if (/^[.?]$/.test(words.at(-1) ?? '')) return [];
  const counts = followers.get(words.at(-1) ?? '') ?? new Map();
  const fits = (word) => word.startsWith(begun) && word !== begun;
  const likely = [...counts.keys()].filter(fits).sort((a, b) => counts.get(b) - counts.get(a));
  const others = begun ? knownWords.filter((word) => fits(word) && !counts.has(word)) : [];
  return [...likely, ...others].slice(0, 6);
}

function ask(text, { keepsField = false } = {}) {
  state.text = text;
  if (!keepsField) page.field.value = text;
  const words = tokens(text);
  const found = complaint(words);
  page.complaint.textContent = found && `${found} The picture still shows the sentence before.`;
  page.field.ariaInvalid = Boolean(found);
  if (found || words.join(' ') === state.words.join(' ')) return;
  play(false);
  state.words = words;
  state.hidden = new Set();
  state.word = 0;
  if (!network) return;
  compute();
  showAtFirst();
  rebuild();
}

// at first sight: the sixth word has just been written, or the first one that is other than as trained
function showAtFirst() {
  const { length } = english();
  const other = english().findIndex((word, t) => word !== englishOf(trained)[t]);
  state.tick = tickOf('say', other < 0 ? Math.min(5, length - 1) : other);
  state.word = within(strongestWord(), german().length);
}

function anotherSentence() {
  const others = data.sentences.filter((sentence) => sentence !== state.words.join(' '));
  ask(others[Math.floor(Math.random() * others.length)]);
}

function buildAsk() {
  page.field = make('input', {
    type: 'text',
    id: 'german',
    autocomplete: 'off',
    spellcheck: false,
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': 'completions',
    'aria-expanded': 'false',
    'aria-describedby': 'complaint',
    'aria-label': 'German sentence',
    lang: 'de',
    value: state.text,
    oninput: typed,
    onkeydown: keyInField,
    onblur: () => setTimeout(() => document.activeElement === page.field || hideCompletions(), 150),
  });
  page.completions = make('ul', { id: 'completions', role: 'listbox', hidden: true });
  page.completions.ariaLabel = 'words that may follow';
  page.complaint = make('p', { id: 'complaint', role: 'status' });
  const box = make('div', { className: 'asked' }, page.field, page.completions);
  const another = button('another sentence', anotherSentence);
  return make('div', { className: 'ask' }, box, another, page.complaint);
}

function typed() {
  const text = page.field.value;
  showCompletions(completions(text));
  const last = tokens(text).at(-1) ?? '';
  const mayGoOn = !/\s$/.test(text) && knownWords.some((word) => word.startsWith(last));
  if (mayGoOn && !GERMAN.has(last)) page.complaint.textContent = '';
  else ask(text, { keepsField: true });
}

function showCompletions(words) {
  page.chosen = -1;
  page.completions.replaceChildren(
    ...words.map((word, k) =>
      make(
        'li',
        {
          role: 'option',
          id: `completion-${k}`,
          'aria-selected': 'false',
          onpointerdown: (event) => {
            event.preventDefault();
            complete(word);
          },
        },
        word,
      ),
    ),
  );
  page.completions.hidden = !words.length;
  page.field.ariaExpanded = Boolean(words.length);
  page.field.removeAttribute('aria-activedescendant');
}

const hideCompletions = () => showCompletions([]);

function complete(word) {
  const text = page.field.value;
  const start = /\s$/.test(text) ? text : text.replace(/\S+$/, '');
  page.field.value = `${start}${word} `;
  page.field.focus();
  typed();
}

function keyInField(event) {
  const options = [...page.completions.children];
  const moves = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (moves && options.length) {
    const from = page.chosen < 0 && moves < 0 ? 0 : page.chosen;
    page.chosen = (from + moves + options.length) % options.length;
    options.forEach((option, k) => (option.ariaSelected = k === page.chosen));
    page.field.setAttribute('aria-activedescendant', options[page.chosen].id);
  } else if (['Enter', 'Tab'].includes(event.key) && page.chosen >= 0) {
    complete(options[page.chosen].textContent);
  } else if (event.key === 'Enter') {
    hideCompletions();
    ask(page.field.value);
    return;
  } else if (event.key === 'Escape' && options.length) {
    hideCompletions();
  } else return;
  event.preventDefault();
}

// -------------------------------------------------------------------------------------- the answer

// words of both sentences in order, each with whether it stands in both
function compared(one, other) {
  const longest = one.map(() => other.map(() => 0));
  const at = (i, j) => longest[i]?.[j] ?? 0;
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      longest[i][j] =
        one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const common = [one.map(() => false), other.map(() => false)];
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    if (one[i] === other[j]) {
      common[0][i++] = true;
      common[1][j++] = true;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return common;
}

function buildAnswer() {
  page.answer = make('p', { className: 'answer', id: 'answer', lang: 'en' });
  page.before = make('p', { className: 'before', id: 'before', lang: 'en' });
  page.told = make('p', { className: 'told', id: 'told' });
  page.spoken = make('p', { className: 'unseen', role: 'status' });
  page.answers = make('div', { className: 'answers' }, page.answer, page.before, page.told);
  page.answers.append(page.spoken);
  return page.answers;
}

function paintAnswer() {
  const words = english();
  const others = englishOf(trained);
  const [kept, keptBefore] = compared(words, others);
  const said = isDone('say', step()) ? step() : step() - 1;
  const shown = words.map((word, t) => {
    const className = [
      t === step() && moment().t >= 0 && 'now',
      t > said && 'ahead',
      !kept[t] && 'other',
      word === EOS_WORD && 'end',
    ];
    return make(
      'button',
      {
        type: 'button',
        className: className.filter(Boolean).join(' '),
        onclick: () => {
          play(false);
          goToWord(t);
        },
      },
      word,
    );
  });
  page.answer.replaceChildren(...shown);
  if (isChanged()) {
    const same = kept.every(Boolean) && keptBefore.every(Boolean);
    const old = others.flatMap((word, t) => [
      make('span', { className: keptBefore[t] ? '' : 'gone' }, word),
      ' ',
    ]);
    page.before.replaceChildren(
      make('b', {}, same ? 'As trained, the same: ' : 'As trained: '),
      ...old,
    );
  } else page.before.textContent = '';
  page.told.replaceChildren(...toldNow());
  const sentence = words.filter((word) => word !== EOS_WORD).join(' ');
  if (page.spoken.dataset.sentence !== sentence) {
    page.spoken.dataset.sentence = sentence;
    page.spoken.textContent = `It writes: ${sentence}`;
  }
}

const inRole = (role, text) => make('b', { className: role }, text);
const strongestIn = (row) => ranked(row)[0];
const meanOf = (rows) => rows[0].map((_, j) => total(rows.map((row) => row[j])) / rows.length);

// what happens at this moment, in a sentence with its numbers
function toldNow() {
  const { part, t } = moment();
  if (part === 'embed')
    return isRecurrent
      ? [`Each German word is looked up: a row of ${now.encoder.words[0].length} numbers.`]
      : [
          `Each German word is looked up: ${network.width} numbers, plus ${network.width} that say where it stands.`,
        ];
  if (part === 'read') return toldOfReading(t);
  if (part === 'say') return toldOfSaying(t);
  if (state.off.has(part) || state.off.has(part.slice(0, 2)))
    return [`${nameOfBlock(part)} is switched off.`];
  return isRecurrent ? toldOfRecurrent(part, t) : toldOfPart(part, t);
}

function toldOfReading(t) {
  const word = readWord(t);
  return [
    `Word ${t + 1}. The decoder reads `,
    inRole('query', word),
    t ? ', which it has just written.' : ', the sign to begin.',
  ];
}

function toldOfSaying(t) {
  const chances = probabilities(now, t);
  const [first, second] = ranked(chances);
  return [
    `All ${data.english.length} English words get a probability. `,
    make('b', { className: 'said' }, data.english[first]),
    ` has probability ${chanceOf(chances[first])}, then comes ${quoted(data.english[second])} with ${chanceOf(chances[second])}.`,
  ];
}

function toldOfPart(part, t) {
  const row = t < 0 ? shownWord() : t;
  const word = t < 0 ? german()[row] : readWord(t);
  const kept = keptOf(part, now, t);
  if (part.endsWith('f')) {
    const on = kept.hidden[row].filter((x) => x > 0).length;
    return [
      'A small network works on each word by itself. For ',
      inRole('query', word),
      `, ${on} of its ${kept.hidden[row].length} hidden units are above zero.`,
    ];
  }
  const weights = weightsShown(part, row, t);
  const at = strongestIn(weights);
  const keys = keysOf(part, t);
  const what = {
    a: ' attends to all German words, most to ',
    s: ' attends to what is written, most to ',
    c: ' asks the German sentence what to write next. Most weight is on ',
  }[part[2]];
  return [
    inRole('query', word),
    what,
    inRole('key', keys[at]),
    ` (${weights[at].toFixed(2)})`,
    part[2] === 'c' ? ': its ' : '. Its ',
    inRole('value', 'value'),
    part[2] === 'c' ? ' flows over.' : ' flows into the row.',
  ];
}

function toldOfRecurrent(part, t) {
  if (part === 'fwd') return ['One network reads the sentence from left to right, word by word.'];
  if (part === 'bwd')
    return ['Another one reads it from right to left. Together: two states a word.'];
  const { weights, before, after } = now.steps[t];
  if (part === 'att') {
    const at = strongestIn(weights);
    return [
      'From its state, the decoder attends to the German words. Most weight is on ',
      inRole('key', german()[at]),
      ` (${weights[at].toFixed(2)}).`,
    ];
  }
  const moved = Math.sqrt(total([...after].map((x, c) => (x - before[c]) ** 2)));
  return [
    'The state is renewed from ',
    inRole('query', readWord(t)),
    ' and from what was looked at. It moves by ',
    `${number(moved)}.`,
  ];
}

// ------------------------------------------------------------------------------------ the transport

function buildTransport() {
  page.play = button('▶ play', () => play(!state.plays), { className: 'main' });
  page.time = make('input', {
    type: 'range',
    min: 0,
    step: 1,
    'aria-label': 'moment of the translation',
    oninput: () => {
      const tick = page.time.valueAsNumber;
      play(false);
      goTo(tick);
    },
  });
  const by = (text, label, onclick) => button(text, onclick, { 'aria-label': label, title: label });
  return make(
    'div',
    { className: 'transport' },
    by('◂ word', 'word before', () => walkByWord(-1)),
    by('◂ step', 'one step back', () => walkBy(-1)),
    page.play,
    by('step ▸', 'one step on', () => walkBy(1)),
    by('word ▸', 'next word', () => walkByWord(1)),
    page.time,
  );
}

function paintTransport() {
  page.play.textContent = state.plays ? '❚❚ pause' : '▶ play';
  page.time.max = moments().length - 1;
  page.time.value = state.tick;
  const { part, t } = moment();
  page.time.ariaValueText = t < 0 ? nameOfBlock(part) : `word ${t + 1}: ${nameOfBlock(part)}`;
}

// what the picture shows, its colours and its short names
function legend() {
  const [first, ...more] = isRecurrent
    ? [
        'The encoder reads the German words in both directions and keeps two states of each. The decoder writes the English words one after the other, and attends to these states before each word.',
        ['In the picture each row is a word, and each strip its numbers. '],
      ]
    : [
        'The encoder reads all German words at once, and keeps a row of numbers for each. The decoder writes the English words one after the other, and attends to these rows before each word.',
        [
          'In the picture each row is a word, and each strip its numbers, purple above zero and ochre below. Grey carries them through the layers and is wider where they are larger. At each + the result of a block is added to what was there, and the sum is brought back to one scale. ',
        ],
      ];
  const colours = [
    inRole('query', 'Blue'),
    ' asks for the next English word, ',
    inRole('key', 'orange'),
    ' is what it compares itself with, and ',
    inRole('value', 'green'),
    ' is what it takes over.',
  ];
  const paragraph = (...parts) => make('p', {}, ...parts);
  return make(
    'div',
    { className: 'hint legend' },
    paragraph(
      'Click a German word to hide it from the model, and a block of the picture to open it.',
    ),
    paragraph(first),
    paragraph(...more[0], ...colours),
    ...(isRecurrent ? [] : [shortNames()]),
  );
}

// where the picture has no room for the names
const shortNames = () =>
  make(
    'p',
    { className: 'short-names' },
    'Short names: vec for the vectors of the words, self and cross for the two kinds of attention, ffn for the feed-forward network, mem for the memory that the encoder leaves to the decoder.',
  );

// ------------------------------------------------------------------- the answer, while it is off screen

// A page scrolls, and the frame in it does not. So the view asks where on the screen it stands, and
// repeats the answer at its upper edge while a block or a switch is looked at further down.
function buildFollower() {
  page.follower = make('div', { className: 'follower', ariaHidden: true, hidden: true });
  const there = around()?.defaultView ?? window;
  const moved = () => requestAnimationFrame(placeFollower);
  for (const name of ['scroll', 'resize'])
    there.addEventListener(name, moved, { capture: true, passive: true });
  return page.follower;
}

// what of this page is above the screen, in pixels
function aboveScreen() {
  if (window.parent === window) return window.scrollY;
  if (!around()) return 0;
  const bar = around().querySelector('.mobile-header');
  return (bar?.offsetHeight ?? 0) - window.frameElement.getBoundingClientRect().top;
}

function placeFollower() {
  const above = aboveScreen();
  const { bottom } = page.answers.getBoundingClientRect();
  const end = document.body.scrollHeight - 160;
  const isOff = now && bottom + (window.parent === window ? window.scrollY : 0) < above;
  page.follower.hidden = !isOff || above > end;
  page.follower.style.top = `${above}px`;
}

function paintFollower() {
  const line = (element) => {
    const copy = element.cloneNode(true);
    copy.removeAttribute('id');
    copy.querySelectorAll('button').forEach((one) => {
      const { className, textContent } = one;
      one.replaceWith(make('span', { className }, textContent), ' ');
    });
    return copy;
  };
  page.follower.replaceChildren(line(page.answer), ...(isChanged() ? [line(page.before)] : []));
}

// -------------------------------------------------------------------------------------- the address

// The window whose address holds the state: this one if it stands alone, or the page around it if that
// asks for it. In a notebook there is none.
function addressed() {
  if (window.parent === window) return window;
  return window.frameElement?.dataset.address === undefined ? null : window.parent;
}

const AS_NUMBERS = { tau: TAUS, warmth: WARMTHS };

function stateInWords() {
  const parts = new URLSearchParams({ s: state.words.join(' ') });
  const { part, t } = moment();
  parts.set('at', t < 0 ? part : `${t + 1}.${part}`);
  if (state.open) parts.set('open', state.head ? `${state.open}.${state.head}` : state.open);
  if (state.off.size) parts.set('off', [...state.off].sort().join('.'));
  if (state.hidden.size) parts.set('hide', [...state.hidden].sort((a, b) => a - b).join('.'));
  for (const name of Object.keys(AS_NUMBERS))
    if (state[name] !== 1) parts.set(name, Number(state[name].toPrecision(4)));
  return parts.toString();
}

// Anything may stand in an address: what makes no sense is left out.
function readState(text) {
  const parts = new URLSearchParams(text);
  const sentence = parts.get('s') ?? data.sentence;
  page.field.value = state.text = sentence;
  const words = tokens(sentence);
  page.complaint.textContent = complaint(words);
  page.field.ariaInvalid = Boolean(complaint(words));
  state.words = complaint(words) ? tokens(data.sentence) : words;
  const switches = new Set(allSwitches());
  state.off = new Set((parts.get('off') ?? '').split('.').filter((name) => switches.has(name)));
  const places = (parts.get('hide') ?? '').split('.').filter(Boolean).map(Number);
  state.hidden = new Set(places.filter((place) => place in state.words));
  for (const [name, [low, high]] of Object.entries(AS_NUMBERS)) {
    const value = Number(parts.get(name) ?? 1);
    state[name] = value >= low && value <= high ? value : 1;
  }
  compute();
  showAtFirst();
  const at = (parts.get('at') ?? '').match(/^(?:(\d+)\.)?(\w+)$/);
  const tick = at ? tickOf(at[2], at[1] ? Number(at[1]) - 1 : -1) : -1;
  if (tick >= 0) state.tick = tick;
  const [block, head] = (parts.get('open') ?? '').split('.');
  state.open = allBlocks().includes(block) ? block : null;
  state.head =
    state.open && Number(head) >= 1 && Number(head) <= (network.heads ?? 0) ? Number(head) : null;
}

function writeAddress() {
  const there = addressed();
  if (!there || isSmall) return;
  clearTimeout(writeAddress.timer);
  writeAddress.timer = setTimeout(() => {
    writeAddress.last = `#${stateInWords()}`;
    there.history.replaceState(null, '', writeAddress.last);
  }, 250);
}

function followAddress() {
  const there = addressed();
  there?.addEventListener('hashchange', () => {
    if (there.location.hash === writeAddress.last) return;
    recall(there.location.hash.slice(1));
  });
}

// puts everything as a link says it
function recall(text) {
  play(false);
  readState(text);
  rebuild();
}

// ---------------------------------------------------------------------------------------- the whole

// what the words, or what is switched off, decide; `update` paints what the moment decides
function rebuild() {
  buildPicture();
  buildPanel();
  paintApart();
  update();
}

function changed() {
  const before = english().join(' ');
  const { part, t } = moment();
  compute();
  if (english().join(' ') !== before) state.tick = within(state.tick, moments().length);
  const again = tickOf(part, Math.min(t, english().length - 1));
  if (again >= 0) state.tick = again;
  rebuild();
}

function update() {
  if (!now) {
    buildPicture();
    return;
  }
  if (page.picture.clientWidth !== page.drawnWidth) buildPicture();
  paintPicture();
  paintAnswer();
  paintFollower();
  paintTransport();
  paintPanel();
  writeAddress();
}

function start() {
  state.text = data.sentence;
  state.words = tokens(data.sentence);
  const small = document.body.classList;
  small.toggle('small', isSmall);
  page.view.replaceChildren(
    buildAsk(),
    make('div', { className: 'stage' }, pictureBox()),
    buildAnswer(),
    buildTransport(),
    soFar(),
    legend(),
    panelBox(),
    ...(isSmall ? [] : [buildApart()]),
    buildFollower(),
  );
  page.view.ariaBusy = true;
  document.addEventListener('keydown', onKey);
  // on a page of its own the keys are the view's wherever the focus is, and turn no pages
  if (window.parent !== window && addressed())
    around().addEventListener('keydown', onKeyAround, true);
  buildPicture();
  followPage();
  if (!around()) document.body.style.overflowY = 'auto';
}

// The weights are the last thing on the page. What is there by then is painted first.
function arrive() {
  requestAnimationFrame(() =>
    setTimeout(() => {
      const stored = JSON.parse(document.getElementById('late').textContent);
      const weights = unpacked(stored);
      network = isRecurrent ? recurrentFrom(weights) : transformerFrom(weights, data.heads);
      readState(addressed()?.location.hash.slice(1) ?? '');
      followAddress();
      rebuild();
      page.view.ariaBusy = false;
      fit();
    }),
  );
}
start();
