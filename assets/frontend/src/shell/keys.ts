// The keys of the view: single ones act only when focus is inside it and not in a field.

import { useEffect } from "preact/hooks";
import type { RefObject } from "preact";
import type { Store } from "../store";

export interface Actions {
  find(): void;
  help(): void;
  inspector(): void;
}

/** The keys of the panes, as they lie beside one another: 0 is the tenth. */
const DIGITS = "1234567890";
const PLAIN = new Set([...DIGITS, "/", "?", "i", "e", "n", "p", "Escape", "Enter"]);
const MOVES = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"]);
const PAGES = new Set(["PageUp", "PageDown", " "]);

/** What a field takes for itself. */
export function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  return ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Whether the view answers a key itself; everything else is left to the notebook. */
export function isOurs(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey) return false;
  if (event.altKey) return event.key === "ArrowLeft" || event.key === "ArrowRight";
  if (isField(event.target)) return !event.shiftKey || event.key.length === 1;
  if (event.shiftKey) return event.key === "?" || event.key === "/";
  return PLAIN.has(event.key) || MOVES.has(event.key) || PAGES.has(event.key);
}

const SUPPRESS = "data-lm-suppress-shortcuts";

/** Keeps JupyterLab from acting on a key that the view answers, and only on those. */
export function useQuietLab(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const mark = (event: KeyboardEvent) => {
      const element = root.current;
      if (!element || !(event.target instanceof Node) || !element.contains(event.target)) return;
      if (isOurs(event)) element.setAttribute(SUPPRESS, "true");
      else element.removeAttribute(SUPPRESS);
    };
    // The notebook listens on the document while the event comes down, so this must be earlier.
    window.addEventListener("keydown", mark, true);
    return () => window.removeEventListener("keydown", mark, true);
  }, []);
}

/** Answers a key that no part of the view has answered. */
export function press(event: KeyboardEvent, store: Store, actions: Actions): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey) return;
  if (event.target instanceof Element && event.target.closest("dialog")) return;
  if (event.altKey) {
    if (event.key === "ArrowLeft") store.back();
    else if (event.key === "ArrowRight") store.forward();
    else return;
    event.preventDefault();
    return;
  }
  if (isField(event.target)) return;
  const pane = store.doc.value?.panes[paneAt(event.key)];
  if (pane) store.show(pane.id);
  else if (event.key === "/") actions.find();
  else if (event.key === "?") actions.help();
  else if (event.key === "i") actions.inspector();
  else if (event.key === "Escape") store.select(null);
  else if (event.key === "Enter" && !isPressable(event.target)) openCode(store);
  else return;
  event.preventDefault();
}

/** The index of the pane that a key shows, or -1. */
function paneAt(key: string): number {
  return key.length === 1 ? DIGITS.indexOf(key) : -1;
}

/** The key of a pane by its place from 1. */
export function keyOf(place: number): string {
  return DIGITS[place - 1] ?? "";
}

function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("button, a, summary, select") !== null;
}

/** Enter: the code of the selected thing. */
export function openCode(store: Store): void {
  if (store.selected.peek() !== null) store.show("kernels");
}
