// Keeps the focus in the view when what had it is drawn anew, so that the keys go on working.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

const REGIONS = ".insp, .pane, .tabs, .head";
/** What arrows act on, in the order of choice. */
const LISTS = "[role=grid], [role=listbox], [role=tree], [role=application]";

/** Looks after each change of `signs` whether the focus was lost, and gives it a place nearby. */
export function useKeptFocus(root: RefObject<HTMLElement | null>, signs: unknown[]): void {
  const region = useRef<string | null>(null);
  useEffect(() => {
    const note = (event: Event) => {
      const target = event.target as Element | null;
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
    if (region.current === null || document.activeElement !== document.body) return;
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
