// A list of which only the rows in sight are in the page; rows may have different heights.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

export interface Rows {
  items: VirtualItem[];
  height: number;
  /** Give it to rows whose height is not known before they are drawn. */
  measure(element: HTMLElement | null): void;
  /** Brings a row to a third of the height, if it is out of sight. */
  reveal(index: number): void;
}

interface Options {
  count: number;
  scroller: RefObject<HTMLElement | null>;
  size(index: number): number;
  /** Height of what stays above the rows. */
  head?: number;
  key?(index: number): string;
}

export function useRows({ count, scroller, size, head = 0, key }: Options): Rows {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: size,
    overscan: 8,
    paddingStart: 0,
    scrollMargin: 0,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    ...(key ? { getItemKey: key } : {}),
    onChange: (_: unknown, isScrolling: boolean) => {
      void isScrolling;
      redraw(0);
    },
  };
  const [list] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  list.setOptions({ ...options, initialRect: { width: 800, height: 600 } });
  useLayoutEffect(() => list._didMount(), []);
  useLayoutEffect(() => list._willUpdate());
  const known = useRef(count);
  if (known.current !== count) {
    known.current = count;
    list.measure();
  }
  return {
    items: list.getVirtualItems(),
    height: list.getTotalSize(),
    measure: (element) => list.measureElement(element),
    reveal(index) {
      const box = scroller.current;
      const item = list.measurementsCache[index];
      if (!box || !item) return;
      const top = box.scrollTop;
      const room = box.clientHeight - head;
      if (item.start >= top && item.end <= top + room) return;
      box.scrollTop = Math.max(0, item.start - room / 3);
    },
  };
}
