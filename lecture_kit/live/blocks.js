// What a block of the picture holds. Attention, norms and positions open in the views that stand in the
// lectures, each in a frame of its own, with the numbers of this moment.

const MOST_ROWS = 5; // tokens beside each other in the view of norms
let panelKey = '';

function openBlock(block) {
  const before = state.open;
  play(false);
  state.open = block;
  state.head = null;
  buildPanel();
  update();
  if (block)
    page.panel.scrollIntoView({ block: 'nearest', behavior: quiet.matches ? 'auto' : 'smooth' });
  else page.layers.blocks.querySelector(`[data-block='${before}']`)?.focus({ preventScroll: true });
}

function panelBox() {
  page.panel = make('section', { className: 'panel', hidden: true });
  return page.panel;
}

function buildPanel() {
  panelKey = '';
  const { open } = state;
  page.panel.hidden = !open;
  if (!open) {
    page.panel.replaceChildren();
    return;
  }
  const name = nameOfBlock(open);
  page.panel.ariaLabel = name;
  const blocks = allBlocks();
  const beside = (sign, label, by) => {
    const there = blocks[(blocks.indexOf(open) + by + blocks.length) % blocks.length];
    return button(sign, () => openBlock(there), {
      'aria-label': `${label}: ${nameOfBlock(there)}`,
    });
  };
  page.panelBody = make('div', { className: 'body' });
  page.panel.replaceChildren(
    make(
      'div',
      { className: 'panel-head' },
      make('h2', {}, name),
      make(
        'div',
        { className: 'buttons' },
        beside('‹', 'block before', -1),
        beside('›', 'next block', 1),
        button('close', () => openBlock(null)),
      ),
    ),
    ...(isSmall ? [] : [switchesOf(open)]),
    page.panelBody,
  );
}

// The row whose numbers are shown: a German word, or the one that the decoder reads.
const isOfEncoder = (block) => sideOf(block) === 'encoder' || block === 'embed';
const rowOf = (block) => (isOfEncoder(block) ? shownWord() : step());
const wordOf = (block) => (isOfEncoder(block) ? german()[rowOf(block)] : readWord(rowOf(block)));

// what the decoder has read by now
const readSoFar = () => now.written.slice(0, step() + 1).map((id) => data.english[id]);

function paintPanel() {
  const { open } = state;
  if (!open) return;
  const key = [open, state.head, rowOf(open), step(), state.warmth, state.text].join('|');
  if (key === panelKey || (state.plays && panelKey)) return;
  panelKey = key;
  if (open === 'say') fillChances();
  else if (isRecurrent) fillRecurrent(open);
  else if (open === 'embed' || open === 'read') fillEmbedding(open);
  else if (isOff(open.replace(/n$/, '')))
    fillWith('This part is switched off: the stream passes by.');
  else if (open.endsWith('n')) fillNorm(open);
  else if (open.endsWith('f')) fillFeed(open);
  else fillAttention(open);
}

function fillWith(text, ...more) {
  page.panelBody.replaceChildren(make('p', { className: 'lead' }, text), ...more);
}

// one of the views of the lectures, in a frame
function framedView(name, caption, content) {
  const { page: whole, views } = JSON.parse(document.getElementById('inner').textContent);
  const text = JSON.stringify(content).replace(/</g, '\\u003c');
  const parts = { ...views[name], name, title: caption.replace(/[&<"]/g, ''), data: text };
  const html = whole.replace(/@(\w+)@/g, (_, part) => parts[part]);
  return make('iframe', { className: 'live-view inner', title: caption, srcdoc: html });
}

// ---------------------------------------------------------------------------------------- attention

// the rows of a head as a view takes them, numbers of the size that PyTorch has
function attentionItem(part, result, h, name) {
  const t = part[0] === 'e' ? -1 : step();
  const kept = keptOf(part, result, t);
  const rows = part[0] === 'e' ? kept.q.length : Math.min(t + 1, kept.q.length);
  const keys = part[2] === 's' ? rows : kept.k.length;
  const size = network.width / network.heads;
  const slice = (row) => [...row.subarray((h - 1) * size, h * size)];
  const isNow = result === now;
  const words = (ids) => ids.map((id) => data.english[id]);
  const queries = part[0] === 'e' ? german() : words(result.runs[t].ids.slice(0, rows));
  const mayLook = (i, j) => {
    if (part[2] === 's') return (isNow && state.off.has('mask')) || j <= i;
    return !(isNow && state.hidden.has(j));
  };
  const places = Array.from({ length: keys }, (_, j) => j);
  return {
    sentence: state.words.join(' '),
    model: name,
    layer: Number(part[1]),
    head: h,
    queries,
    keys: part[2] === 's' ? queries.slice(0, keys) : german(),
    q: kept.q.slice(0, rows).map(slice),
    k: kept.k.slice(0, keys).map(slice),
    v: kept.v.slice(0, keys).map(slice),
    mask: queries.map((_, i) => places.map((j) => (mayLook(i, j) ? '1' : '0')).join('')),
  };
}

function microscope(part) {
  const size = network.width / network.heads;
  const temperature = (state.off.has('root') ? 1 : Math.sqrt(size)) * state.tau;
  const heads = Array.from({ length: network.heads }, (_, h) => h + 1);
  const items = heads.map((h) => attentionItem(part, now, h, isChanged() ? 'now' : ''));
  const wasOn = keptOf(part, trained, Math.min(step(), trained.runs.length - 1)).q.length > 0;
  const canCompare = isChanged() && (part[0] === 'e' || isSameSoFar()) && wasOn;
  if (canCompare) {
    const scale = temperature / Math.sqrt(size);
    for (const h of heads) {
      const item = attentionItem(part, trained, h, 'as trained');
      items.push({ ...item, q: item.q.map((row) => row.map((x) => x * scale)) });
    }
  }
  const row = part[0] === 'e' ? shownWord() : step();
  return framedView('attention', `${nameOfBlock(part)}, head ${state.head}`, {
    items,
    index: state.head - 1,
    temperature,
    compare: canCompare,
    query: within(row, items[0].queries.length),
    permute: false,
  });
}

// whether the decoder has read the same words as the trained one
const isSameSoFar = () =>
  now.written.slice(0, step() + 1).every((id, k) => trained.written[k] === id);

// a small map: rows ask, columns are looked at
function smallMap(weights, row, label) {
  const [rows, keys] = [weights.length, Math.max(...weights.map((one) => one.length))];
  const svg = draw('svg', {
    viewBox: `0 0 ${keys} ${rows}`,
    class: 'small-map',
    role: 'img',
    'aria-label': label,
  });
  svg.append(draw('rect', { class: 'ground', x: 0, y: 0, width: keys, height: rows }));
  weights.forEach((one, i) =>
    [...one].forEach((weight, j) => {
      if (weight < 0.02) return;
      svg.append(
        draw('rect', {
          class: 'weight',
          x: j,
          y: i,
          width: 1.02,
          height: 1.02,
          'fill-opacity': weight.toFixed(3),
        }),
      );
    }),
  );
  svg.append(draw('rect', { class: 'row', x: 0, y: row, width: keys, height: 1 }));
  return svg;
}

function mapsOf(part, result, h) {
  const t = part[0] === 'e' ? -1 : Math.min(step(), result.runs.length - 1);
  const kept = keptOf(part, result, t).weights;
  const rows = part[0] === 'e' ? kept : kept.slice(0, t + 1);
  return rows.map((one) => one[h]);
}

function headCard(part, h) {
  const row = part[0] === 'e' ? shownWord() : step();
  const off = state.off.has(`${part}${h + 1}`);
  const weights = mapsOf(part, now, h);
  const maps = [smallMap(weights, row, `weights of head ${h + 1}`)];
  if (isChanged() && keptOf(part, trained, 0).q.length) {
    const before = mapsOf(part, trained, h);
    const differs =
      before.length !== weights.length ||
      before.some((one, i) => [...one].some((w, j) => Math.abs(w - (weights[i][j] ?? 0)) > 0.02));
    if (differs)
      maps.push(smallMap(before, Math.min(row, before.length - 1), `the same, as trained`));
  }
  const chosen = state.head === h + 1;
  const look = button(
    '',
    () => {
      state.head = chosen ? null : h + 1;
      update();
      page.panelBody.querySelectorAll('.head-card > button')[h].focus();
    },
    { 'aria-pressed': chosen, className: 'look' },
  );
  look.replaceChildren(
    make('span', {}, `head ${h + 1}`),
    make('span', { className: 'pair' }, ...maps),
    ...(maps.length > 1 ? [make('small', {}, 'now · as trained')] : []),
  );
  return make(
    'div',
    { className: off ? 'head-card off' : 'head-card' },
    look,
    ...(isSmall ? [] : [onOff(`${part}${h + 1}`, 'on')]),
  );
}

function fillAttention(part) {
  const row = part[0] === 'e' ? shownWord() : step();
  const cards = Array.from({ length: network.heads }, (_, h) => headCard(part, h));
  const who = make(
    'p',
    { className: 'lead' },
    'The framed row belongs to ',
    inRole('query', wordOf(part)),
    '. The stronger the colour of a cell, the more this word takes from the word of that column. Open a head, and follow every number.',
  );
  const rows = Array.from({ length: network.heads }, (_, h) => ({
    name: `head ${h + 1}`,
    numbers: [...mapsOf(part, now, h)[row]],
  }));
  const keys = part[0] === 'e' || part[2] === 'c' ? german() : readSoFar();
  const note = make(
    'p',
    { className: 'hint' },
    'What you change under this microscope stays under it. The translation follows the ticks above.',
  );
  page.panelBody.replaceChildren(
    who,
    make('div', { className: 'heads' }, ...cards),
    ...(state.head ? [note, microscope(part)] : []),
    folded(
      'the weights of this row, in numbers',
      false,
      numberTable(`Weights of “${wordOf(part)}”`, keys, rows),
    ),
  );
}

// ------------------------------------------------------------------------------------- other blocks

const columnsFor = (numbers) => [...numbers].map((_, c) => String(c + 1));

// rows of { name, numbers } as strips of colours, and folded away as a table
function strips(caption, rows, className = '') {
  const width = Math.max(240, Math.min(900, page.view.clientWidth - 190));
  const lines = rows.map(({ name, numbers }) => {
    const svg = draw('svg', {
      viewBox: `0 0 ${width} 26`,
      class: 'long-strip',
      role: 'img',
      'aria-label': name,
    });
    svg.append(bandsOf(numbers, { x: 1, width: width - 2 }, 13, 24));
    return make('div', { className: 'strip-row' }, make('span', {}, name), svg);
  });
  const plain = rows.map((row) => ({ ...row, numbers: [...row.numbers] }));
  const table = numberTable(caption, columnsFor(rows[0].numbers), plain);
  return make(
    'div',
    { className: `strips ${className}` },
    ...lines,
    folded('these numbers', false, table),
  );
}

function fillEmbedding(block) {
  const row = rowOf(block);
  const words = block === 'embed' ? now.encoder.words : now.runs[step()].words.slice(0, step() + 1);
  const { token, position, x } = words[row];
  const word = wordOf(block);
  const id = (block === 'embed' ? now.encoder.ids : now.runs[step()].ids)[row];
  const length = Math.max(8, words.length);
  page.panelBody.replaceChildren(
    make(
      'p',
      { className: 'lead' },
      inRole(block === 'embed' ? 'key' : 'query', word),
      ` is word number ${id}. Row ${id} of a learned table, times √${network.width} = ${number(Math.sqrt(network.width))}, plus the vector of position ${row}, is where its stream begins.`,
    ),
    strips(`The vectors of “${word}”`, [
      { name: 'its word', numbers: token },
      { name: `place ${row}`, numbers: position },
      { name: 'together', numbers: x },
    ]),
    make('h3', {}, 'Where the vector of a position comes from'),
    framedView('positions', `Positions of the ${block === 'embed' ? 'German' : 'English'} words`, {
      widths: [network.width],
      lengths: [8, 256],
      width: network.width,
      length,
      pair: 0,
      position: row,
      offset: null,
    }),
  );
}

function fillNorm(block) {
  const part = block.slice(0, -1);
  const kept = keptOf(part, now, step());
  const row = rowOf(part);
  const words = isOfEncoder(part) ? german() : readSoFar();
  const sums = kept.sum.slice(0, words.length);
  const first = Math.max(0, Math.min(row - 2, sums.length - MOST_ROWS));
  const rows = sums.slice(first, first + MOST_ROWS);
  const side = part[0] === 'e' ? 'encoder' : 'decoder';
  const which = part[0] === 'e' ? { a: 1, f: 2 }[part[2]] : { s: 1, c: 2, f: 3 }[part[2]];
  const name = `${side}_layers.${part[1] - 1}.layer_norm${which}`;
  const alone = state.off.has(`${part}r`);
  page.panelBody.replaceChildren(
    make(
      'p',
      { className: 'lead' },
      alone
        ? 'The residual connection is off: what the part gives is normalised alone.'
        : 'What the part gives is added to the stream that passes by it, and the sum is normalised, each word by itself.',
    ),
    strips(`Before and after the norm, “${wordOf(part)}”`, [
      { name: alone ? 'left out' : 'the stream', numbers: kept.x[row] },
      { name: alone ? 'the part' : '+ the part', numbers: kept.out[row] },
      { name: 'normalised', numbers: kept.norm[row] },
    ]),
    framedView('normalisation', nameOfBlock(block), {
      x: [rows.map((one) => [...one])],
      words: [words.slice(first, first + rows.length)],
      over: ['D'],
      chosen: [0, row - first, 0],
      eps: 1e-5,
      gain: [...network.weights[`${name}.weight`]],
      shift: [...network.weights[`${name}.bias`]],
    }),
  );
}

function fillFeed(part) {
  const kept = keptOf(part, now, step());
  const row = rowOf(part);
  const [before, hidden] = [kept.before[row], kept.hidden[row]];
  const largest = Math.max(...[...before].map(Math.abs), 1e-9);
  const width = Math.max(280, Math.min(900, page.view.clientWidth - 50));
  const size = width / before.length;
  const svg = draw('svg', {
    viewBox: `0 0 ${width} 132`,
    class: 'units',
    role: 'img',
    'aria-label': 'the hidden units before the zero is put in',
  });
  svg.append(draw('line', { class: 'axis', x1: 0, x2: width, y1: 66, y2: 66 }));
  before.forEach((x, c) => {
    const height = (60 * Math.abs(x)) / largest;
    svg.append(
      draw('rect', {
        class: x > 0 ? 'unit on' : 'unit',
        x: c * size + 0.4,
        y: x > 0 ? 66 - height : 66,
        width: Math.max(0.8, size - 0.8),
        height,
      }),
    );
  });
  const on = [...hidden].filter((x) => x > 0).length;
  page.panelBody.replaceChildren(
    make(
      'p',
      { className: 'lead' },
      'For ',
      inRole('query', wordOf(part)),
      `, ${on} of ${hidden.length} hidden units are on. A number below the line becomes 0, so that its unit says nothing for this word.`,
    ),
    svg,
    strips(`The feed-forward network at “${wordOf(part)}”`, [
      { name: 'goes in', numbers: kept.x[row] },
      { name: 'comes out', numbers: kept.out[row] },
    ]),
    folded(
      'the hidden units, in numbers',
      false,
      numberTable(`Hidden units of “${wordOf(part)}”`, columnsFor(before), [
        { name: 'before', numbers: [...before] },
        { name: 'max(0, x)', numbers: [...hidden] },
      ]),
    ),
  );
}

function warmthControl() {
  const set = (value) => {
    if (!(value >= WARMTHS[0] && value <= WARMTHS[1])) return;
    state.warmth = value;
    update();
    page.panelBody.querySelector('input[type=range]')?.focus();
  };
  const slider = make('input', {
    type: 'range',
    min: -1,
    max: 1,
    step: 0.05,
    value: Math.log10(state.warmth),
    'aria-label': 'temperature of the probabilities',
    oninput: () => set(10 ** slider.valueAsNumber),
  });
  slider.ariaValueText = number(state.warmth);
  return make(
    'div',
    { className: 'field warmth' },
    make('span', {}, 'temperature'),
    slider,
    make('output', {}, number(state.warmth)),
    button('1', () => set(1), { 'aria-label': 'temperature 1' }),
  );
}

function fillChances() {
  const t = step();
  const chances = probabilities(now, t);
  const compares = isChanged() && isSameSoFar() && t < trained.logits.length;
  const before = compares ? probabilities(trained, t) : null;
  const shown = [
    ...new Set([...ranked(chances).slice(0, 8), ...(before ? ranked(before).slice(0, 3) : [])]),
  ];
  const rows = shown.map((id) => {
    const bar = make('span', { className: 'bar' });
    bar.style.width = `${100 * chances[id]}%`;
    const old = make('span', { className: 'bar old' });
    old.style.width = `${100 * (before?.[id] ?? 0)}%`;
    const cell = make('td', { className: 'bars' }, bar, ...(before ? [old] : []));
    const p = make('td', { 'data-value': chances[id] }, chances[id].toFixed(4));
    const logit = make('td', { 'data-value': now.logits[t][id] }, number(now.logits[t][id]));
    const was = before ? [make('td', {}, before[id].toFixed(4))] : [];
    return make('tr', {}, make('th', { scope: 'row' }, data.english[id]), logit, p, ...was, cell);
  });
  const heads = ['word', 'logit', 'probability', ...(before ? ['as trained'] : []), ''];
  const table = make(
    'table',
    { className: 'chances' },
    make('thead', {}, make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, text)))),
    make('tbody', {}, ...rows),
  );
  page.panelBody.replaceChildren(
    make(
      'p',
      { className: 'lead' },
      'Behind ',
      inRole('query', readWord(t)),
      `: each of the ${data.english.length} English words gets a logit, and a softmax makes probabilities of them. The most probable word is generated, at any temperature.`,
    ),
    warmthControl(),
    table,
    folded(
      'all logits',
      false,
      numberTable('Logits of all English words', data.english, [
        { name: 'logit', numbers: [...now.logits[t]] },
      ]),
    ),
  );
}

// ------------------------------------------------------------------------- recurrent, with attention

function fillRecurrent(block) {
  const t = step();
  if (block === 'att') {
    fillLooking(t);
    return;
  }
  const { encoder, steps } = now;
  const row = shownWord();
  const kinds = {
    embed: [
      german()[row],
      [{ name: 'its vector', numbers: encoder.words[row] }],
      'is looked up in a learned table.',
    ],
    fwd: [
      german()[row],
      states(encoder.forward, row, -1),
      'changes the state that has read all words before it.',
    ],
    bwd: [
      german()[row],
      states(encoder.backward, row, 1),
      'changes the state that has read all words behind it.',
    ],
    read: [
      readWord(t),
      [{ name: 'its vector', numbers: steps[t].word }],
      'is the embedding of the word generated last.',
    ],
    state: [
      readWord(t),
      [
        { name: 'state before', numbers: steps[t].before },
        { name: 'state after', numbers: steps[t].after },
      ],
      'and what was looked at renew the state, which decides the next word.',
    ],
  };
  const [word, rows, text] = kinds[block];
  const role = sideOf(block) === 'encoder' || block === 'embed' ? 'key' : 'query';
  page.panelBody.replaceChildren(
    make('p', { className: 'lead' }, inRole(role, word), ` ${text}`),
    strips(`The numbers of “${word}”`, rows),
  );
}

function states(all, row, by) {
  const before = all[row + by];
  const none = new Float32Array(all[row].length);
  return [
    { name: 'state before', numbers: before ?? none },
    { name: 'state after', numbers: all[row] },
  ];
}

function fillLooking(t) {
  const { weights, scores } = now.steps[t];
  const rows = now.steps.slice(0, t + 1).map((one) => one.weights);
  const cells = german().map((word, j) => {
    const bar = make('span', { className: 'bar value' });
    bar.style.width = `${100 * weights[j]}%`;
    return make(
      'tr',
      {},
      make('th', { scope: 'row', className: 'key' }, word),
      make('td', { 'data-value': scores[j] }, number(scores[j])),
      make('td', { 'data-value': weights[j] }, weights[j].toFixed(4)),
      make('td', { className: 'bars' }, bar),
    );
  });
  const heads = ['German word', 'score', 'weight', ''];
  page.panelBody.replaceChildren(
    make(
      'p',
      { className: 'lead' },
      'The state behind ',
      inRole('query', readWord(t)),
      ' is compared with the two states of every German word. A small network gives each pair a score, and a softmax makes weights of the scores.',
    ),
    make(
      'div',
      { className: 'looking' },
      make(
        'table',
        { className: 'chances' },
        make(
          'thead',
          {},
          make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, text))),
        ),
        make('tbody', {}, ...cells),
      ),
      make(
        'div',
        {},
        make('p', { className: 'hint' }, 'All steps so far, a row each:'),
        smallMap(rows, t, 'weights of all steps'),
      ),
    ),
    strips('What is taken from the German words', [
      { name: 'context', numbers: now.steps[t].context },
    ]),
  );
}
