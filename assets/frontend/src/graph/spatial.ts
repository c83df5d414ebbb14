// A grid over the scene, so that drawing and hit tests touch only what is near.

import type { Rect } from "./viewport";

const CELL = 512;

/** Items by number; an item may lie in many cells and is still reported once. */
export class Grid {
  private readonly cells = new Map<number, number[]>();
  private readonly stamp: Int32Array;
  private turn = 0;

  constructor(count: number) {
    this.stamp = new Int32Array(count);
  }

  add(item: number, x: number, y: number, width: number, height: number): void {
    for (const cell of cellsOf(x, y, width, height)) {
      const known = this.cells.get(cell);
      if (!known) this.cells.set(cell, [item]);
      else if (known[known.length - 1] !== item) known.push(item);
    }
  }

  /** Items whose cells touch the rectangle, without order. */
  near(rect: Rect): number[] {
    const turn = ++this.turn;
    const found: number[] = [];
    for (const cell of cellsOf(rect.x, rect.y, rect.width, rect.height))
      for (const item of this.cells.get(cell) ?? [])
        if (this.stamp[item] !== turn) {
          this.stamp[item] = turn;
          found.push(item);
        }
    return found;
  }
}

function* cellsOf(x: number, y: number, width: number, height: number): Generator<number> {
  const right = Math.floor((x + width) / CELL);
  const bottom = Math.floor((y + height) / CELL);
  for (let row = Math.floor(y / CELL); row <= bottom; row++)
    for (let column = Math.floor(x / CELL); column <= right; column++) yield row * 65_536 + column;
}

/** Adds a polyline segment by segment: its bounding box may cover half of the graph. */
export function addLine(grid: Grid, item: number, points: readonly number[]): void {
  for (let at = 0; at + 3 < points.length; at += 2) {
    const [x1, y1, x2, y2] = [points[at]!, points[at + 1]!, points[at + 2]!, points[at + 3]!];
    grid.add(item, Math.min(x1, x2), Math.min(y1, y2), Math.abs(x2 - x1), Math.abs(y2 - y1));
  }
}
