// The view of a key/value cache: a row for each query, a column for each key, and what a step computes.

// After `count` tokens have been read or generated; `cached` is false where every step computes all rows anew.
const state = { count: data.prompt, cached: true };
const LONGEST = data.words.length;

// --------------------------------------------------------------------------------- what happens

// the rows that the last step computed, first and one beyond the last
const fresh = () => {
  const whole = state.count === data.prompt || !state.cached;
  return [whole ? 0 : state.count - 1, state.count];
};

function rowsSoFar(cached) {
  let sum = data.prompt;
  for (let count = data.prompt + 1; count <= state.count; count++) sum += cached ? 1 : count;
  return sum;
}

function kindOf(i, j) {
  if (i >= state.count || j > i) return 'hidden';
  const [first] = fresh();
  if (i < first) return 'before';
  return state.count > data.prompt && i < state.count - 1 ? 'again' : 'now';
}

// ---------------------------------------------------------------------------------- the page

function step(by) {
  state.count = Math.max(data.prompt, Math.min(LONGEST, state.count + by));
  update();
}

function build() {
  page.next = button('next token', () => step(1));
  page.back = button('one token back', () => step(-1));
  page.again = button('only the prompt', () => step(-LONGEST));
  page.cache = button('with a cache', () => {
    state.cached = !state.cached;
    update();
  });
  const top = make('tr', {}, make('td'), ...data.words.map((word) => head('col', '', word)));
  page.columns = [...top.children].slice(1);
  page.rows = data.words.map((word, i) => {
    const cells = data.words.map((_, j) => make('td', { 'data-place': `${i} ${j}` }));
    return { cells, line: make('tr', {}, head('row', '', word), ...cells) };
  });
  const lines = make('tbody', {}, ...page.rows.map(({ line }) => line));
  const label = make('caption', {}, 'rows: queries, columns: keys and values');
  const table = make('table', { className: 'grid' }, label, make('thead', {}, top), lines);
  const scroll = make('div', { className: 'scroll', tabIndex: 0, role: 'region' }, table);
  scroll.ariaLabel = 'which query attends to which key';
  page.told = make('p', { className: 'told', role: 'status' });
  page.sums = make('p', { className: 'sums' });
  const legend = make('p', { className: 'legend' });
  for (const [kind, text] of [
    ['now', 'computed in this step'],
    ['again', 'computed once more'],
    ['before', 'computed before, and not needed again'],
  ]) {
    legend.append(make('span', {}, make('i', { className: kind }), text));
  }
  const choices = make(
    'div',
    { className: 'choices' },
    page.next,
    page.back,
    page.again,
    page.cache,
  );
  page.view.replaceChildren(choices, scroll, legend, page.told, page.sums);
}

function tell() {
  const { count, cached } = state;
  const newest = quoted(data.words[count - 1]);
  if (count === data.prompt) {
    page.told.textContent = `Prefill. The ${count === 1 ? 'token' : `${count} tokens`} of the prompt ${count === 1 ? 'is' : 'are'} read in one pass, and ${count === 1 ? 'its key and value go' : 'their keys and values go'} into the cache.`;
  } else if (cached) {
    page.told.textContent = `${newest} computes one query, one key and one value. Its query reads the ${count - 1} keys and values in the cache and its own. The mask is the last row of the whole one.`;
  } else {
    page.told.textContent = `Without a cache all ${count} rows are computed for ${newest}, and ${count - 1} of them give what they gave before.`;
  }
  const [ours, theirs] = [rowsSoFar(true), rowsSoFar(false)];
  const held = cached
    ? `The cache holds ${count} keys and ${count} values for each head and layer.`
    : 'Nothing is kept.';
  page.sums.textContent = `Rows computed so far: ${ours} with a cache, ${theirs} without. ${held}`;
}

function update() {
  page.next.disabled = state.count === LONGEST;
  page.back.disabled = page.again.disabled = state.count === data.prompt;
  page.cache.ariaPressed = String(state.cached);
  const [first] = fresh();
  page.columns.forEach((column, j) => {
    column.dataset.cache = j >= state.count ? 'none' : j < first ? 'kept' : 'new';
  });
  page.rows.forEach(({ cells, line }, i) => {
    line.classList.toggle('waiting', i >= state.count);
    cells.forEach((cell, j) => (cell.className = kindOf(i, j)));
  });
  tell();
}

build();
update();
followPage();
