// The picture of the whole model: words are rows, and what computes stands in columns from left to right.
// The encoder stands beside the decoder on a wide page, and above it on a narrow one.

const LARGEST_COLOUR = 2.2; // numbers of the stream that get the full colour
const LEAST_LINE = 0.04; // smaller weights are not drawn

// [column, width before the whole is fitted to the page]
function columnsOf(side, hasRoom = true) {
  const ids = hasRoom ? [['id', 30]] : [];
  const layers = (count, parts) => Array.from({ length: count }, (_, l) => parts(l + 1)).flat();
  if (isRecurrent)
    return {
      encoder: [['label', 104], ...ids, ['embed', 50], ['fwd', 92], ['bwd', 92], ['memory', 60]],
      decoder: [['label', 100], ...ids, ['read', 50], ['att', 110], ['state', 100], ['say', 150]],
    }[side];
  const { encoder, decoder } = network?.layers ?? { encoder: data.layers, decoder: data.layers };
  if (side === 'encoder') {
    const parts = (l) => [
      [`e${l}a`, 84],
      [`e${l}an`, 24],
      [`e${l}f`, 42],
      [`e${l}fn`, 24],
    ];
    return [['label', 104], ...ids, ['embed', 48], ...layers(encoder, parts), ['memory', 54]];
  }
  const parts = (l) => [
    [`d${l}s`, 62],
    [`d${l}sn`, 23],
    [`d${l}c`, 62],
    [`d${l}cn`, 23],
    [`d${l}f`, 40],
    [`d${l}fn`, 23],
  ];
  return [['label', 98], ...ids, ['read', 46], ...layers(decoder, parts), ['say', 140]];
}

const GAP = 30; // between encoder and decoder
const TOP = 44; // for the names of columns
const BELOW = 56; // for the way back of a word, and its rivals
const MOST_ROWS_MORE = 4; // rows of English beyond those of German; further ones are scrolled to

// Where everything stands, in pixels. `columns` has x and width by name for each side.
function laidOut(width) {
  const written = now ? english().length : 9;
  const most = Math.max(12, german().length + MOST_ROWS_MORE);
  const sizes = { encoder: german().length, decoder: Math.min(written, most) };
  const natural = (side) => total(columnsOf(side, hasRoom).map(([, size]) => size));
  const isWide = width >= 1080;
  const hasRoom = width >= 600;
  const whole = isWide
    ? natural('encoder') + GAP + natural('decoder')
    : Math.max(natural('encoder') + 20, natural('decoder'));
  const factor = width / whole;
  const rows = isWide ? Math.max(sizes.encoder, sizes.decoder) : sizes.encoder + sizes.decoder;
  const room = isWide ? 400 : hasRoom ? 460 : 345;
  const height = Math.max(13, Math.min(isWide ? 36 : 27, room / rows));
  const font = Math.max(9, Math.min(15, height * 0.56, 16 * factor + 3));
  const place = (side, left, top) => {
    const columns = {};
    let x = left;
    for (const [name, size] of columnsOf(side, hasRoom)) {
      columns[name] = { x, width: size * factor, right: x + size * factor };
      x += size * factor;
    }
    const end = top + TOP + sizes[side] * height;
    const count = sizes[side];
    const first = () => (side === 'encoder' ? 0 : within(step() - count + 2, written - count + 1));
    const y = (row) => top + TOP + (row - first() + 0.5) * height;
    const shows = (row) => row >= first() && row < first() + count;
    return { columns, top, end, right: x, y, shows };
  };
  const encoder = place('encoder', 0, 0);
  const decoder = isWide
    ? place('decoder', encoder.right + GAP * factor, 0)
    : place('decoder', 0, encoder.end + 12);
  const bottom = Math.max(encoder.end + 14, decoder.end + (hasRoom ? BELOW : BELOW / 2));
  return { width, isWide, hasRoom, factor, height, font, encoder, decoder, bottom };
}

// --------------------------------------------------------------------------------------- the parts

const sideOf = (part) => (/^(e|fwd|bwd|memory)/.test(part) ? 'encoder' : 'decoder');

const NAMES = {
  a: 'self-attention',
  s: 'masked self-attention',
  c: 'cross-attention',
  f: 'feed-forward network',
  embed: 'German words as vectors',
  read: 'English words as vectors',
  say: 'the next word',
  fwd: 'reading from left to right',
  bwd: 'reading from right to left',
  att: 'attention',
  state: 'the state of the decoder',
};
const SHORT = {
  a: ['self-attention', 'self'],
  s: ['self-attention', 'self'],
  c: ['cross-attention', 'cross'],
  f: ['feed-forward', 'feed', 'ffn'],
  embed: ['vectors', 'vector', 'vec'],
  read: ['vectors', 'vector', 'vec'],
  say: ['next word', 'next'],
  fwd: ['reads →', '→'],
  bwd: ['reads ←', '←'],
  att: ['attention', 'looks'],
  state: ['state', 'state'],
  n: ['+ norm', '+'],
};

function nameOfBlock(block) {
  if (NAMES[block]) return NAMES[block];
  const side = block[0] === 'e' ? 'Encoder' : 'Decoder';
  const what = block.endsWith('n') ? `sum and norm after ${NAMES[block[2]]}` : NAMES[block[2]];
  return `${side}, layer ${block[1]}: ${what}`;
}

const allBlocks = () =>
  ['encoder', 'decoder']
    .flatMap((side) => columnsOf(side).map(([name]) => name))
    .filter((name) => !['label', 'id', 'memory'].includes(name));

// everything that was computed in a part, of all rows; in the decoder, as it was when word t was written
function keptOf(part, result, t) {
  const layer = Number(part[1]) - 1;
  if (part[0] === 'e') return result.encoder.layers[layer][part[2] === 'a' ? 'attention' : 'feed'];
  const name = { s: 'self', c: 'cross', f: 'feed' }[part[2]];
  return result.runs[Math.max(0, t)].layers[layer][name];
}

// the words that are looked at
const keysOf = (part, t) =>
  part[2] === 's' ? now.runs[t].ids.map((id) => data.english[id]) : german();

// the weights of one row: of the head that is opened, or the mean of all that are on
function weightsShown(part, row, t, result = now) {
  if (isRecurrent) return result.steps[t].weights;
  const heads = keptOf(part, result, t).weights[row];
  if (state.open === part && state.head) return heads[state.head - 1];
  const on = heads.filter((_, h) => !state.off.has(`${part}${h + 1}`));
  return meanOf(on.length ? on : heads);
}

const isOff = (part) =>
  state.off.has(part) || (/^[ed]\d/.test(part) && state.off.has(part.slice(0, 2)));

const shownWord = () => within(state.over ?? state.word, german().length);

// the German word that the word now written takes most from
function strongestWord() {
  if (isRecurrent) return strongestIn(now.steps[step()].weights);
  const crosses = partsOfDecoder().filter((part) => part.endsWith('c') && !isOff(part));
  return crosses.length ? strongestIn(weightsShown(crosses.at(-1), step(), step())) : 0;
}

const strength = (row) => Math.sqrt(total([...row].map((x) => x * x)) / row.length);

// --------------------------------------------------------------------------------------- drawing it

function pictureBox() {
  page.picture = make('div', { className: 'picture', id: 'picture' });
  return page.picture;
}

function buildPicture() {
  const width = page.picture.clientWidth || 900;
  page.drawnWidth = width;
  const at = laidOut(width);
  page.at = at;
  const focused = document.activeElement?.dataset?.block;
  const svg = draw('svg', {
    viewBox: `0 0 ${width} ${at.bottom}`,
    width,
    height: at.bottom,
    role: 'group',
    'aria-label': 'The whole model, from the German words to the next English one',
    style: `font-size:${at.font}px`,
  });
  page.layers = {};
  for (const name of ['blocks', 'tracks', 'lines', 'streams', 'numbers', 'words', 'says'])
    svg.append((page.layers[name] = draw('g', { class: name })));
  page.layers.blocks.append(...bands(at), ...blockButtons(at));
  page.layers.words.append(...germanTiles(at), ...germanIds(at));
  page.picture.replaceChildren(svg);
  if (focused) svg.querySelector(`[data-block="${focused}"]`)?.focus();
}

function bands({ encoder, decoder, isWide, width }) {
  const titles = isWide || width > 600 ? ['reads German', 'writes English'] : ['German', 'English'];
  return [encoder, decoder].flatMap(({ columns, top }, which) => {
    const title = draw('text', { class: 'title', x: 2, y: top + 15 }, titles[which]);
    title.setAttribute('x', columns.label.x + 2);
    const layers = Object.keys(columns).filter((name) => /^[ed]\d[as]$/.test(name));
    const names = layers.map((name) => {
      const last = columns[`${name.slice(0, 2)}fn`];
      return draw(
        'text',
        {
          class: 'title',
          x: (columns[name].x + last.right) / 2,
          y: top + 15,
          'text-anchor': 'middle',
        },
        `layer ${name[1]}`,
      );
    });
    const behind = columns.memory;
    const kept = behind ? [memoryTitle(behind, top)] : [];
    return [title, ...names, ...kept];
  });
}

const memoryTitle = ({ x, width }, top) =>
  draw(
    'text',
    { class: 'head', x: x + width / 2, y: top + 37 },
    isRecurrent ? 'both' : width > 44 ? 'memory' : 'mem',
  );

function blockButtons(at) {
  return allBlocks().map((block) => {
    const side = at[sideOf(block)];
    const { x, width } = side.columns[block];
    const isNorm = block.endsWith('n') && /\d/.test(block);
    const names = SHORT[isNorm ? 'n' : block[2] && /\d/.test(block[1]) ? block[2] : block];
    const letter = at.hasRoom ? 6.7 : 5.6;
    const text = names.find((one) => width > one.length * letter) ?? '';
    const button = draw(
      'g',
      {
        role: 'button',
        tabindex: at.width < 600 && isNorm ? -1 : 0,
        class: `block ${isNorm ? 'norm' : ''} ${at.hasRoom ? '' : 'tight'}`,
        'data-block': block,
        // what is read aloud begins with what is seen
        'aria-label': [text, `open ${nameOfBlock(block)}`].filter(Boolean).join(': '),
      },
      draw('rect', {
        x: x + 1.5,
        y: side.top + 22,
        width: Math.max(4, width - 3),
        height: side.end - side.top - 18,
        rx: 6,
      }),
      draw('text', { class: 'head', x: x + width / 2, y: side.top + 37 }, text),
      draw('title', {}, nameOfBlock(block)),
    );
    button.addEventListener('click', () => openBlock(state.open === block ? null : block));
    button.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      event.stopPropagation();
      openBlock(state.open === block ? null : block);
    });
    return button;
  });
}

// a word on its tile, shortened by its width if it must be
function tile(word, { x, width }, y, at, className) {
  const height = Math.min(at.height - 2, at.font + 12);
  const wide = width - 6;
  const fits = word.length * at.font * 0.66 < wide - 4;
  const text = draw('text', { class: 'word', x: x + wide / 2 + 2, y: y + at.font * 0.35 }, word);
  if (!fits) {
    text.setAttribute('textLength', wide - 6);
    text.setAttribute('lengthAdjust', 'spacingAndGlyphs');
  }
  const box = { x: x + 2, y: y - height / 2, width: wide, height, rx: Math.min(6, height / 3) };
  return draw('g', { class: `tile ${className}` }, draw('rect', box), text);
}

function germanTiles(at) {
  const { columns, y } = at.encoder;
  page.germanTiles = german().map((word, row) => {
    const element = tile(word, columns.label, y(row), at, 'german');
    if (row === state.words.length) return element; // <eos> stays
    element.setAttribute('role', 'button');
    element.setAttribute('tabindex', 0);
    element.addEventListener('click', () => hideWord(row));
    element.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      event.stopPropagation();
      hideWord(row);
    });
    element.addEventListener('pointerenter', (event) =>
      lookAt(event.pointerType === 'mouse' ? row : null),
    );
    element.addEventListener('pointerleave', () => lookAt(null));
    element.addEventListener('focus', () => {
      state.word = row;
      if (now) update();
    });
    return element;
  });
  return page.germanTiles;
}

const idOf = (id, { x, width }, y, at) =>
  draw('text', { class: 'id', x: x + width / 2, y: y + at.font * 0.3 }, id);

function germanIds(at) {
  const { id } = at.encoder.columns;
  if (!id) return [];
  return [...state.words.map((word) => GERMAN.get(word)), EOS].map((number, row) =>
    idOf(number, id, at.encoder.y(row), at),
  );
}

function lookAt(row) {
  if (state.over === row || !now) return;
  state.over = row;
  update();
}

function hideWord(row) {
  if (!now) return;
  state.word = row;
  if (state.hidden.has(row)) state.hidden.delete(row);
  else state.hidden.add(row);
  play(false);
  changed();
  page.germanTiles[row].focus();
}

// ----------------------------------------------------------------------------- what the moment shows

function paintPicture() {
  const { at, layers } = page;
  for (const name of ['tracks', 'lines', 'streams', 'numbers', 'says'])
    layers[name].replaceChildren();
  paintBlocks();
  paintGerman();
  if (isRecurrent) paintRecurrent(at, layers);
  else paintTransformer(at, layers);
  paintEnglish(at, layers);
  layers.says.append(...nextWords(at));
}

function paintBlocks() {
  const { part } = moment();
  for (const element of page.layers.blocks.querySelectorAll('.block')) {
    const { block } = element.dataset;
    const lost = [...state.off].filter((name) => name.startsWith(block) && /\d$/.test(name));
    element.classList.toggle('current', block === part);
    element.classList.toggle('open', block === state.open);
    element.classList.toggle(
      'off',
      isOff(block.replace(/n$/, '')) && /\d|fwd|bwd|att|state/.test(block),
    );
    element.classList.toggle('some', lost.length > 0 && block.length === 3);
    element.setAttribute('aria-expanded', block === state.open);
  }
}

function paintGerman() {
  page.germanTiles.forEach((element, row) => {
    const isHidden = state.hidden.has(row);
    element.classList.toggle('hidden', isHidden);
    element.classList.toggle('shown', row === shownWord());
    if (element.hasAttribute('role'))
      element.setAttribute('aria-label', `${isHidden ? 'show' : 'hide'} ${german()[row]}`);
  });
}

// numbers as a strip of colours; what is near zero stays open
function bandsOf(numbers, { x, width }, y, height) {
  const size = width / numbers.length;
  const cells = [...numbers].flatMap((number, c) => {
    const share = Math.round(10 * Math.min(1, Math.abs(number) / LARGEST_COLOUR)) * 10;
    if (!share) return [];
    const colour = number < 0 ? 'ochre' : 'plum';
    return draw('rect', {
      x: (x + c * size).toFixed(2),
      y: y - height / 2,
      width: (size + 0.2).toFixed(2),
      height,
      style: `fill:color-mix(in srgb,var(--${colour}) ${share}%,var(--paper))`,
    });
  });
  return draw(
    'g',
    { class: 'strip' },
    draw('rect', { class: 'ground', x, y: y - height / 2, width, height }),
    ...cells,
  );
}

const stripHeight = (at) => Math.max(5, at.height * 0.42);
const inset = ({ x, width }, by) => ({ x: x + by, width: width - 2 * by });

// points of one word's stream: how far to the right, and how strong it is there
function streamOfEncoder(row, columns) {
  const { words, layers } = now.encoder;
  const points = [[columns.embed.right, strength(words[row].x)]];
  layers.forEach(({ attention, feed }, l) => {
    if (attention.x.length) points.push(...aroundPart(attention, row, columns, `e${l + 1}a`));
    if (feed.x.length) points.push(...aroundPart(feed, row, columns, `e${l + 1}f`));
  });
  return [...points, [columns.memory.x + 2, points.at(-1)[1]]];
}

function streamOfDecoder(row, t, columns) {
  const run = now.runs[t];
  const points = [[columns.read.right, strength(run.words[row].x)]];
  run.layers.forEach((kept, l) => {
    for (const [name, letter] of [
      ['self', 's'],
      ['cross', 'c'],
      ['feed', 'f'],
    ])
      if (kept[name].x.length)
        points.push(...aroundPart(kept[name], row, columns, `d${l + 1}${letter}`));
  });
  return [...points, [columns.say.x, points.at(-1)[1]]];
}

function aroundPart(kept, row, columns, part) {
  return [
    [columns[part].x, strength(kept.x[row])],
    [columns[part].right, strength(kept.sum[row])],
    [columns[`${part}n`].right, strength(kept.norm[row])],
  ];
}

function streamPath(points, y, at, until = Infinity) {
  const shown = points.filter(([x]) => x <= until + 0.5);
  if (shown.length < 2) return null;
  const half = (size) => Math.max(0.7, Math.min(0.42, 0.15 * size) * at.height);
  const above = shown.map(([x, size]) => `${x.toFixed(1)},${(y - half(size)).toFixed(1)}`);
  const below = shown.map(([x, size]) => `${x.toFixed(1)},${(y + half(size)).toFixed(1)}`);
  return draw('path', { d: `M${above.join('L')}L${below.reverse().join('L')}Z` });
}

function line(from, to, weight, at, className) {
  const [[x0, y0], [x1, y1]] = [from, to];
  const middle = x0 < x1 ? [(x0 + x1) / 2, (x0 + x1) / 2] : [x0 + 30, x1 - 50];
  const d = `M${x0} ${y0}C${middle[0]} ${y0} ${middle[1]} ${y1} ${x1} ${y1}`;
  return draw('path', {
    class: className,
    d,
    'stroke-width': (0.6 + 0.44 * at.height * weight).toFixed(2),
    'stroke-opacity': (0.2 + 0.75 * weight).toFixed(2),
  });
}

// A pale track where a row will be, so that the picture keeps its shape while words are written.
function track(at, side, row, from, to) {
  return draw('line', {
    class: 'track',
    x1: from,
    x2: to,
    y1: at[side].y(row),
    y2: at[side].y(row),
  });
}

function paintTransformer(at, { tracks, lines, streams, numbers }) {
  const { encoder, decoder } = at;
  const { part: current, t } = moment();
  const height = stripHeight(at);
  const reach = t >= 0 ? Infinity : reachOf(current, encoder.columns);
  german().forEach((_, row) => {
    const y = encoder.y(row);
    numbers.append(bandsOf(now.encoder.words[row].x, inset(encoder.columns.embed, 4), y, height));
    const stream = streamPath(streamOfEncoder(row, encoder.columns), y, at, reach);
    if (stream) {
      stream.setAttribute('class', row === shownWord() ? 'stream shown' : 'stream');
      streams.append(stream);
    }
    if (t >= 0)
      numbers.append(bandsOf(now.encoder.memory[row], inset(encoder.columns.memory, 4), y, height));
  });
  for (const part of partsOfEncoder()) {
    if (tickOf(part, -1) > state.tick || isOff(part)) continue;
    if (part.endsWith('a')) lines.append(...linesOfEncoder(part, at, part === current));
    else
      numbers.append(
        ...unitsOn(
          part,
          at,
          german().map((_, row) => row),
          -1,
        ),
      );
  }
  english().forEach((_, row) => {
    if (!decoder.shows(row)) return;
    tracks.append(track(at, 'decoder', row, decoder.columns.read.x, decoder.columns.say.x));
    if (row > t) return;
    const y = decoder.y(row);
    const own = inset(decoder.columns.read, 4);
    numbers.append(bandsOf(now.runs[t].words[row].x, own, y, height));
    const until = row < t ? Infinity : reachOf(current, decoder.columns);
    const stream = streamPath(streamOfDecoder(row, t, decoder.columns), y, at, until);
    if (!stream) return;
    stream.setAttribute('class', row === t ? 'stream asks' : 'stream');
    streams.append(stream);
  });
  if (t < 0) return;
  for (const part of partsOfDecoder()) {
    if (!isDone(part, t) || isOff(part)) continue;
    if (part.endsWith('f')) numbers.append(...unitsOn(part, at, [t], t));
    else lines.append(...linesOfDecoder(part, t, at, part === current || current === 'say'));
  }
}

// how far to the right the row has come that is computed now
function reachOf(part, columns) {
  if (part === 'embed' || part === 'read') return columns[part].right;
  return part === 'say' ? Infinity : columns[`${part}n`].right;
}

function linesOfEncoder(part, at, isCurrent) {
  const { x, right } = at.encoder.columns[part];
  return german().flatMap((_, row) =>
    [...weightsShown(part, row, -1)].flatMap((weight, j) => {
      if (weight < LEAST_LINE) return [];
      const className = row === shownWord() ? 'line strong' : isCurrent ? 'line' : 'line faint';
      return line([x, at.encoder.y(j)], [right, at.encoder.y(row)], weight, at, className);
    }),
  );
}

function linesOfDecoder(part, t, at, isCurrent) {
  const { x, right } = at.decoder.columns[part];
  const isCross = part.endsWith('c');
  const from = isCross ? at.encoder.columns.memory.right : x;
  const yOf = isCross ? at.encoder.y : at.decoder.y;
  return [...weightsShown(part, t, t)].flatMap((weight, j) => {
    if (weight < LEAST_LINE || !(isCross || at.decoder.shows(j))) return [];
    const className = isCurrent ? 'line strong' : 'line faint';
    return line([from, yOf(j)], [right, at.decoder.y(t)], weight, at, className);
  });
}

// which hidden units are on: every mark is the strongest of a few that stand beside each other
const MARKS = 24;

function unitsOn(part, at, rows, t) {
  const { columns, y } = at[sideOf(part)];
  const { x, width } = inset(columns[part], 4);
  const height = stripHeight(at);
  return rows.flatMap((row) => {
    const hidden = [...keptOf(part, now, t).hidden[row]];
    const size = Math.ceil(hidden.length / MARKS);
    const strongest = Array.from({ length: Math.ceil(hidden.length / size) }, (_, k) =>
      Math.max(...hidden.slice(k * size, (k + 1) * size)),
    );
    return bandsOf(strongest, { x, width }, y(row), height);
  });
}

function paintEnglish(at, { says }) {
  const { columns, y } = at.decoder;
  const { t } = moment();
  for (let row = 0; row <= t; row++) {
    if (!at.decoder.shows(row)) continue;
    const className = row === t ? 'english asks' : 'english';
    says.append(tile(readWord(row), columns.label, y(row), at, className));
    if (columns.id) says.append(idOf(now.written[row], columns.id, y(row), at));
  }
}

// what is said behind each row, and the rivals of the word that is said now
function nextWords(at) {
  const { t, part } = moment();
  const { x, right } = at.decoder.columns.say;
  const room = right - x - 12;
  const left = x + 8;
  const drawn = [];
  const trainedWords = englishOf(trained);
  for (let row = 0; row <= t; row++) {
    if (row === t && part !== 'say') break;
    if (!at.decoder.shows(row)) continue;
    const word = english()[row];
    const chance = probabilities(now, row)[now.written[row + 1]];
    const y = at.decoder.y(row);
    const className = `word ${row === t ? 'now' : ''} ${word === trainedWords[row] ? '' : 'other'}`;
    drawn.push(draw('text', { class: className, x: left, y: y + at.font * 0.24 }, word));
    if (at.height > 17)
      drawn.push(
        draw('rect', {
          class: 'chance',
          x: left,
          y: y + at.height * 0.3,
          width: room * chance,
          height: 3,
          rx: 1.5,
        }),
      );
  }
  if (part !== 'say' || t < 0) return drawn;
  drawn.push(...wayBack(at, t));
  const chances = probabilities(now, t);
  const rivals = ranked(chances).slice(1, at.height > 17 ? 4 : 3);
  const size = Math.max(9.5, at.font - 3);
  const first = Math.min(
    at.decoder.y(t) + at.height * 0.62 + size,
    at.bottom - (size + 2) * (rivals.length - 1) - 4,
  );
  rivals.forEach((id, k) => {
    const chance = chances[id] < 0.001 ? '<0.001' : chances[id].toFixed(3);
    const text = at.hasRoom ? `${data.english[id]} ${chance}` : data.english[id];
    drawn.push(
      draw(
        'text',
        { class: 'rival', x: left, y: first + k * (size + 2), style: `font-size:${size}px` },
        text,
      ),
    );
  });
  return drawn;
}

// the word that was just written is read in the next step
function wayBack(at, t) {
  if (t + 1 >= english().length) return [];
  const { say, label } = at.decoder.columns;
  const [from, to] = [at.decoder.y(t), at.decoder.y(t + 1)];
  const [low, left] = [at.decoder.end + 8, label.x + 2];
  const d = `M${say.x + 3} ${from + 4}V${low - 6}q0 6 -6 6H${left - 4}q-6 0 -6 -6`;
  const right = `${d}V${to + 6}q0 -6 6 -6h4`;
  return [
    draw('path', {
      class: 'back',
      d:
        left > 14
          ? right
          : `M${say.x + 3} ${from + 4}V${low - 6}q0 6 -6 6H${left + 18}q-6 0 -6 -6V${to + at.height / 2}`,
    }),
  ];
}

// ------------------------------------------------------------------------- recurrent, with attention

// what a state changes on its way from word to word, as links between the rows of a column
function chain(at, side, column, states, isBackward) {
  const { columns, y, shows } = at[side];
  const middle = columns[column].x + columns[column].width / 2;
  return states.slice(1).flatMap((_, k) => {
    if (!shows(k) || !shows(k + 1)) return [];
    const [from, to] = isBackward ? [k + 1, k] : [k, k + 1];
    const moved = strength(states[to].map((number, c) => number - states[from][c]));
    return draw('path', {
      class: 'chain',
      d: `M${middle} ${y(from)}L${middle} ${y(to)}`,
      'stroke-width': (1 + 6 * moved).toFixed(1),
    });
  });
}

// the right half of a column
const half = ({ x, width }) => ({ x: x + width / 2, width: width / 2 - 5 });

function paintRecurrent(at, { tracks, lines, streams, numbers }) {
  const { encoder, decoder } = at;
  const { part: current, t } = moment();
  const height = stripHeight(at);
  const isThere = (part) => tickOf(part, -1) <= state.tick;
  const strips = (column, rows, side) =>
    rows.forEach((row, k) => {
      if (!at[side].shows(k)) return;
      numbers.append(
        bandsOf(
          [...row].map((x) => 1.3 * x),
          inset(at[side].columns[column], 5),
          at[side].y(k),
          height,
        ),
      );
    });
  strips('embed', now.encoder.words, 'encoder');
  for (const [column, states] of [
    ['fwd', now.encoder.forward],
    ['bwd', now.encoder.backward],
  ]) {
    if (!isThere(column)) continue;
    streams.append(...chain(at, 'encoder', column, states, column === 'bwd'));
    strips(column, states, 'encoder');
  }
  if (t < 0) return;
  strips('memory', now.encoder.annotations, 'encoder');
  const steps = now.steps.slice(0, t + 1);
  strips(
    'read',
    steps.map(({ word }) => word),
    'decoder',
  );
  const done = steps.slice(0, isDone('state', t) ? t + 1 : t).map(({ after }) => after);
  streams.append(...chain(at, 'decoder', 'state', done, false));
  strips('state', done, 'decoder');
  english().forEach((_, row) => {
    if (!decoder.shows(row)) return;
    tracks.append(track(at, 'decoder', row, decoder.columns.read.x, decoder.columns.say.x));
  });
  const looked = steps.slice(0, isDone('att', t) ? t + 1 : t);
  const taken = half(decoder.columns.att);
  looked.forEach(({ context }, row) => {
    if (!decoder.shows(row)) return;
    const scaled = [...context].map((x) => 1.3 * x);
    numbers.append(bandsOf(scaled, taken, decoder.y(row), height));
  });
  if (!isDone('att', t)) return;
  [...steps[t].weights].forEach((weight, j) => {
    if (weight < LEAST_LINE) return;
    const from = [encoder.columns.memory.right, encoder.y(j)];
    const isStrong = ['att', 'say', 'state'].includes(current);
    lines.append(
      line(from, [taken.x, decoder.y(t)], weight, at, isStrong ? 'line strong' : 'line'),
    );
  });
}
