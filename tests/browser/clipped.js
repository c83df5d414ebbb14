// Texts of a view that are cut, and that nothing shows whole: no tip of theirs, no scroll, no wrap.
(root) => {
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden";
  };
  const text = (element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const scrolls = (element, way) => /auto|scroll/.test(getComputedStyle(element)[way]);
  const plain = (words) => words.replace(/\s+/g, " ").trim().toLowerCase();
  const hasTip = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.dataset.tip !== undefined && tells(at, element)) return true;
    return false;
  };
  const tells = (owner, element) => {
    const tip = plain(owner.dataset.tip);
    return tip === "" || plain(element.textContent).split(" ").every((word) => tip.includes(word));
  };
  const isAside = (element) =>
    element.closest(".sr, svg, canvas, dialog, .cm-editor, [aria-hidden=true]") !== null;
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    if (!text(element) || !shown(element) || isAside(element) || hasTip(element)) continue;
    const own = document.createRange();
    own.selectNodeContents(element);
    const box = own.getBoundingClientRect();
    for (let around = element; around && around !== root.parentElement; around = around.parentElement) {
      const style = getComputedStyle(around);
      const edge = around.getBoundingClientRect();
      if (scrolls(around, "overflowX") && around !== element) break;
      if (style.overflowX !== "visible" && box.right > edge.right + 1.5) {
        found.push(`${element.textContent.trim().slice(0, 60)} < ${around.className || around.tagName}`);
        break;
      }
    }
  }
  // from above and below too: a row that a box cuts in two, and that nothing scrolls to
  for (const element of root.querySelectorAll("*")) {
    if (!text(element) || !shown(element) || isAside(element) || hasTip(element)) continue;
    const box = element.getBoundingClientRect();
    for (let around = element.parentElement; around && around !== root.parentElement; around = around.parentElement) {
      if (scrolls(around, "overflowY")) break;
      const edge = around.getBoundingClientRect();
      if (getComputedStyle(around).overflowY === "visible" || edge.height === 0) continue;
      if (box.bottom > edge.bottom + 2 || box.top < edge.top - 2) {
        found.push(`${element.textContent.trim().slice(0, 60)} below ${around.className || around.tagName}`);
        break;
      }
    }
  }
  return found;
}
