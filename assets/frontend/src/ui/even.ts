// A list of rows of one height, of which only those in sight are in the page.

import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

const MORE = 8;

export interface EvenRows {
  /** The indexes to draw. */
  indexes: number[];
  height: number;
  top(index: number): number;
  /** Brings a row to a third of the height, if it is out of sight. */
  reveal(index: number): void;
}

interface Options {
  count: number;
  row: number;
  /** Height of what stays above the rows. */
  head?: number;
}

/** Rows from `first` to before `end`, a few more than the window shows. */
export function inSight(
  scrolled: number,
  room: number,
  row: number,
  count: number,
): { first: number; end: number } {
  const first = Math.max(0, Math.min(Math.floor(scrolled / row), count) - MORE);
  return { first, end: Math.min(count, Math.ceil((scrolled + room) / row) + MORE) };
}

export function useEvenRows(
  scroller: RefObject<HTMLElement | null>,
  { count, row, head = 0 }: Options,
): EvenRows {
  const [seen, setSeen] = useState({ first: 0, end: 40 });
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const look = () => {
      const next = inSight(box.scrollTop, box.clientHeight, row, count);
      setSeen((old) => (old.first === next.first && old.end === next.end ? old : next));
    };
    const watch = new ResizeObserver(look);
    watch.observe(box);
    box.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      watch.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, [count, row]);
  const end = Math.min(seen.end, count);
  const first = Math.min(seen.first, end);
  return {
    indexes: Array.from({ length: end - first }, (_, i) => first + i),
    height: count * row,
    top: (index) => index * row,
    reveal(index) {
      const box = scroller.current;
      if (!box) return;
      const room = box.clientHeight - head;
      const at = index * row;
      if (at >= box.scrollTop && at + row <= box.scrollTop + room) return;
      box.scrollTop = Math.max(0, at - room / 3);
    },
  };
}
