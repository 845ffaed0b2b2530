// The view of byte-pair encoding: one word, and the merges that join its letters.

// `done` merges of those that change the word have been made.
const state = { word: data.words[0], done: Infinity };

// ------------------------------------------------------------------------------- the computation

// a pair is joined from left to right, without overlap
function joined(symbols, [left, right]) {
  const result = [];
  for (let at = 0; at < symbols.length; at += 1) {
    const fits = symbols[at] === left && symbols[at + 1] === right;
    result.push(fits ? left + right : symbols[at]);
    if (fits) at += 1;
  }
  return result;
}

// the merges that change the word, in the order in which they were learned
function stagesOf(word) {
  const stages = [{ symbols: [...word] }];
  data.merges.forEach((pair, at) => {
    const symbols = joined(stages.at(-1).symbols, pair);
    if (symbols.length < stages.at(-1).symbols.length) {
      stages.push({ symbols, pair, place: at + 1 });
    }
  });
  return stages;
}

// ------------------------------------------------------------------------------------ controls

function take(word) {
  Object.assign(state, { word, done: 0 });
  update();
}

function step(count) {
  state.done = within(Math.min(state.done, page.stages.length - 1) + count, page.stages.length);
  update();
}

function build() {
  const options = data.words.map((word) => ({ text: word, value: word }));
  const offered = selection('word', options, data.words[0], (word) => {
    page.typed.value = word;
    take(word);
  });
  page.typed = make('input', { type: 'text', maxLength: data.longest, spellcheck: false });
  page.typed.value = data.words[0];
  page.typed.autocapitalize = 'off';
  page.typed.addEventListener('input', () => take(page.typed.value.trim()));
  const own = make('label', { className: 'field' }, make('span', {}, 'or your own'), page.typed);
  page.again = button('letters', () => step(-Infinity));
  page.back = button('one merge back', () => step(-1));
  page.next = button('next merge', () => step(1));
  page.all = button('all merges', () => step(Infinity));
  page.stagesShown = make('ol', { className: 'stages' });
  page.told = make('p', { className: 'told', role: 'status' });
  const hint = make(
    'p',
    { className: 'hint' },
    'The number says which of the merges it is, counted from the first that was learned.',
  );
  page.view.replaceChildren(
    make('div', { className: 'choices' }, offered, own),
    make('div', { className: 'choices' }, page.again, page.back, page.next, page.all),
    page.stagesShown,
    page.told,
    hint,
  );
}

// ---------------------------------------------------------------------------------- the picture

function line({ symbols, pair, place }, isLast) {
  const name = pair ? `${place}` : 'letters';
  const boxes = symbols.map((symbol) => {
    const isNew = isLast && pair && symbol === pair.join('');
    return make('span', { className: isNew ? 'symbol new' : 'symbol' }, symbol);
  });
  const word = make('span', { className: 'word' }, ...boxes.flatMap((box) => [box, ' ']));
  return make('li', {}, make('span', { className: 'name' }, name), word);
}

function tell(stages) {
  const { symbols, pair, place } = stages.at(-1);
  const count = symbols.length === 1 ? 'one symbol' : `${symbols.length} symbols`;
  if (!symbols.length) page.told.textContent = 'Type a word.';
  else if (!pair) page.told.textContent = `The word is spelled with ${count}.`;
  else {
    const [left, right] = pair.map(quoted);
    const end = stages.length === page.stages.length ? ' No later merge changes the word.' : '';
    page.told.textContent = `Merge ${place} joins ${left} and ${right}, so the word has ${count}.${end}`;
  }
}

function update() {
  page.stages = stagesOf(state.word);
  state.done = within(state.done, page.stages.length);
  const shown = page.stages.slice(0, state.done + 1);
  page.stagesShown.replaceChildren(...shown.map((stage, at) => line(stage, at === state.done)));
  page.next.disabled = page.all.disabled = state.done === page.stages.length - 1;
  page.back.disabled = page.again.disabled = state.done === 0;
  tell(shown);
}

function start() {
  build();
  update();
  followPage();
}

start();
