// The slides of a lecture: reveal.js, text as large as its slide has room for, and live views whole.
const SIZES = [34, 32, 30, 28, 26, 24, 22, 20];
const printed = /print-pdf|view=print/.test(location.search);
const dark = matchMedia('(prefers-color-scheme: dark)');

// live views follow by themselves
const paint = (theme) => (document.documentElement.dataset.theme = theme);

function fitText(body) {
  for (const size of SIZES) {
    body.style.fontSize = `${size}px`;
    const { scrollHeight, clientHeight, scrollWidth, clientWidth } = body;
    if (scrollHeight <= clientHeight && scrollWidth <= clientWidth) return;
  }
}

const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));

// A view is written when its slide is seen. It takes the width, and one or two columns, with which all
// of it is seen largest.
const COMPACT = `<style>
  #view > details:has(.plain) { display: none }
  .map { --cell: 38px }
  [data-columns='2'] body { --room: 50vw }
  [data-columns='2'] #view { display: block; columns: 2; column-gap: 28px }
  [data-columns='2'] #view > * { break-inside: avoid; margin-bottom: 14px }</style>`;

function scaleView(frame) {
  const [width, height] = [frame.offsetWidth, frame.offsetHeight];
  const { clientWidth: room, clientHeight } = frame.parentElement;
  const scale = Math.min(room / width, clientHeight / height, 1.6);
  frame.style.transform = `translateX(${(room - width * scale) / 2}px) scale(${scale})`;
  return scale;
}

async function fitView(frame) {
  if (frame.srcdoc) return;
  const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
  frame.srcdoc = frame.dataset.page.replace('</head>', `${COMPACT}</head>`);
  await loaded;
  const lay = async (width, columns) => {
    frame.style.width = `${width}px`;
    frame.contentDocument.documentElement.dataset.columns = columns;
    await drawn();
    return [scaleView(frame), width, columns];
  };
  let best = [0];
  for (const columns of [1, 2])
    for (let width = 560 * columns; width <= 1900; width += 120) {
      const tried = await lay(width, columns);
      if (tried[0] > best[0] + 0.01) best = tried;
    }
  const [scale] = await lay(...best.slice(1));
  frame.dataset.scale = scale.toFixed(2);
  new ResizeObserver(() => scaleView(frame)).observe(frame);
}

function show(slides) {
  for (const slide of slides) {
    slide.querySelectorAll('iframe').forEach(fitView);
    if (slide.matches('.shown, .question')) fitText(slide.querySelector('.body'));
  }
}

paint(!printed && dark.matches ? 'dark' : 'light');
Reveal.initialize({
  width: 1280,
  height: 720,
  margin: 0,
  center: false,
  display: 'flex',
  controls: false,
  hash: true,
  transition: 'none',
  slideNumber: 'c/t',
  scrollActivationWidth: null,
  plugins: [RevealNotes],
}).then(() => {
  Reveal.addKeyBinding({ keyCode: 68, key: 'D', description: 'Light or dark' }, () =>
    paint(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'),
  );
  const seen = () =>
    show(printed ? document.querySelectorAll('section') : [Reveal.getCurrentSlide()]);
  Reveal.on('slidechanged', seen);
  Reveal.on('pdf-ready', seen);
  document.fonts.ready.then(seen);
});
