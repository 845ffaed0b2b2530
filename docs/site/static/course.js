'use strict';
// What scrolls sideways can be reached by keyboard; what does not is no stop on the way.
function letKeysScroll() {
  for (const box of document.querySelectorAll('article :is(pre, .table-wrapper, .text_html, div.math)')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
}
window.addEventListener('load', letKeysScroll);
window.addEventListener('resize', letKeysScroll);
document.addEventListener('toggle', letKeysScroll, true);
