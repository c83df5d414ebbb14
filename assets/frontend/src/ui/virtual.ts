// A list of which only the rows in sight are in the page; rows may have different heights.

import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";

/** Sent by a list that has brought a row into sight: that is where it stands from now on. */
export const REVEAL = "wb-reveal";

/** A row that is drawn, and where it begins. */
interface Item {
  key: string | number;
  index: number;
  start: number;
}

export interface Rows {
  items: Item[];
  height: number;
  /** Give it to rows whose height is not known before they are drawn. */
  measure(element: HTMLElement | null): void;
  /** Where a row begins. */
  top(index: number): number;
  /** Brings a row to a third of the height. */
  goTo(index: number): void;
  /** The same, if the row is out of sight. */
  reveal(index: number): void;
}

interface Options<Row> {
  rows: readonly Row[];
  scroller: RefObject<HTMLElement | null>;
  /** The height of a row, or what it probably is where rows are measured. */
  size: number | ((row: Row) => number);
  /** Height of what stays above the rows. */
  head?: number;
  /** What a measured height is remembered by. */
  key?(row: Row): string;
}

/** Rows out of sight that are drawn all the same, at either end. */
const MORE = 8;
const STEP = 6; // 64 pixels of scrolling, fewer than those rows have: then it is drawn again
const UNSEEN = 600; // the height of a list that is not in the page yet

export function useRows<Row>({ rows, scroller, size, head = 0, key }: Options<Row>): Rows {
  const [changes, changed] = useReducer((n: number) => n + 1, 0);
  const [, see] = useState("");
  const [measured] = useState(() => new Map<string | number, number>());
  const keyOf = (index: number) => key?.(rows[index]!) ?? index;
  const heightOf = (row: Row, index: number) =>
    measured.get(keyOf(index)) ?? (typeof size === "number" ? size : size(row));
  // the end of the last row is the beginning of one that is not there
  const starts = useMemo(() => {
    const found = [0];
    rows.forEach((row, index) => found.push(found[index]! + heightOf(row, index)));
    return found;
  }, [rows, size, changes]);
  const box = scroller.current;
  const at = (place: number) => lastUpTo(starts, place);
  const top = box?.scrollTop ?? 0;
  const first = Math.max(0, at(top) - MORE);
  const end = Math.min(rows.length, at(top + (box?.clientHeight || UNSEEN)) + 1 + MORE);
  useLayoutEffect(() => {
    const box = scroller.current!;
    const look = () => see(`${box.scrollTop >> STEP} ${box.clientHeight} ${box.clientWidth}`);
    const sized = new ResizeObserver(look);
    sized.observe(box);
    box.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      sized.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, [scroller.current]);
  const goTo = (index: number) => {
    const box = scroller.current!;
    box.scrollTo({ top: starts[index]! - (box.clientHeight - head) / 3 });
  };
  return {
    items: Array.from({ length: Math.max(0, end - first) }, (_, i) => {
      const index = first + i;
      return { key: keyOf(index), index, start: starts[index]! };
    }),
    height: starts.at(-1)!,
    measure(element) {
      const index = Number(element?.dataset["index"]);
      const height = element?.offsetHeight;
      if (!height || !rows[index]) return;
      const more = height - heightOf(rows[index], index);
      measured.set(keyOf(index), height);
      if (!more) return;
      const box = scroller.current; // a row is there before its list
      if (box && starts[index]! < box.scrollTop) box.scrollTop += more; // what is seen stays
      changed(0);
    },
    top: (index) => starts[index] ?? 0,
    goTo,
    reveal(index) {
      const box = scroller.current;
      if (!box || !(index in rows)) return;
      const end = box.scrollTop + box.clientHeight - head;
      if (starts[index]! < box.scrollTop || starts[index + 1]! > end) goTo(index);
      box.dispatchEvent(new Event(REVEAL, { bubbles: true }));
    },
  };
}

/** The last of rising numbers that is not above one. */
function lastUpTo(rising: readonly number[], most: number): number {
  let [low, high] = [0, rising.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rising[middle]! > most) high = middle - 1;
    else low = middle;
  }
  return low;
}
