// A choice of the reader that all views of a page share, and that the browser remembers.

import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

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
