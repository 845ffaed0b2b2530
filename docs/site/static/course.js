'use strict';
// What scrolls sideways can be reached by keyboard; what does not is no stop on the way.
function letKeysScroll() {
  const boxes = 'article :is(pre, .table-wrapper, .text_html, div.math, .katex-display, .picture)';
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === 'auto')
      box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
}

// A formula a little wider than the page is set smaller. If it is far wider, its equations stand
// below each other. None gets smaller than seven tenths; what is still too wide scrolls.
function letFormulasFit() {
  const formulas = [...document.querySelectorAll('article .katex-display > .katex > .katex-html')];
  const sharesOnPage = () => formulas.map((formula) => formula.clientWidth / formula.scrollWidth);
  for (const formula of formulas) formula.style.fontSize = '';
  sharesOnPage().forEach((share, k) => {
    if (share < 0.85) breakAtGaps(formulas[k]);
  });
  sharesOnPage().forEach((share, k) => {
    if (share < 1) formulas[k].style.fontSize = `${Math.max(0.7, 0.99 * share)}em`;
  });
}
function breakAtGaps(formula) {
  for (const gap of formula.querySelectorAll(':scope > .katex-base > .mspace')) {
    if (!(parseFloat(gap.style.marginRight) >= 1)) continue; // em: a \quad has one, a \qquad two
    const before = gap.parentElement;
    const after = before.cloneNode(false);
    after.append(before.querySelector('.katex-strut').cloneNode());
    while (gap.nextSibling) after.append(gap.nextSibling);
    before.after(gap, after);
    gap.className = 'katex-newline';
    gap.style.marginRight = '';
  }
}

// Printed sentences are broken into lines, also behind a label, and keep their indentation. Two
// lines with other gaps within show a table, which is left as it is.
const LABEL = /^ *\S+(?: \S+)? {2,}(?=\S+(?: \S+)*$)/;
function letSentencesBreak() {
  for (const output of document.querySelectorAll('article .cell_output pre')) {
    const lines = output.textContent.match(/.*\n|.+$/g) ?? [];
    const isColoured = output.querySelector('span:not(:empty)') !== null;
    const isRow = (line) => /\S {2,}\S/.test(line) && !afterLabel(line);
    if (isColoured || lines.filter(isRow).length > 1) continue;
    output.replaceChildren(...lines.map(lineThatBreaks));
    output.classList.add('sentences');
  }
}
// Where the second line of what stands behind a label begins; 0 where there is no short label.
function afterLabel(line) {
  const width = LABEL.exec(line.trimEnd())?.[0].length ?? 0;
  return width <= 14 ? width : 0;
}
function lineThatBreaks(text) {
  const line = document.createElement('span');
  line.textContent = text;
  line.style.setProperty('--indent', `${afterLabel(text) || text.search(/\S|$/) + 2}ch`);
  return line;
}

// A cell with nothing but a comment is read like text, so its lines break like text.
function letCommentsBreak() {
  for (const code of document.querySelectorAll('article .cell_input pre'))
    code.classList.toggle('comment', /^(#.*\n*)+$/.test(code.textContent));
}

// Long names in tables may be broken after a point, an underscore or a slash.
function letNamesBreak() {
  for (const name of document.querySelectorAll(
    'article td :is(code .pre, p:not(:has(*))), article td:not(:has(*))',
  ))
    if (name.textContent.length > 12)
      name.innerHTML = name.innerHTML.replace(/[._/](?=[\w&])/g, '$&<wbr>');
}

// A column of numbers or short words needs no width of its own.
function letColumnsBeNarrow() {
  for (const table of document.querySelectorAll('article table.docutils')) {
    const rows = [...table.rows];
    for (let k = 0; k < rows[0].cells.length; k++) {
      const cells = rows.map((row) => row.cells[k]).filter((cell) => cell?.tagName === 'TD');
      if (cells.some((cell) => cell.textContent.trim().length > 10)) continue;
      for (const row of rows) row.cells[k]?.classList.add('narrow');
    }
  }
}

// A table stands in columns as long as none is squeezed to fewer letters than this. Otherwise, on a phone,
// its cells stand below each other, each behind the head of its column.
const FEWEST_LETTERS = 12;
function letColumnsStack() {
  for (const table of document.querySelectorAll('article table.docutils')) {
    table.classList.remove('stacked');
    const squeezed = widths(table);
    table.classList.add('unbroken');
    const free = widths(table);
    table.classList.remove('unbroken');
    const letter = 0.47 * parseFloat(getComputedStyle(table).fontSize);
    const enough = FEWEST_LETTERS * letter;
    const isStacked = squeezed.some((width, k) => width < Math.min(free[k] - 1, enough));
    table.classList.toggle('stacked', isStacked && squeezed.length > 2);
  }
}
function widths(table) {
  return [...table.rows[0].cells].map((head) => head.offsetWidth);
}
function letCellsKeepTheirHeads() {
  for (const table of document.querySelectorAll('article table.docutils')) {
    const heads = [...table.rows[0].cells];
    for (const row of [...table.rows].slice(1))
      [...row.cells].forEach((cell, k) => {
        if (k === 0 || !heads[k]?.textContent.trim()) return;
        const head = document.createElement('span');
        head.className = 'head';
        const words = heads[k].querySelector('p') ?? heads[k];
        head.append(...words.cloneNode(true).childNodes, ': ');
        cell.prepend(head);
      });
  }
}

// On a phone the letters of a wide picture are small: a button below makes it twice as wide.
function letPicturesGrow() {
  for (const picture of document.querySelectorAll('article img')) {
    const box = document.createElement('span');
    box.className = 'picture';
    picture.replaceWith(box);
    box.append(picture);
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'enlarge';
    button.textContent = 'enlarge';
    button.addEventListener('click', () => {
      button.textContent = box.classList.toggle('large') ? 'reduce' : 'enlarge';
      letKeysScroll();
    });
    const below = box.nextElementSibling ?? box.parentElement.nextElementSibling;
    if (below?.matches('figcaption, p.caption')) below.append(' ', button);
    else box.after(button);
  }
}

function fit() {
  letColumnsStack();
  letFormulasFit();
  letKeysScroll();
}
document.addEventListener('DOMContentLoaded', () => {
  letSentencesBreak();
  letCommentsBreak();
  letNamesBreak();
  letColumnsBeNarrow();
  letCellsKeepTheirHeads();
  letPicturesGrow();
});
window.addEventListener('load', () => document.fonts.ready.then(fit));
window.addEventListener('resize', fit);
document.addEventListener('toggle', fit, true);
