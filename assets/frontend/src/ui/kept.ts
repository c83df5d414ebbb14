// State of a pane that is there again when the reader comes back to it.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Remembering } from "../memory";

/** As `useState`, but held by the view, by its pane and a key. */
export function usePaneState<T>(
  view: Remembering,
  key: string,
  initial: T | (() => T),
): [T, (next: T) => void] {
  const make = () => (typeof initial === "function" ? (initial as () => T)() : initial);
  const kept = useMemo(() => view.memory.signal(view.pane.peek(), key, make), [view, key]);
  return [kept.value, (next) => (kept.value = next)];
}

/**
 * Brings the selection into sight whenever `signs` change, but not when the pane comes back with
 * the selection that it was left with: then it stands where it stood.
 */
export function useReveal(
  view: Remembering,
  key: string,
  selected: string | null,
  signs: readonly unknown[],
  reveal: () => void,
): void {
  const kept = useMemo(() => {
    const unseen: { selected?: string | null } = {};
    return view.memory.keep(view.pane.peek(), `revealed ${key}`, () => unseen);
  }, [view, key]);
  const isNew = useRef(true);
  useEffect(() => {
    const isBack = isNew.current && kept.selected === selected;
    isNew.current = false;
    kept.selected = selected;
    if (!isBack) reveal();
  }, [...signs]);
}
