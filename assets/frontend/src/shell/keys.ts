// The keys of the view: single ones act only when focus is inside it and not in a field.

import { useEffect } from "preact/hooks";
import type { RefObject } from "preact";

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

/** What a view answers: panes by their digit, its help, and further keys of its own. */
export interface Keys {
  tabs: readonly { id: string }[];
  show(pane: string): void;
  help(): void;
  /** Whether the view has answered a key; `event.altKey` may be set. */
  press?: ((event: KeyboardEvent) => boolean) | undefined;
}

/** Answers a key that no part of the view has answered. */
export function press(event: KeyboardEvent, view: Keys): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey) return;
  if (event.target instanceof Element && event.target.closest("dialog")) return;
  if (isField(event.target) && !event.altKey) return;
  const tab = event.altKey ? undefined : view.tabs[paneAt(event.key)];
  if (tab) view.show(tab.id);
  else if (event.key === "?" && !event.altKey) view.help();
  else if (!view.press?.(event)) return;
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

/** Whether Enter presses what has the focus. */
export function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("button, a, summary, select") !== null;
}
