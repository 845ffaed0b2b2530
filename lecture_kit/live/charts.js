// Charts and sliders for the views that draw curves.

const short = (x) => minus(String(Number(x.toPrecision(5))));

function slider(label, [least, most], oninput) {
  const input = make('input', { type: 'range', min: least, max: most, step: 1 });
  input.addEventListener('input', () => oninput(input.valueAsNumber));
  const said = make('b');
  const field = make('label', { className: 'field' }, make('span', {}, label), input, said);
  const set = (value, text, range) => {
    if (range) [input.min, input.max] = range;
    input.value = value;
    input.ariaValueText = text;
    said.textContent = text;
  };
  return { field, set };
}

// round numbers, about `count` of them
function ticks([low, high], count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
}

const PADDING = { left: 40, right: 10, top: 10, bottom: 42 };

// An empty chart as wide as its place. `x` and `y` lead from numbers to pixels, `back` from pixels to x.
function axes(svg, xs, ys, names) {
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  const { left, right, top, bottom } = PADDING;
  const x = (value) => left + ((value - xs[0]) / (xs[1] - xs[0])) * (width - left - right);
  const y = (value) =>
    height - bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom);
  const back = (at) => xs[0] + ((at - left) / (width - left - right)) * (xs[1] - xs[0]);
  const [low, high] = ys.map(y);
  const grid = ticks(ys, 5).flatMap((value) => [
    draw('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    draw('text', { x: left - 6, y: y(value) + 4, class: 'end' }, short(value)),
  ]);
  const below = ticks(xs, width / 70)
    .filter(Number.isInteger)
    .flatMap((value) => [
      draw('line', { class: 'tick', x1: x(value), x2: x(value), y1: low, y2: low + 4 }),
      draw('text', { x: x(value), y: low + 18, class: 'middle' }, short(value)),
    ]);
  const middle = (left + width - right) / 2;
  const title = draw('text', { x: middle, y: height - 6, class: 'middle' }, names.x);
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.replaceChildren(...grid, ...below, title);
  svg.ariaLabel = names.label;
  return { svg, x, y, back, low, high, left, right: width - right };
}

// the smooth curve of a function
function curve(chart, compute, className) {
  const points = [];
  for (let at = chart.left; at <= chart.right; at += 0.5) {
    points.push(`${at},${chart.y(compute(chart.back(at))).toFixed(2)}`);
  }
  chart.svg.append(draw('polyline', { class: className, points: points.join(' ') }));
}

function dots(chart, numbers, first, className) {
  const gap = chart.x(1) - chart.x(0);
  if (gap < 3) return;
  const r = Math.min(3, gap / 2.6);
  numbers.forEach((number, n) => {
    const place = { cx: chart.x(first + n), cy: chart.y(number), r };
    chart.svg.append(draw('circle', { class: className, ...place }));
  });
}

function mark(chart, at, className) {
  const line = { x1: chart.x(at), x2: chart.x(at), y1: chart.low, y2: chart.high };
  chart.svg.append(draw('line', { class: `mark ${className}`, ...line }));
}

const ring = (chart, at, number, className) =>
  chart.svg.append(
    draw('circle', { class: className, cx: chart.x(at), cy: chart.y(number), r: 6 }),
  );
