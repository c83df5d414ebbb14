// The way of every edge between two boxes: in the gaps between columns, in lanes above a row.

import { type Flow, GAP_COLUMN, LANE, type Room, type Size, TRACK } from "./flow";

/** An end of an edge: where it leaves or enters its box, seen from outside. */
export interface End {
  box: number;
  y: number;
}

/** Edges with the same `net` carry the same value and share lanes and tracks. */
export interface Wire {
  net: number;
  from: End;
  to: End;
}

export interface Way {
  points: number[];
  /** A free S between neighbours; otherwise corners. */
  isCurve: boolean;
  /** Too long to be read: drawn for the selection only. */
  isRail: boolean;
}

interface Routed {
  ways: Way[];
  room: Room;
}

const FAR = 14; // columns: what spans more is a rail
const MOST_LANES = 10;
const MOST_TRACKS = 12;
const MARGIN_X = 10;

/** Slots that are taken: greedy colouring of intervals, one colour per net. */
class Slots {
  private readonly taken: { from: number; to: number; net: number }[][] = [];
  constructor(private readonly most: number) {}

  get count(): number {
    return this.taken.length;
  }

  take(net: number, from: number, to: number): number {
    const low = Math.min(from, to);
    const high = Math.max(from, to);
    for (let slot = 0; slot < this.taken.length; slot++) {
      const clash = this.taken[slot]!.some(
        (each) => each.net !== net && each.from < high + 10 && each.to > low - 10,
      );
      if (clash) continue;
      this.taken[slot]!.push({ from: low, to: high, net });
      return slot;
    }
    if (this.taken.length >= this.most) return ((net % this.most) + this.most) % this.most;
    this.taken.push([{ from: low, to: high, net }]);
    return this.taken.length - 1;
  }
}

class Router {
  private readonly lanes: Slots[] = [];
  /** By column on their left; before the first column of a row: minus that column, minus one. */
  private readonly tracks = new Map<number, Slots>();
  private readonly margin = new Slots(MOST_TRACKS);
  private readonly firsts: Set<number>;

  constructor(
    private readonly flow: Flow,
    private readonly boxes: readonly (readonly number[])[],
    private readonly sizes: readonly Size[],
  ) {
    this.firsts = new Set(flow.first);
  }

  room(): Room {
    return {
      lanes: this.flow.top.map((_, row) => this.lanes[row]?.count ?? 0),
      tracks: this.flow.left.map((_, column) => this.tracks.get(column)?.count ?? 0),
      margin: this.margin.count,
    };
  }

  way(wire: Wire): Way {
    const { flow } = this;
    const rowA = flow.row[wire.from.box]!;
    const rowB = flow.row[wire.to.box]!;
    const a = flow.column[wire.from.box]!;
    const b = flow.column[wire.to.box]!;
    if (rowA === rowB && b > a && b - a <= FAR) {
      const free = this.straight(wire, a, b);
      if (free) return free;
    }
    const isRail = Math.abs(rowB - rowA) > 1 || b <= a || b - a > FAR;
    if (rowA === rowB) return this.overRow(wire, a, b, rowA, isRail);
    return this.overRows(wire, a, b, rowA, rowB, isRail && !this.follows(rowA, rowB, a, b));
  }

  /** From the end of a row to the start of the next is the flow itself, however long. */
  private follows(rowA: number, rowB: number, a: number, b: number): boolean {
    return rowB === rowA + 1 && b - a <= FAR;
  }

  /** Without a bend where the way at either end's height is free. */
  private straight(wire: Wire, a: number, b: number): Way | null {
    const { flow } = this;
    const x1 = this.rightOf(wire.from.box);
    const x2 = this.leftOf(wire.to.box);
    const { y: y1 } = wire.from;
    const { y: y2 } = wire.to;
    if (this.isFree(y1, a + 1, b - 1)) {
      const gap = flow.left[b]! - GAP_COLUMN;
      const from = Math.max(x1, b === a + 1 ? flow.right[a]! : gap);
      return curve([x1, y1, from, y1, flow.left[b]!, y2, x2, y2]);
    }
    if (!this.isFree(y2, a + 1, b - 1)) return null;
    const right = flow.right[a]!;
    return curve([x1, y1, right, y1, right + GAP_COLUMN, y2, x2, y2]);
  }

  private isFree(y: number, from: number, to: number): boolean {
    for (let column = from; column <= to; column++)
      for (const box of this.boxes[column]!) {
        const top = this.flow.y[box]!;
        if (y > top - 8 && y < top + this.sizes[box]!.height + 8) return false;
      }
    return true;
  }

  private overRow(wire: Wire, a: number, b: number, row: number, isRail: boolean): Way {
    const { flow } = this;
    const lane = this.lane(wire.net, row, flow.right[a]!, flow.left[b]!);
    const out = this.trackAfter(wire.net, a, wire.from.y, lane);
    const into = this.trackBefore(wire.net, b, lane, wire.to.y);
    return corners(
      [
        this.rightOf(wire.from.box),
        wire.from.y,
        out,
        wire.from.y,
        out,
        lane,
        into,
        lane,
        into,
        wire.to.y,
        this.leftOf(wire.to.box),
        wire.to.y,
      ],
      isRail,
    );
  }

  private overRows(
    wire: Wire,
    a: number,
    b: number,
    rowA: number,
    rowB: number,
    isRail: boolean,
  ): Way {
    const { flow } = this;
    const next = rowB > rowA ? rowA + 1 : rowA;
    const points = [this.rightOf(wire.from.box), wire.from.y];
    if (next === rowB) {
      const lane = this.lane(wire.net, rowB, flow.right[a]!, flow.left[b]!);
      const out = this.trackAfter(wire.net, a, wire.from.y, lane);
      const into = this.trackBefore(wire.net, b, lane, wire.to.y);
      points.push(out, wire.from.y, out, lane, into, lane, into, wire.to.y);
    } else {
      const first = this.lane(wire.net, next, 0, flow.right[a]!);
      const last = this.lane(wire.net, rowB, 0, flow.left[b]!);
      const out = this.trackAfter(wire.net, a, wire.from.y, first);
      const side = MARGIN_X + this.margin.take(wire.net, first, last) * TRACK;
      const into = this.trackBefore(wire.net, b, last, wire.to.y);
      points.push(out, wire.from.y, out, first, side, first, side, last, into, last);
      points.push(into, wire.to.y);
    }
    points.push(this.leftOf(wire.to.box), wire.to.y);
    return corners(points, isRail);
  }

  private lane(net: number, row: number, from: number, to: number): number {
    const slots = (this.lanes[row] ??= new Slots(MOST_LANES));
    return this.flow.top[row]! - 14 - slots.take(net, from, to) * LANE;
  }

  /** The vertical in the gap right of a column. */
  private trackAfter(net: number, column: number, from: number, to: number): number {
    const slots = this.gap(column);
    return this.flow.right[column]! + 10 + slots.take(net, from, to) * TRACK;
  }

  /** The vertical in the gap left of a column, seen from its right end. */
  private trackBefore(net: number, column: number, from: number, to: number): number {
    const slots = this.gap(this.firsts.has(column) ? -1 - column : column - 1);
    return this.flow.left[column]! - 10 - (slots.take(net + 0.5, from, to) % 4) * TRACK;
  }

  private gap(index: number): Slots {
    let slots = this.tracks.get(index);
    if (!slots) this.tracks.set(index, (slots = new Slots(MOST_TRACKS)));
    return slots;
  }

  private rightOf(box: number): number {
    return this.flow.x[box]! + this.sizes[box]!.width;
  }

  private leftOf(box: number): number {
    return this.flow.x[box]!;
  }
}

function curve(points: number[]): Way {
  return { points, isCurve: true, isRail: false };
}

function corners(points: number[], isRail: boolean): Way {
  return { points, isCurve: false, isRail };
}

export function route(
  wires: readonly Wire[],
  flow: Flow,
  boxes: readonly (readonly number[])[],
  sizes: readonly Size[],
): Routed {
  const router = new Router(flow, boxes, sizes);
  return { ways: wires.map((wire) => router.way(wire)), room: router.room() };
}
