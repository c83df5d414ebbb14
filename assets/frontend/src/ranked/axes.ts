// The configurations of a static sweep over two of their parameters.

import type { Ranked } from "../wire";

/** The parameters of a configuration: the sizes of its blocks, its warps, its stages. */
export function parameters(row: Ranked): Record<string, number> {
  return { ...row.sizes, warps: row.warps, stages: row.stages };
}

/** The parameters that take more than one value, the sizes of blocks first. */
export function varied(rows: readonly Ranked[]): string[] {
  const values = new Map<string, Set<number>>();
  for (const row of rows)
    for (const [name, value] of Object.entries(parameters(row)))
      values.set(name, (values.get(name) ?? new Set()).add(value));
  const found = [...values].filter(([, known]) => known.size > 1).map(([name]) => name);
  const isOwn = (name: string) => (name === "warps" ? 1 : name === "stages" ? 2 : 0);
  return found.sort((a, b) => isOwn(a) - isOwn(b));
}

/** The two parameters to begin with: the first size of a block, and the warps if they vary. */
export function firstAxes(names: readonly string[]): [string, string] {
  const down = names[0] ?? "warps";
  const across = names.includes("warps") && down !== "warps" ? "warps" : names[1];
  return [down, across ?? (down === "warps" ? "stages" : "warps")];
}

export interface Tile {
  /** The best configuration with these two values, and how many there are. */
  best: Ranked;
  count: number;
}

export interface Plane {
  down: number[];
  across: number[];
  tiles: (Tile | null)[][];
}

/** For each pair of values the configuration that the model puts first. */
export function planeOf(rows: readonly Ranked[], down: string, across: string): Plane {
  const valuesOf = (name: string) =>
    [...new Set(rows.map((row) => parameters(row)[name] ?? 0))].sort((a, b) => a - b);
  const plane = { down: valuesOf(down), across: valuesOf(across) };
  const tiles = plane.down.map((y) =>
    plane.across.map((x) => {
      const here = rows.filter((row) => {
        const own = parameters(row);
        return (own[down] ?? 0) === y && (own[across] ?? 0) === x;
      });
      const [best] = [...here].sort(byRank);
      return best ? { best, count: here.length } : null;
    }),
  );
  return { ...plane, tiles };
}

export function byRank(a: Ranked, b: Ranked): number {
  const last = Number.POSITIVE_INFINITY;
  return (a.rank ?? last) - (b.rank ?? last) || (a.model_us ?? last) - (b.model_us ?? last) || 0;
}

/** How much slower the model finds a configuration than the best, as a part of the slowest. */
export function slowness(row: Ranked, rows: readonly Ranked[]): number {
  const known = rows.flatMap((each) => each.model_us ?? []);
  const most = Math.max(...known, 0);
  if (row.model_us === null || !(most > 0)) return 0;
  return (row.model_us - Math.min(...known)) / most;
}

/** A kernel on a GPU whose configurations were ranked. */
export function subjects(rows: readonly Ranked[]): { kernel: string; target: string }[] {
  const found = new Map(rows.map((row) => [`${row.kernel} ${row.target}`, row]));
  return [...found.values()].map(({ kernel, target }) => ({ kernel, target }));
}
