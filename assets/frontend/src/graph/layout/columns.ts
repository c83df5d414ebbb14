// The column of every box: after all boxes that it reads, inputs just before their first reader.

/** Pairs of box indexes; a box that reads itself or is read back (a cycle) does no harm. */
export interface Columns {
  of: Int32Array;
  /** Boxes by column, each column in the order from top to bottom. */
  list: number[][];
}

export function columns(
  count: number,
  edges: readonly (readonly [number, number])[],
  isLeaf: (box: number) => boolean,
): Columns {
  const inputs: number[][] = Array.from({ length: count }, () => []);
  const outputs: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) {
    inputs[to]!.push(from);
    outputs[from]!.push(to);
  }
  const of = new Int32Array(count);
  const order = topological(inputs, outputs);
  const place = new Int32Array(count);
  order.forEach((box, at) => (place[box] = at));
  for (const box of order)
    for (const input of inputs[box]!)
      if (place[input]! < place[box]!) of[box] = Math.max(of[box]!, of[input]! + 1);
  for (let at = count - 1; at >= 0; at--) {
    const box = order[at]!;
    if (!isLeaf(box) || inputs[box]!.length > 0 || outputs[box]!.length === 0) continue;
    of[box] = Math.max(0, Math.min(...outputs[box]!.map((reader) => of[reader]!)) - 1);
  }
  return unstacked(of, ordered(of, order, inputs, outputs));
}

const MOST_STACKED = 14;

/** A column of very many boxes becomes several: nothing in it depends on anything else in it. */
function unstacked(of: Int32Array, list: number[][]): Columns {
  const cut = list.flatMap((boxes) => {
    const parts = Math.max(1, Math.ceil(boxes.length / MOST_STACKED));
    const size = Math.ceil(boxes.length / parts);
    return Array.from({ length: parts }, (_, at) => boxes.slice(at * size, (at + 1) * size));
  });
  cut.forEach((boxes, column) => boxes.forEach((box) => (of[box] = column)));
  return { of, list: cut };
}

/** Depends on the order of boxes alone where a cycle leaves no choice: the earliest goes first. */
function topological(inputs: number[][], outputs: number[][]): number[] {
  const count = inputs.length;
  const waiting = inputs.map((each) => each.length);
  const done = new Uint8Array(count);
  const ready: number[] = [];
  for (let box = 0; box < count; box++) if (waiting[box] === 0) ready.push(box);
  const order: number[] = [];
  let first = 0;
  let next = 0;
  while (order.length < count) {
    if (next >= ready.length) {
      while (done[first]) first++;
      ready.push(first);
    }
    const box = ready[next++]!;
    if (done[box]) continue;
    done[box] = 1;
    order.push(box);
    for (const reader of outputs[box]!) {
      waiting[reader]!--;
      if (waiting[reader] === 0 && !done[reader]) ready.push(reader);
    }
  }
  return order;
}

/** Two sweeps over the means of neighbours, which is enough for columns of a few boxes. */
function ordered(
  of: Int32Array,
  order: number[],
  inputs: number[][],
  outputs: number[][],
): number[][] {
  const list: number[][] = [];
  for (const box of order) (list[of[box]!] ??= []).push(box);
  for (let column = 0; column < list.length; column++) list[column] ??= [];
  const at = new Float64Array(of.length);
  const number = () =>
    list.forEach((boxes) => boxes.forEach((box, i) => (at[box] = centred(i, boxes.length))));
  number();
  for (const near of [inputs, outputs, inputs]) {
    const sweep = near === inputs ? list : [...list].reverse();
    for (const boxes of sweep) {
      const wish = new Map(boxes.map((box) => [box, mean(near[box]!, at) ?? at[box]!]));
      boxes.sort((a, b) => wish.get(a)! - wish.get(b)! || a - b);
      boxes.forEach((box, i) => (at[box] = centred(i, boxes.length)));
    }
  }
  return list;
}

function centred(at: number, count: number): number {
  return at - (count - 1) / 2;
}

function mean(boxes: number[], at: Float64Array): number | null {
  if (boxes.length === 0) return null;
  let sum = 0;
  for (const box of boxes) sum += at[box]!;
  return sum / boxes.length;
}
