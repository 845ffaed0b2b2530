'use strict';
// In what search shows of a page, a formula stands once, as signs: not also as TeX and as it is set.
const textOfPage = Search.htmlToText;
Search.htmlToText = (page, anchor) => {
  const content = new DOMParser().parseFromString(page, 'text/html');
  for (const repeated of content.querySelectorAll('.katex-html, annotation, .page-head'))
    repeated.remove();
  return textOfPage(content.documentElement.outerHTML, anchor);
};

// Who looks for a word finds first what it means.
Scorer.score = ([page, , anchor, , score]) => score + (page === 'docs/glossary' && anchor ? 20 : 0);
