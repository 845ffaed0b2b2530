'use strict';
// In what search shows of a page, a few signs such as dₖ stand once, not also as TeX and as they are set. More
// signs, or parts above each other, cannot be read as plain text and are left out.
const MOST_SIGNS = 5;
const textOfPage = Search.htmlToText;
Search.htmlToText = (page, anchor) => {
  const content = new DOMParser().parseFromString(page, 'text/html');
  for (const formula of content.querySelectorAll('.katex')) {
    const signs = formula.querySelectorAll('mi, mn, mo').length;
    if (signs > MOST_SIGNS || formula.querySelector('mfrac, msqrt, mtable'))
      formula.replaceWith('…');
  }
  for (const repeated of content.querySelectorAll('.katex-html, annotation, .page-head'))
    repeated.remove();
  return textOfPage(content.documentElement.outerHTML, anchor);
};

// Who looks for a word finds first what it means.
Scorer.score = ([page, , anchor, , score]) => score + (page === 'docs/glossary' && anchor ? 20 : 0);
