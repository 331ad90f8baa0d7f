// Corrects what the theme's script adds to a page: for keyboards and screen readers.
function correct() {
  // One around every button to copy code; they are no landmarks.
  for (const each of document.querySelectorAll("nav.md-code__nav:not([role])")) each.setAttribute("role", "none");
  // Wide tables and diagrams scroll: the keys must reach them.
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, div.mermaid")) {
    if (each.scrollWidth > each.clientWidth && each.tabIndex < 0) each.tabIndex = 0;
  }
}

new MutationObserver(correct).observe(document.body, { childList: true, subtree: true });
new ResizeObserver(correct).observe(document.body);
correct();
