// What a tip has to say: the words of `data-tip`, unless they stand there in full already.

/** What is walked by arrow keys, or has the focus itself: its tips come with that focus. */
const OWNERS =
  "button, a, input, select, textarea, summary, label, td, " +
  "[role=row], [role=option], [role=treeitem], [role=tab], [aria-hidden=true]";

function collapsed(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The text of an element without what is there for a screen reader alone. */
function shownIn(element: Element): string {
  if (!element.querySelector(".sr")) return element.textContent ?? "";
  const copy = element.cloneNode(true) as Element;
  copy.querySelectorAll(".sr").forEach((each) => each.remove());
  return copy.textContent ?? "";
}

/** Whether some text of an element is wider than its place. */
export function isCut(element: Element): boolean {
  return [element, ...element.querySelectorAll(":not(.sr)")].some(
    ({ clientWidth, scrollWidth }) => clientWidth > 0 && scrollWidth > clientWidth,
  );
}

/** What an element hides: null where there is nothing that cannot be read on it. */
export function textOf(element: Element): string | null {
  const tip = element.getAttribute("data-tip");
  if (tip === null) return null;
  const shown = shownIn(element);
  const words = (tip || shown).trim();
  if (!words) return null;
  if (collapsed(shown).includes(collapsed(words)) && !isCut(element)) return null;
  return words;
}

/** What an element and all in it hide, a line for each; `data-tip-of` names the line. */
export function allTextOf(element: Element): string | null {
  const lines = [element, ...element.querySelectorAll("[data-tip]")].flatMap((each) => {
    const text = textOf(each);
    const name = each.getAttribute("data-tip-of");
    return text === null ? [] : [name ? `${name}: ${text}` : text];
  });
  return [...new Set(lines)].join("\n") || null;
}

export interface Found {
  owner: Element;
  text: string;
}

/** The element under the pointer that has something to say, and what. */
export function tipAt(target: Element, view: Element): Found | null {
  let owner = target.closest("[data-tip]");
  while (owner && view.contains(owner)) {
    const text = textOf(owner);
    if (text !== null) return { owner, text };
    owner = owner.parentElement?.closest("[data-tip]") ?? null;
  }
  return null;
}

/** What can have the focus and tips in it, without being a place that scrolls. */
const FOCUSED = "button, a, summary, label, select, [data-tip]";

/** The tips of what has the focus, or of the row that it marks as active, in one. */
export function tipOfFocus(focused: Element, view: Element): Found | null {
  const active = focused.getAttribute("aria-activedescendant");
  const root = focused.getRootNode() as Document | ShadowRoot;
  const owner = active ? root.getElementById(active) : (focused.closest("label") ?? focused);
  if (!owner) return null;
  const text = active || owner.matches(FOCUSED) ? allTextOf(owner) : null;
  if (text !== null) return { owner, text };
  return focused.matches("input, button") ? tipAt(focused, view) : null;
}

/** Elements to which the Tab key leads for their tip alone. */
const reached = new WeakSet<Element>();

/** Lets the Tab key reach every tip that no other focus shows; those that hide nothing are left out. */
export function makeReachable(view: Element): void {
  for (const element of view.querySelectorAll<HTMLElement>("[data-tip]")) {
    const isHead = element.matches("[role=columnheader]");
    if ((element.closest(OWNERS) && !isHead) || !("tabIndex" in element)) continue;
    const isOurs = reached.has(element);
    if (element.hasAttribute("tabindex") && !isOurs) continue;
    const isWanted = element.getClientRects().length > 0 && textOf(element) !== null;
    if (isWanted === isOurs) continue;
    if (isWanted) {
      element.tabIndex = 0;
      reached.add(element);
    } else {
      element.removeAttribute("tabindex");
      reached.delete(element);
    }
  }
}
