// Taking the translator apart: switches, and a list of what is worth trying.

// every name that can be switched off, see models.js
function allSwitches() {
  if (isRecurrent) return ['fwd', 'bwd', 'att', 'state'];
  const { encoder, decoder } = network.layers;
  const heads = (part) => Array.from({ length: network.heads }, (_, h) => `${part}${h + 1}`);
  const layer = (name, parts) => [
    name,
    ...parts.flatMap((part) => [
      `${name}${part}`,
      `${name}${part}r`,
      ...(part === 'f' ? [] : heads(`${name}${part}`)),
    ]),
  ];
  const names = (count, side, parts) =>
    Array.from({ length: count }, (_, l) => layer(`${side}${l + 1}`, parts)).flat();
  return [
    'pe',
    'pd',
    'root',
    'mask',
    ...names(encoder, 'e', ['a', 'f']),
    ...names(decoder, 'd', ['s', 'c', 'f']),
  ];
}

const SWITCHES = {
  pe: 'positions of the German words',
  pd: 'positions of the English words',
  root: 'the division by √dₖ',
  mask: 'the causal mask',
  fwd: 'reading from left to right',
  bwd: 'reading from right to left',
  att: 'choosing where to look',
  state: 'remembering between words',
};

function nameOfSwitch(name) {
  if (SWITCHES[name]) return SWITCHES[name];
  const side = name[0] === 'e' ? 'encoder' : 'decoder';
  const layer = `${side}, layer ${name[1]}`;
  if (name.length === 2) return layer;
  const part = NAMES[name[2]];
  if (name.endsWith('r')) return `${layer}: residual around ${part}`;
  return `${layer}: ${part}${name[3] ? `, head ${name[3]}` : ''}`;
}

function flipSwitch(name) {
  if (state.off.has(name)) state.off.delete(name);
  else state.off.add(name);
  play(false);
  changed();
}

// a box with a tick while the part works
function onOff(name, text) {
  const box = make('input', {
    type: 'checkbox',
    checked: !state.off.has(name),
    'data-switch': name,
  });
  box.ariaLabel = nameOfSwitch(name);
  box.addEventListener('change', () => {
    flipSwitch(name);
    document.querySelector(`[data-switch="${name}"]`)?.focus();
  });
  return make('label', { className: 'switch' }, box, make('span', {}, text));
}

// what can be switched off in an opened block
function switchesOf(block) {
  const part = block.replace(/n$/, '');
  const names = isRecurrent
    ? ({ fwd: ['fwd'], bwd: ['bwd'], att: ['att'], state: ['state'] }[block] ?? [])
    : ({ embed: ['pe'], read: ['pd'], say: [] }[block] ?? [part.slice(0, 2), part, `${part}r`]);
  const says = (name) => {
    if (SWITCHES[name]) return SWITCHES[name];
    if (name.length === 2) return `all of layer ${name[1]}`;
    return name.endsWith('r') ? 'residual connection' : NAMES[name[2]];
  };
  return make('div', { className: 'switches' }, ...names.map((name) => onOff(name, says(name))));
}

// ------------------------------------------------------------------------------------- the section

function tauControl() {
  const set = (value) => {
    if (!(value >= TAUS[0] && value <= TAUS[1])) return;
    state.tau = value;
    changed();
    page.tau.focus();
  };
  page.tau = make('input', {
    type: 'range',
    min: -1,
    max: 1,
    step: 0.05,
    'aria-label': 'temperature of all attention',
    oninput: () => set(10 ** page.tau.valueAsNumber),
  });
  page.tauSaid = make('output');
  return make(
    'label',
    { className: 'field' },
    make('span', {}, 'divide all scores by'),
    page.tau,
    page.tauSaid,
  );
}

function buildApart() {
  page.switches = make('div', { className: 'switches' });
  const section = make(
    'section',
    { className: 'apart', id: 'apart' },
    make('h2', {}, 'Take it apart'),
    make(
      'p',
      { className: 'lead' },
      'Remove a tick, and the translation, the lines and the numbers follow at once. Click a German word to hide it from everybody. Every block of the picture has switches of its own: open one.',
    ),
    page.switches,
    tauControl(),
    ...tryList(),
  );
  return section;
}

// what is changed, beside the answer that it changes
function soFar() {
  page.changedList = make('p', { className: 'changed', id: 'changed' });
  page.reset = button('put everything back', () => {
    Object.assign(state, { off: new Set(), hidden: new Set(), tau: 1, warmth: 1 });
    changed();
    page.field.focus();
  });
  return make('div', { className: 'so-far' }, page.changedList, page.reset);
}

function paintSoFar() {
  const hidden = [...state.hidden]
    .sort((a, b) => a - b)
    .map((place) => `${quoted(state.words[place])} hidden`);
  const off = [...state.off].map((name) => `${nameOfSwitch(name)} off`);
  const scaled = state.tau === 1 ? [] : [`scores divided by ${number(state.tau)}`];
  const warmer = state.warmth === 1 ? [] : [`the next word at temperature ${number(state.warmth)}`];
  const all = [...hidden, ...off, ...scaled, ...warmer];
  page.changedList.textContent = all.length ? `Changed: ${all.join('; ')}.` : 'Nothing is changed.';
  page.reset.disabled = !all.length;
}

function paintApart() {
  paintSoFar();
  if (isSmall) return;
  const own = isRecurrent
    ? ['fwd', 'bwd', 'att', 'state']
    : ['pe', 'pd', 'root', 'mask', ...layersOf('encoder', 'e'), ...layersOf('decoder', 'd')];
  page.switches.replaceChildren(...own.map((name) => onOff(name, nameOfSwitch(name))));
  page.tau.value = Math.log10(state.tau);
  page.tau.ariaValueText = number(state.tau);
  page.tauSaid.textContent = number(state.tau);
  for (const link of document.querySelectorAll('.try a'))
    link.ariaCurrent = link.dataset.state === triedNow() ? 'true' : null;
}

const layersOf = (side, letter) =>
  Array.from({ length: network.layers[side] }, (_, l) => `${letter}${l + 1}`);

// the part of the address that says what is asked and what is changed
function triedNow() {
  const parts = new URLSearchParams(stateInWords());
  parts.delete('at');
  parts.delete('open');
  return parts.toString();
}

const normalised = (text) => {
  const parts = new URLSearchParams(text);
  parts.delete('at');
  parts.delete('open');
  return parts.toString();
};

function tryList() {
  if (!data.tries?.length) return [];
  const items = data.tries.map(({ title, says, link, changes }) => {
    const anchor = make('a', { href: `#${link}`, target: '_top' }, title);
    anchor.dataset.state = normalised(link);
    anchor.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      recall(link);
      page.view.scrollIntoView({ block: 'start', behavior: quiet.matches ? 'auto' : 'smooth' });
    });
    const often =
      changes === undefined
        ? ''
        : `This changes ${changes || 'none'} of its ${data.sentences.length} translations.`;
    return make('li', {}, anchor, make('span', {}, says), make('small', {}, often));
  });
  return [make('h2', {}, 'Things to try'), make('ul', { className: 'try' }, ...items)];
}
