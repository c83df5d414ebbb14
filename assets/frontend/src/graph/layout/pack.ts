// The inside of an open box: rows by what reads what, side lanes for edges that skip rows.
//
// Layers and order of the whole graph come from Python. This only packs the few nodes of one box,
// because the reader opens, closes and hides at will and a saved page has no Python to ask.

export const NODE_W = 104;
export const NODE_H = 22;
const GAP_X = 14;
const GAP_Y = 15;
const PAD = 10;
const TITLE_H = 42; // two lines: the name, then cost and shape
const LANE = 7;
const MOST_IN_ROW = 4;

export interface Inside {
  width: number;
  height: number;
  /** Left top corner of each node, relative to the box. */
  x: number[];
  y: number[];
  row: number[];
  isFirst: boolean[];
  isLast: boolean[];
  /** From, to (indexes into the box), then points. */
  edges: { from: number; to: number; points: number[] }[];
}

/** `order` decides left to right; `edges` are pairs of indexes into the box's nodes, in FX order. */
export function pack(
  order: readonly number[],
  edges: readonly (readonly [number, number])[],
  hasTitle: boolean,
): Inside {
  const rows = rowsOf(order, edges);
  const count = order.length;
  const inside: Inside = {
    width: 0,
    height: 0,
    x: new Array<number>(count).fill(0),
    y: new Array<number>(count).fill(0),
    row: new Array<number>(count).fill(0),
    isFirst: new Array<boolean>(count).fill(false),
    isLast: new Array<boolean>(count).fill(false),
    edges: [],
  };
  const widest = Math.max(...rows.map((row) => row.length));
  const content = widest * NODE_W + (widest - 1) * GAP_X;
  const lanes = laneOf(rows, edges, inside.row);
  const pad = hasTitle ? PAD : 0;
  const top = hasTitle ? TITLE_H : 0;
  rows.forEach((row, level) => {
    const width = row.length * NODE_W + (row.length - 1) * GAP_X;
    row.forEach((node, at) => {
      inside.x[node] = pad + (content - width) / 2 + at * (NODE_W + GAP_X);
      inside.y[node] = top + level * (NODE_H + GAP_Y);
      inside.isFirst[node] = at === 0;
      inside.isLast[node] = at === row.length - 1;
    });
  });
  const laneCount = Math.max(0, ...[...lanes.values()].map((lane) => lane + 1));
  const side = laneCount ? laneCount * LANE + 4 : 0;
  inside.width = content + pad * 2 + side;
  inside.height = top + rows.length * (NODE_H + GAP_Y) - GAP_Y + pad;
  for (const [from, to] of edges)
    inside.edges.push({ from, to, points: route(inside, from, to, pad + content, lanes) });
  return inside;
}

function rowsOf(
  order: readonly number[],
  edges: readonly (readonly [number, number])[],
): number[][] {
  const level = new Array<number>(order.length).fill(0);
  for (const [from, to] of edges) level[to] = Math.max(level[to]!, level[from]! + 1);
  const rows: number[][] = [];
  level.forEach((each, node) => (rows[each] ??= []).push(node));
  const packed: number[][] = [];
  for (const row of rows) {
    row.sort((a, b) => order[a]! - order[b]!);
    for (let at = 0; at < row.length; at += MOST_IN_ROW)
      packed.push(row.slice(at, at + MOST_IN_ROW));
  }
  return packed;
}

/** A lane per node whose value skips a row; readers of one value share it. Fills in `row`. */
function laneOf(
  rows: number[][],
  edges: readonly (readonly [number, number])[],
  row: number[],
): Map<number, number> {
  rows.forEach((nodes, level) => nodes.forEach((node) => (row[node] = level)));
  const reach = new Map<number, number>();
  for (const [from, to] of edges)
    if (row[to]! - row[from]! > 1) reach.set(from, Math.max(reach.get(from) ?? 0, row[to]!));
  const lanes = new Map<number, number>();
  const ends: number[] = [];
  for (const [from, end] of [...reach].sort((a, b) => row[a[0]]! - row[b[0]]!)) {
    let lane = ends.findIndex((taken) => taken <= row[from]!);
    if (lane < 0) lane = ends.length;
    ends[lane] = end;
    lanes.set(from, lane);
  }
  return lanes;
}

function route(
  inside: Inside,
  from: number,
  to: number,
  right: number,
  lanes: Map<number, number>,
): number[] {
  const x1 = inside.x[from]! + NODE_W / 2;
  const y1 = inside.y[from]! + NODE_H;
  const x2 = inside.x[to]! + NODE_W / 2;
  const y2 = inside.y[to]!;
  if (inside.row[to]! - inside.row[from]! === 1) return [x1, y1, x2, y2];
  const lane = right + 6 + (lanes.get(from) ?? 0) * LANE;
  const points = inside.isLast[from]
    ? [x1 + NODE_W / 2, y1 - NODE_H / 2, lane, y1 - NODE_H / 2]
    : [x1, y1, x1, y1 + GAP_Y / 2, lane, y1 + GAP_Y / 2];
  if (inside.isLast[to]) points.push(lane, y2 + NODE_H / 2, x2 + NODE_W / 2, y2 + NODE_H / 2);
  else points.push(lane, y2 - GAP_Y / 2, x2, y2 - GAP_Y / 2, x2, y2);
  return points;
}
