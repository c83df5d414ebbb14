// Where the lists of a pane were scrolled to, restored when the pane is shown again.

import { useLayoutEffect } from "preact/hooks";
import type { RefObject } from "preact";
import type { Remembering } from "../memory";
import { REVEAL } from "../ui/virtual";

type Places = Map<string, [number, number]>;

const SCROLLERS = ".scroll";

/** What scrolls in a pane, by names that are the same when the pane is drawn anew. */
function scrollersOf(pane: HTMLElement): Map<string, HTMLElement> {
  const found = new Map<string, HTMLElement>();
  for (const element of pane.querySelectorAll<HTMLElement>(SCROLLERS)) {
    const name = element.getAttribute("aria-label") ?? element.className;
    let key = name;
    for (let n = 2; found.has(key); n += 1) key = `${name} ${n}`;
    found.set(key, element);
  }
  return found;
}

/** Scrolls what is waited for as far as it goes; what has arrived is not waited for any more. */
function restore(pane: HTMLElement, waiting: Places): void {
  const known = scrollersOf(pane);
  for (const [key, [top, left]] of waiting) {
    const element = known.get(key);
    if (!element) continue;
    element.scrollTo(left, top);
    const isThere =
      Math.abs(element.scrollTop - top) <= 1 && Math.abs(element.scrollLeft - left) <= 1;
    if (isThere) waiting.delete(key);
  }
}

/** Keeps the scroll positions in `box` by the pane that is shown in it. */
export function useKeptScroll(view: Remembering, box: RefObject<HTMLElement | null>): void {
  const pane = view.pane.value;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const places = view.memory.keep<Places>(pane, "scroll", () => new Map());
    const waiting: Places = new Map([...places].filter(([, [top, left]]) => top > 0 || left > 0));
    // What a pane shows may come later; the reader's own move ends the waiting.
    const changes = new MutationObserver(() => settle());
    const settle = () => {
      restore(element, waiting);
      if (waiting.size === 0) changes.disconnect();
    };
    const forget = () => {
      waiting.clear();
      changes.disconnect();
    };
    const note = (event: Event) => {
      for (const [key, each] of scrollersOf(element))
        if (each === event.target && !waiting.has(key))
          places.set(key, [each.scrollTop, each.scrollLeft]);
    };
    const yieldTo = (event: Event) => {
      for (const [key, each] of scrollersOf(element))
        if (each === event.target) waiting.delete(key);
    };
    changes.observe(element, { childList: true, subtree: true, attributeFilter: ["style"] });
    settle();
    element.addEventListener("scroll", note, { capture: true, passive: true });
    element.addEventListener(REVEAL, yieldTo);
    for (const kind of MOVES) element.addEventListener(kind, forget, { passive: true });
    return () => {
      forget();
      element.removeEventListener("scroll", note, { capture: true });
      element.removeEventListener(REVEAL, yieldTo);
      for (const kind of MOVES) element.removeEventListener(kind, forget);
    };
  }, [view, pane]);
}

const MOVES = ["wheel", "pointerdown", "keydown"];
