// The slides of a lecture: reveal.js, text as large as its slide has room for, and live views whole.
const printed = /print-pdf|view=print/.test(location.search);
const dark = matchMedia('(prefers-color-scheme: dark)');

// live views follow by themselves
const paint = (theme) => (document.documentElement.dataset.theme = theme);

// Text as large as its slide has room for; formulas are larger than text, so that they may shrink further.
async function fitText(body) {
  const least = body.querySelector('p, li, td') ? 20 : 13;
  const fit = () => {
    for (let size = 34; size >= least; size--) {
      body.style.fontSize = `${size}px`;
      const { scrollHeight, clientHeight, scrollWidth, clientWidth } = body;
      if (scrollHeight <= clientHeight && scrollWidth <= clientWidth) return;
    }
  };
  fit();
  await document.fonts.ready; // of letters that were not needed before
  fit();
}

// A view is written when its slide is seen. It takes the width, and one or two columns, with which all
// of it is seen largest.
const COMPACT = `<style>
  .hint, .lead, details:last-child:has(> div:empty) { display: none }
  .map { --cell: 38px }
  [data-columns='2'] body { --room: 50vw }
  [data-columns='2'] #view { display: block; columns: 2; column-gap: 28px }
  [data-columns='2'] #view > * { break-inside: avoid; margin-bottom: 14px }</style>`;

// the frame as large as its slide allows, for the height that its page has now
function scaleView(frame, width) {
  frame.style.width = `${width}px`;
  frame.contentWindow.dispatchEvent(new Event('resize')); // now, and not with the next frame
  const height = Math.ceil(frame.contentDocument.body.getBoundingClientRect().height);
  const { clientWidth: room, clientHeight } = frame.parentElement;
  const scale = Math.min(room / width, clientHeight / height, 1.6);
  const transform = `translateX(${(room - width * scale) / 2}px) scale(${scale})`;
  Object.assign(frame.style, { height: `${height}px`, transform });
  return scale;
}

async function fitView(frame) {
  if (frame.srcdoc) return;
  const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
  frame.srcdoc = frame.dataset.page.replace('</head>', `${COMPACT}</head>`);
  await loaded;
  const { body, documentElement } = frame.contentDocument;
  documentElement.querySelectorAll('details').forEach((folded) => (folded.open = false));
  let best = { scale: 0 };
  const lay = ({ columns, width }) => {
    documentElement.dataset.columns = columns;
    return scaleView(frame, width);
  };
  for (const columns of [1, 2])
    for (let width = 560 * columns; width <= 1900; width += 60) {
      const scale = lay({ columns, width });
      if (scale > best.scale + 0.01) best = { scale, columns, width };
    }
  frame.dataset.scale = lay(best).toFixed(2);
  new ResizeObserver(() => scaleView(frame, best.width)).observe(body);
}

async function show(slides) {
  document.documentElement.dataset.shown = false;
  for (const slide of slides) {
    if (slide.matches('.shown, .question')) await fitText(slide.querySelector('.body'));
    await Promise.all([...slide.querySelectorAll('iframe')].map(fitView));
  }
  document.documentElement.dataset.shown = true;
}

paint(!printed && dark.matches ? 'dark' : 'light');
Reveal.initialize({
  width: 1280,
  height: 720,
  margin: 0,
  center: false,
  controls: false,
  hash: true,
  transition: 'none',
  slideNumber: 'c/t',
  pdfMaxPagesPerSlide: 1,
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
