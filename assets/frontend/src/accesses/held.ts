// Who holds which element: places from bases, an element's place being the XOR of its bits' bases.

export type Bases = readonly (readonly (readonly number[])[])[];

/** Who holds an element; `lane` and `register` are within the warp and the thread. */
export interface Holder {
  warp: number;
  lane: number;
  register: number;
}

export interface Grid {
  rows: number;
  columns: number;
  warps: number;
  lanes: number;
  /** Of each element, row by row, all who hold it. */
  holders: readonly (readonly Holder[])[];
}

/** A block of one or two axes; more axes are drawn as rows of the last one. */
export function gridOf(shape: readonly number[], bases: Bases): Grid {
  const [registers = [], lanes = [], warps = []] = bases;
  const columns = shape.at(-1) ?? 1;
  const rows = shape.slice(0, -1).reduce((a, b) => a * b, 1);
  const holders: Holder[][] = Array.from({ length: rows * columns }, () => []);
  const flat = (place: readonly number[]) =>
    place.reduce((total, at, axis) => total * (shape[axis] ?? 1) + at, 0);
  const zero = shape.map(() => 0);
  for (const [warp, a] of spread(warps, zero).entries())
    for (const [lane, b] of spread(lanes, a).entries())
      for (const [register, c] of spread(registers, b).entries())
        holders[flat(c)]?.push({ warp, lane, register });
  return { rows, columns, holders, warps: 1 << warps.length, lanes: 1 << lanes.length };
}

function spread(bases: readonly (readonly number[])[], from: readonly number[]) {
  let made: (readonly number[])[] = [from];
  for (const base of bases)
    made = [...made, ...made.map((place) => place.map((at, axis) => at ^ (base[axis] ?? 0)))];
  return made;
}

/** The sectors that lanes touch, in order, each with the bytes of it that each lane moves. */
export interface Sector {
  number: number;
  parts: readonly { lane: number; from: number; to: number }[];
}

export function sectorsOf(lanes: readonly number[], width: number, size: number): Sector[] {
  const found = new Map<number, Sector["parts"][number][]>();
  for (const [lane, at] of lanes.entries()) {
    if (at < 0) continue;
    for (let n = Math.floor(at / size); n * size < at + width; n++) {
      const from = Math.max(0, at - n * size);
      const to = Math.min(size, at + width - n * size);
      found.set(n, [...(found.get(n) ?? []), { lane, from, to }]);
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([number, parts]) => ({ number, parts }));
}
