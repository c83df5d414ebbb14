// State that is there again: of a pane when the reader comes back, of the reader on every page.

import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { HasPaneStates } from "../panestates";

/** As `useState`, but held by the view, by its pane and a key. */
export function usePaneState<T>(
  view: HasPaneStates,
  key: string,
  initial: T | (() => T),
): [T, (next: T) => void] {
  const make = () => (typeof initial === "function" ? (initial as () => T)() : initial);
  const kept = useMemo(() => view.paneStates.signal(view.pane.peek(), key, make), [view, key]);
  return [kept.value, (next) => (kept.value = next)];
}

/**
 * Brings the selection into sight whenever `signs` change, but not when the pane comes back with
 * the selection that it was left with: then it stands where it stood.
 */
export function useReveal(
  view: HasPaneStates,
  key: string,
  selected: string | null,
  signs: readonly unknown[],
  reveal: () => void,
): void {
  const kept = useMemo(() => {
    const unseen: { selected?: string | null } = {};
    return view.paneStates.keep(view.pane.peek(), `revealed ${key}`, () => unseen);
  }, [view, key]);
  const isNew = useRef(true);
  useEffect(() => {
    const isBack = isNew.current && kept.selected === selected;
    isNew.current = false;
    kept.selected = selected;
    if (!isBack) reveal();
  }, [...signs]);
}

/** Views of a page may each have a copy of this program: they hear of each other by this event. */
const CHANGED = "workbench-choice";
const PREFIX = "workbench.";

/** What was remembered; null where nothing was, or the page may not remember. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // a sandboxed page
  }
}

/** Tells the other views, and remembers. */
export function share(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // A sandboxed page: the views of this page still hear of it.
  }
  window.dispatchEvent(new CustomEvent(CHANGED, { detail: { name, value } }));
}

/** Keeps a signal at what any view of the page chose last. */
export function useShared<T>(name: string, kept: Signal<T>, read: (value: string) => T): void {
  useEffect(() => {
    const hear = (event: Event) => {
      const { detail } = event as CustomEvent<{ name: string; value: string }>;
      if (detail.name === name) kept.value = read(detail.value);
    };
    window.addEventListener(CHANGED, hear);
    return () => window.removeEventListener(CHANGED, hear);
  }, [name, kept]);
}
