// What Material leaves out for those who read with the keyboard or a screen reader.
const SCROLLED = ".md-typeset__scrollwrap, .nb-html, .nb-outputs :not(.wb, .wb *) > pre";

function mend() {
  // The button that copies a listing is in a landmark of its own, one for each listing.
  for (const part of document.querySelectorAll("nav.md-code__nav")) part.setAttribute("role", "none");
  // What scrolls can be reached, and then scrolled by the arrow keys.
  for (const part of document.querySelectorAll(SCROLLED)) {
    const scrolls = part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight;
    if (scrolls) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

let waiting;
const soon = () => {
  clearTimeout(waiting);
  waiting = setTimeout(mend, 100);
};
mend();
new MutationObserver(soon).observe(document.querySelector("main"), { childList: true, subtree: true });
addEventListener("resize", soon);
