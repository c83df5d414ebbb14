// What is there again when a view is drawn anew: the focus, and how far its lists were scrolled.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { HasPaneStates } from "../panestates";
import { REVEAL } from "../ui/virtual";

const REGIONS = ".insp, .pane, .tabs, .head";
/** What arrows act on, in the order of choice. */
const LISTS = "[role=grid], [role=treegrid], [role=listbox], [role=tree], [role=application]";

/** Gives the focus to the list of the pane that an element's view shows, or to the pane. */
export function enterPane(inside: Element | null): void {
  const pane = inside?.closest(".wb")?.querySelector<HTMLElement>(".pane");
  (pane?.querySelector<HTMLElement>(LISTS) ?? pane)?.focus({ preventScroll: true });
}

/** Looks after each change of `signs` whether the focus was lost, and gives it a place nearby. */
export function useKeptFocus(root: RefObject<HTMLElement | null>, signs: unknown[]): void {
  const region = useRef<string | null>(null);
  useEffect(() => {
    const note = (event: Event) => {
      const target = event.composedPath()[0];
      const inside = target instanceof Element && root.current?.contains(target);
      region.current = inside ? (target.closest(REGIONS)?.className.split(" ")[0] ?? "pane") : null;
    };
    document.addEventListener("focusin", note, true);
    document.addEventListener("pointerdown", note, true);
    return () => {
      document.removeEventListener("focusin", note, true);
      document.removeEventListener("pointerdown", note, true);
    };
  }, []);
  const keep = () => {
    if (region.current === null || isElsewhere(root.current)) return;
    const place = root.current?.querySelector<HTMLElement>(`.${region.current}`);
    const pane = root.current?.querySelector<HTMLElement>(".pane");
    const list = pane?.querySelector<HTMLElement>(LISTS);
    const heir = region.current === "insp" ? place : (list ?? pane);
    (heir ?? pane)?.focus({ preventScroll: true });
  };
  // Before the next key can come, so not in an effect after the paint; but after the parts of the
  // view that follow the same signs and are drawn on their own.
  useLayoutEffect(() => queueMicrotask(keep), signs);
}

/** Whether something has the focus, in the view's own tree as in the page's. */
function isElsewhere(view: Element | null): boolean {
  const tree = view?.getRootNode();
  if (tree instanceof ShadowRoot)
    return tree.activeElement !== null || document.activeElement !== document.body;
  return document.activeElement !== document.body;
}

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
export function useKeptScroll(view: HasPaneStates, box: RefObject<HTMLElement | null>): void {
  const pane = view.pane.value;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const places = view.paneStates.keep<Places>(pane, "scroll", () => new Map());
    const waiting: Places = new Map([...places].filter(([, [top, left]]) => top > 0 || left > 0));
    // What a pane shows may come later; the reader's own move ends the waiting.
    const changes = new MutationObserver(() => settle());
    // A list has less room when what is above it is broken into more lines: that is no mutation.
    const sizes = new ResizeObserver(() => settle());
    const settle = () => {
      restore(element, waiting);
      if (waiting.size === 0) stop();
      else for (const list of scrollersOf(element).values()) sizes.observe(list);
    };
    const stop = () => {
      changes.disconnect();
      sizes.disconnect();
    };
    const forget = () => {
      waiting.clear();
      stop();
    };
    const note = (event: Event) => {
      for (const [key, each] of scrollersOf(element))
        if (each === event.target && !waiting.has(key))
          places.set(key, [each.scrollTop, each.scrollLeft]);
    };
    // A scroll event comes with the next frame, when the pane may have been left already.
    const standHere = (event: Event) => {
      for (const [key, each] of scrollersOf(element))
        if (each === event.target) {
          waiting.delete(key);
          places.set(key, [each.scrollTop, each.scrollLeft]);
        }
    };
    changes.observe(element, { childList: true, subtree: true, attributeFilter: ["style"] });
    settle();
    element.addEventListener("scroll", note, { capture: true, passive: true });
    element.addEventListener(REVEAL, standHere);
    for (const kind of MOVES) element.addEventListener(kind, forget, { passive: true });
    return () => {
      forget();
      element.removeEventListener("scroll", note, { capture: true });
      element.removeEventListener(REVEAL, standHere);
      for (const kind of MOVES) element.removeEventListener(kind, forget);
    };
  }, [view, pane]);
}

const MOVES = ["wheel", "pointerdown", "keydown"];
