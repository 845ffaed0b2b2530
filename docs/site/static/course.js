'use strict';
// What scrolls sideways can be reached by keyboard; what does not is no stop on the way.
function letKeysScroll() {
  const boxes = 'article :is(pre, .table-wrapper, .text_html, div.math, .katex-html, .picture)';
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === 'auto') box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
}

// A formula wider than the page is set smaller, though never below seven tenths: the rest scrolls.
function letFormulasFit() {
  const formulas = [...document.querySelectorAll('article .katex-display > .katex > .katex-html')];
  for (const formula of formulas) formula.style.fontSize = '';
  const shares = formulas.map((formula) => formula.clientWidth / formula.scrollWidth);
  formulas.forEach((formula, k) => {
    if (shares[k] < 1) formula.style.fontSize = `${Math.max(0.7, 0.99 * shares[k])}em`;
  });
}

// Printed sentences are broken into lines; two spaces within a line show a table, which is not.
function letSentencesBreak() {
  for (const output of document.querySelectorAll('article .cell_output pre'))
    output.classList.toggle('sentences', !/\S {2,}\S/.test(output.textContent));
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
  letFormulasFit();
  letKeysScroll();
}
document.addEventListener('DOMContentLoaded', () => {
  letSentencesBreak();
  letPicturesGrow();
});
window.addEventListener('load', () => document.fonts.ready.then(fit));
window.addEventListener('resize', fit);
document.addEventListener('toggle', fit, true);
