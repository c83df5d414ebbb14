// Boxes from left to right, wrapped into rows that fill the pane.

import type { Columns } from "./columns";

export const GAP_COLUMN = 46;
const GAP_STACK = 34;
const GAP_ROW = 30;
export const LANE = 8;
export const TRACK = 6;
const MARGIN = 24;

export interface Size {
  width: number;
  height: number;
}

/** How many lanes each row needs above it, how many tracks each column's right gap, the margin. */
export interface Room {
  lanes: number[];
  tracks: number[];
  margin: number;
}

export interface Flow {
  x: Float64Array;
  y: Float64Array;
  row: Int32Array;
  column: Int32Array;
  /** Left and right edge of each column. */
  left: number[];
  right: number[];
  /** First and last column of each row. */
  first: number[];
  last: number[];
  top: number[];
  bottom: number[];
  width: number;
  height: number;
}

/** The last column of each row, for the width of pane that shows everything largest. */
export function wrap(columns: Columns, sizes: readonly Size[], aspect: number): number[] {
  const widths = columns.list.map((boxes) => Math.max(0, ...boxes.map((box) => sizes[box]!.width)));
  const heights = columns.list.map((boxes) => stackHeight(boxes, sizes));
  const total = widths.reduce((sum, width) => sum + width + GAP_COLUMN, 0);
  let best: number[] = [widths.length - 1];
  let bestScale = 0;
  const most = Math.min(widths.length, 400);
  for (let rows = 1; rows <= most; rows = rows < 12 ? rows + 1 : Math.ceil(rows * 1.15)) {
    const breaks = breakAt(widths, total / rows);
    const size = extent(breaks, widths, heights);
    const scale = Math.min(aspect / size.width, 1 / size.height);
    if (scale <= bestScale) continue;
    bestScale = scale;
    best = breaks;
  }
  return best;
}

function breakAt(widths: number[], target: number): number[] {
  const breaks: number[] = [];
  let used = 0;
  widths.forEach((width, column) => {
    if (used > 0 && used + width > target * 1.04) {
      breaks.push(column - 1);
      used = 0;
    }
    used += width + GAP_COLUMN;
  });
  breaks.push(widths.length - 1);
  return breaks;
}

function extent(breaks: number[], widths: number[], heights: number[]): Size {
  let first = 0;
  let width = 1;
  let height = 0;
  for (const last of breaks) {
    let row = 0;
    let tallest = 0;
    for (let column = first; column <= last; column++) {
      row += widths[column]! + GAP_COLUMN;
      tallest = Math.max(tallest, heights[column]!);
    }
    width = Math.max(width, row);
    height += tallest + GAP_ROW + 30;
    first = last + 1;
  }
  return { width, height: Math.max(1, height) };
}

function stackHeight(boxes: readonly number[], sizes: readonly Size[]): number {
  return boxes.reduce((sum, box) => sum + sizes[box]!.height + GAP_STACK, -GAP_STACK);
}

/** Places every box; `room` widens gaps for the edges that run in them. */
export function flow(
  columns: Columns,
  sizes: readonly Size[],
  breaks: readonly number[],
  room: Room,
): Flow {
  const count = sizes.length;
  const made: Flow = {
    x: new Float64Array(count),
    y: new Float64Array(count),
    row: new Int32Array(count),
    column: columns.of,
    left: [],
    right: [],
    first: [],
    last: [],
    top: [],
    bottom: [],
    width: 0,
    height: 0,
  };
  let first = 0;
  let y = 0;
  breaks.forEach((last, row) => {
    const inRow = columns.list.slice(first, last + 1);
    const height = Math.max(0, ...inRow.map((boxes) => stackHeight(boxes, sizes)));
    y += GAP_ROW + (room.lanes[row] ?? 0) * LANE;
    made.first.push(first);
    made.last.push(last);
    made.top.push(y);
    made.bottom.push(y + height);
    let x = MARGIN + room.margin * TRACK;
    for (let column = first; column <= last; column++) {
      x = placeColumn(made, columns.list[column]!, sizes, x, y + height / 2, row);
      made.left[column] ??= x;
      x += GAP_COLUMN + Math.max(0, (room.tracks[column] ?? 0) - 3) * TRACK;
    }
    made.width = Math.max(made.width, x - GAP_COLUMN + MARGIN);
    y += height;
    first = last + 1;
  });
  made.height = y + GAP_ROW;
  return made;
}

/** Stacks one column around the middle of its row; returns its right edge. */
function placeColumn(
  made: Flow,
  boxes: readonly number[],
  sizes: readonly Size[],
  x: number,
  middle: number,
  row: number,
): number {
  const width = Math.max(0, ...boxes.map((box) => sizes[box]!.width));
  const column = boxes.length > 0 ? made.column[boxes[0]!]! : made.left.length;
  made.left[column] = x;
  made.right[column] = x + width;
  let y = middle - stackHeight(boxes, sizes) / 2;
  for (const box of boxes) {
    made.x[box] = x + (width - sizes[box]!.width) / 2;
    made.y[box] = y;
    made.row[box] = row;
    y += sizes[box]!.height + GAP_STACK;
  }
  return x + width;
}
