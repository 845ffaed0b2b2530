// A question: radio buttons, a number, or steps to put in order. Its answer says why.

const PLACE = `attention-course/question/${data.lecture}/${data.id}`;
// `given` is the place of a choice, the text of a number, or places of steps in the reader's order.
const state = { given: null, checked: false };

// ------------------------------------------------------------------ what the browser keeps

// Some frames have no storage; then an answer is kept until the page is left.
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(PLACE));
  } catch {
    return null;
  }
}

function remember() {
  try {
    localStorage.setItem(PLACE, JSON.stringify(state));
  } catch {
    return;
  }
}

function forget() {
  Object.assign(state, { given: KIND.start(), checked: false });
  remember();
}

// `code` between backticks, all else as it is
const written = (text) => text.split('`').map((part, n) => (n % 2 ? make('code', {}, part) : part));

function change(given) {
  Object.assign(state, { given, checked: false });
  remember();
  update();
}

// ------------------------------------------------------------------------------------- kinds

const CHOICE = {
  start: () => null,
  fits: (given) => given === null || given in data.choices,
  isGiven: () => state.given !== null,
  ask: 'Choose an answer first.',
  build() {
    page.inputs = data.choices.map((_, n) =>
      make('input', { type: 'radio', name: 'choice', onchange: () => change(n) }),
    );
    const labels = data.choices.map(({ text }, n) =>
      make('label', { className: 'choice' }, page.inputs[n], make('span', {}, ...written(text))),
    );
    return make('fieldset', { className: 'answers', 'aria-labelledby': 'asked' }, ...labels);
  },
  paint() {
    page.inputs.forEach((input, n) => (input.checked = n === state.given));
  },
  verdict: () => data.choices[state.given],
};

const NUMBER = {
  start: () => '',
  fits: (given) => typeof given === 'string',
  isGiven: () => page.inputs[0].value.trim() !== '',
  ask: 'Type a number first.',
  build() {
    const oninput = () => change(page.inputs[0].value);
    const onkeydown = ({ key }) => key === 'Enter' && check();
    page.inputs = [
      make('input', {
        type: 'number',
        step: 'any',
        'aria-describedby': 'asked',
        oninput,
        onkeydown,
      }),
    ];
    const name = make('span', {}, 'your answer');
    return make('label', { className: 'field number' }, name, page.inputs[0]);
  },
  paint() {
    if (document.activeElement !== page.inputs[0]) page.inputs[0].value = state.given;
  },
  verdict() {
    const typed = Number(state.given);
    const isAt = (value) => Math.abs(typed - value) <= data.tolerance + 1e-9;
    if (isAt(data.answer)) return { right: true, says: data.says };
    const known = data.wrong.find(({ value }) => isAt(value));
    return { right: false, says: known?.says ?? data.hint };
  },
};

const ORDER = {
  start: () => data.shown,
  fits: (given) => String([...(given ?? [])].sort()) === String([...data.shown].sort()),
  isGiven: () => true,
  ask: '',
  build() {
    page.list = make('ol', { className: 'steps', 'aria-labelledby': 'asked' });
    page.moved = make('p', { className: 'unseen', role: 'status' });
    page.inputs = data.steps.map(({ text }, step) => {
      const [up, down] = [-1, 1].map((by) =>
        button(by < 0 ? '▲' : '▼', () => moveStep(step, by), {
          ariaLabel: `move ${by < 0 ? 'up' : 'down'}: ${text.replaceAll('`', '')}`,
        }),
      );
      return make('li', {}, make('span', {}, ...written(text)), up, down);
    });
    return make('div', {}, page.list, page.moved);
  },
  paint() {
    const focused = document.activeElement;
    const rows = state.given.map((step) => page.inputs[step]);
    if (rows.some((row, n) => row !== page.list.children[n])) page.list.replaceChildren(...rows);
    rows.forEach((row, n) => {
      const [up, down] = row.querySelectorAll('button');
      up.ariaDisabled = n === 0;
      down.ariaDisabled = n === rows.length - 1;
    });
    if (page.list.contains(focused)) focused.focus(); // which moving it took away
  },
  verdict() {
    const at = state.given.findIndex((step, n) => step !== n);
    if (at < 0) return { right: true, says: data.says };
    return {
      right: false,
      says: `Look at step ${at + 1}. ${data.steps[state.given[at]].too_early}`,
    };
  },
};

function moveStep(step, by) {
  const given = [...state.given];
  const from = given.indexOf(step);
  const to = from + by;
  if (!(to in given)) return;
  [given[from], given[to]] = [given[to], given[from]];
  change(given);
  page.moved.textContent = `now step ${to + 1} of ${given.length}`;
}

const KIND = { choice: CHOICE, number: NUMBER, order: ORDER }[data.kind];

// --------------------------------------------------------------------------------- the whole

function check() {
  page.missing.textContent = KIND.isGiven() ? '' : KIND.ask;
  if (!KIND.isGiven()) return;
  if (data.kind === 'number') state.given = page.inputs[0].value;
  state.checked = true;
  remember();
  update();
}

function tryAgain() {
  forget();
  if (data.kind === 'number') page.inputs[0].value = '';
  update();
  const first = page.view.querySelector('.answers input, .number input, .steps button');
  first.focus();
}

function paintVerdict() {
  page.verdict.className = 'verdict';
  page.verdict.replaceChildren();
  page.again.hidden = !state.checked;
  if (!state.checked) return;
  page.missing.textContent = '';
  const { right = false, says } = KIND.verdict();
  page.verdict.classList.add(right ? 'right' : 'wrong');
  page.verdict.append(make('b', {}, right ? '✓ Right. ' : '✗ Not yet. '), ...written(says));
}

function build() {
  page.missing = make('p', { className: 'missing', role: 'status' });
  page.verdict = make('p', { role: 'status' });
  page.again = button('try again', tryAgain);
  const buttons = [button('check', check, { className: 'check' }), page.again, page.missing];
  page.view.replaceChildren(
    make('h3', { id: 'asked' }, make('b', {}, 'Question. '), ...written(data.text)),
    KIND.build(),
    make('div', { className: 'controls' }, ...buttons),
    page.verdict,
  );
  const kept = remembered();
  if (kept && KIND.fits(kept.given)) Object.assign(state, kept);
  else state.given = KIND.start();
  update();
}

function update() {
  KIND.paint();
  paintVerdict();
}

build();
followPage();
