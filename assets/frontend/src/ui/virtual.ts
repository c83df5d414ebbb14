// A list of which only the rows in sight are in the page; rows may have different heights.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";

/** Sent by a list that has brought a row into sight: that is where it stands from now on. */
export const REVEAL = "wb-reveal";

export interface Rows {
  items: VirtualItem[];
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

const FIXED = {
  overscan: MORE,
  initialRect: { width: 800, height: 600 },
  observeElementRect,
  observeElementOffset,
  scrollToFn: elementScroll,
};

export function useRows<Row>({ rows, scroller, size, head = 0, key }: Options<Row>): Rows {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  // The heights are summed again when, and only when, this function is another one.
  const getItemKey = useMemo(
    () => (index: number) => key?.(rows[index] as Row) ?? index,
    [rows, size],
  );
  const options = {
    ...FIXED,
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey,
    estimateSize: (index: number) => (typeof size === "number" ? size : size(rows[index] as Row)),
    onChange: () => redraw(0),
  };
  const [list] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  const room = (list.scrollRect?.height ?? 0) - head;
  list.setOptions({ ...options, scrollPaddingStart: room / 3 });
  useLayoutEffect(() => list._didMount(), []);
  useLayoutEffect(() => list._willUpdate());
  const goTo = (index: number) => list.scrollToIndex(index, { align: "start" });
  return {
    items: list.getVirtualItems(),
    height: list.getTotalSize(),
    measure: (element) => list.measureElement(element),
    top: (index) => list.measurementsCache[index]?.start ?? 0,
    goTo,
    reveal(index) {
      const box = scroller.current;
      const row = list.measurementsCache[index];
      if (!box || !row) return;
      const end = box.scrollTop + box.clientHeight - head;
      if (row.start < box.scrollTop || row.end > end) goTo(index);
      box.dispatchEvent(new Event(REVEAL, { bubbles: true }));
    },
  };
}
