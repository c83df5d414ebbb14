// Where the marks of the charts of a sweep stand; numbers only.

import { amount } from "../../format";
import { roundStep } from "../../lists";
import type { SweepRow } from "./wire";

const MANY = 10_000;

/** Round numbers from `low` to `high`, about `count` of them; one at least. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const step = roundStep(span / Math.max(1, count));
  const found: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n++)
    found.push(Number((n * step).toPrecision(12)));
  return found.length ? found : [low];
}

/** Numbers of one axis, all with the decimals that one of them needs. */
export function tickTexts(values: readonly number[]): string[] {
  if (values.some((value) => Math.abs(value) >= MANY)) return values.map(amount);
  const decimals = values.map((value) => String(value).split(".")[1]?.length ?? 0);
  return values.map((value) => value.toFixed(Math.max(0, ...decimals)));
}

/** A value from one range as a place in another; a range without width gives its middle. */
export function place(value: number, from: [number, number], to: [number, number]): number {
  const [low, high] = from;
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return to[0] + share * (to[1] - to[0]);
}

export interface Spot {
  row: SweepRow;
  x: number;
  y: number;
}

/** The spots of the rows of each front, in its order. */
export function frontsOf(fronts: readonly string[][], spots: readonly Spot[]): Spot[][] {
  const known = new Map(spots.map((spot) => [spot.row.id, spot]));
  return fronts.map((ids) => ids.flatMap((id) => known.get(id) ?? []));
}

export interface Cell {
  row: SweepRow;
  value: number;
  /** From 0, the best, to 1, the worst. */
  shade: number;
}

/** The best row for each pair of values; `down` may be the axis `across`: then one line. */
export function cells(
  rows: readonly SweepRow[],
  [across, down]: [number, number],
  figure: (row: SweepRow) => number | null,
  isMore: boolean,
): Map<string, Cell> {
  const found = new Map<string, Cell>();
  for (const row of rows) {
    const value = figure(row);
    const x = row.settings[across];
    const y = across === down ? "" : row.settings[down];
    if (value === null || x == null || y == null) continue;
    const key = cellKey(y, x);
    const before = found.get(key);
    if (!before || (isMore ? value > before.value : value < before.value))
      found.set(key, { row, value, shade: 0 });
  }
  const values = [...found.values()].map((cell) => cell.value);
  const range: [number, number] = [Math.min(...values), Math.max(...values)];
  for (const cell of found.values())
    cell.shade = range[0] === range[1] ? 0 : place(cell.value, range, isMore ? [1, 0] : [0, 1]);
  return found;
}

export function cellKey(down: string, across: string): string {
  return `${down}\n${across}`;
}

/** The values of an axis from top to bottom, as shares of the height. */
export function rail(count: number, at: number): number {
  return count < 2 ? 0.5 : at / (count - 1);
}
