// The cells of a matrix: as rows of a table, as places of a heat map, and the figures in them.

import { writtenIn } from "../format";
import type { ColumnSpec, MatrixCell, MatrixRow } from "../wire";

export interface CellRow extends MatrixCell {
  kernel: string;
  target: string;
}

export function cellRows(rows: readonly MatrixRow[], targets: readonly string[]): CellRow[] {
  return rows.flatMap((row) =>
    row.cells.flatMap((cell, at) =>
      cell ? [{ ...cell, kernel: row.kernel, target: targets[at] ?? "" }] : [],
    ),
  );
}

export interface Spot {
  row: number;
  column: number;
}

/** Where the cell of this id is, or null. */
export function spotOf(rows: readonly MatrixRow[], id: string | null): Spot | null {
  if (id === null) return null;
  for (const [row, { cells }] of rows.entries()) {
    const column = cells.findIndex((cell) => cell?.id === id);
    if (column >= 0) return { row, column };
  }
  return null;
}

const STEPS: Record<string, readonly [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The cell that an arrow key leads to; places without one are passed over. */
export function nextCell<Cell>(
  rows: readonly { cells: readonly (Cell | null)[] }[],
  from: Spot | null,
  key: string,
): Cell | null {
  const step = STEPS[key];
  if (!step) return null;
  if (!from) return rows.flatMap((row) => row.cells.filter((cell) => cell !== null))[0] ?? null;
  let { row, column } = from;
  for (;;) {
    row += step[0];
    column += step[1];
    const cell = rows[row]?.cells[column];
    if (cell === undefined) return null;
    if (cell !== null) return cell;
  }
}

/** The cell that stands beside the selected one for a comparison: of the same kernel, with code. */
export function partnerOf(
  rows: readonly MatrixRow[],
  selected: string | null,
  marked: string | null,
): MatrixCell | null {
  const here = spotOf(rows, selected);
  const there = spotOf(rows, marked);
  if (!here || !there || here.row !== there.row || here.column === there.column) return null;
  return rows[there.row]?.cells[there.column] ?? null;
}

export type FigureId = "registers" | "spills" | "smem_bytes" | "occupancy" | "instructions" | Time;
type Time = "bound_us" | "modelled_us";

/** `words` is a sentence on what is counted; more of it is better where it `isGood`. */
export interface MatrixFigure {
  id: FigureId;
  title: string;
  words: string;
  write(value: number): string;
  isEstimate: boolean;
  isGood: boolean;
}

/** What a column of the table does not say of its figure. */
const MORE: Record<FigureId, { title?: string; isEstimate?: boolean; isGood?: boolean }> = {
  registers: {},
  spills: {},
  smem_bytes: { title: "Shared memory" },
  occupancy: { title: "Occupancy", isEstimate: true, isGood: true },
  instructions: {},
  bound_us: { title: "Roofline bound", isEstimate: true },
  modelled_us: { title: "Modelled", isEstimate: true },
};

/** The figures that the table of the cells has columns for. */
export function figuresOf(specs: readonly ColumnSpec[]): MatrixFigure[] {
  return specs.flatMap(({ key, title, unit = "", hint = "" }) => {
    const id = (Object.keys(MORE) as FigureId[]).find((figure) => figure === key);
    const write = (value: number) => writtenIn(unit, value);
    const said = { title, words: hint, write, isEstimate: false, isGood: false };
    return id === undefined ? [] : [{ id, ...said, ...MORE[id] }];
  });
}

export function valueOf(cell: MatrixCell | null, figure: MatrixFigure): number | null {
  return cell === null ? null : cell[figure.id];
}

/** What stands below the GPUs: of all kernels the sum, or the one that asks for most. */
export interface Total {
  words: string;
  values: (number | null)[];
}

const SUMS: readonly FigureId[] = ["bound_us", "modelled_us", "spills", "instructions"];

/**
 * A figure of all kernels that have it on every GPU: other sums would be of different kernels.
 * What one call runs several times counts as often.
 */
export function totalOf(
  rows: readonly MatrixRow[],
  figure: MatrixFigure,
  count: number,
  callsOf: (kernel: string) => number,
): Total {
  const isSum = SUMS.includes(figure.id);
  const whole = rows.filter(
    ({ cells }) => cells.length === count && cells.every((cell) => valueOf(cell, figure) !== null),
  );
  const values = Array.from({ length: count }, (_, at) => {
    const known = whole.map(({ kernel, cells }) => {
      const times = figure.id.endsWith("_us") ? callsOf(kernel) : 1;
      return (valueOf(cells[at] ?? null, figure) ?? 0) * (isSum ? times : 1);
    });
    if (!known.length) return null;
    if (isSum) return known.reduce((sum, value) => sum + value, 0);
    return figure.isGood ? Math.min(...known) : Math.max(...known);
  });
  if (!isSum) return { words: figure.isGood ? "Least of all" : "Most of all", values };
  const isOften = figure.id.endsWith("_us") && whole.some(({ kernel }) => callsOf(kernel) > 1);
  const words = whole.length < rows.length ? `Total of ${whole.length}` : "Total";
  return { words: isOften ? `${words}, all calls` : words, values };
}

/** The rows, those that differ most in this figure first; among equal ones, most in all. */
export function inOrder(rows: readonly MatrixRow[], figure: MatrixFigure): MatrixRow[] {
  const spread = (row: MatrixRow) => row.spreads[figure.id] ?? -1;
  return [...rows].sort((a, b) => spread(b) - spread(a) || b.spread - a.spread);
}

/**
 * How far a cell is from the best of its row, as a part of the largest: 0 to 1.
 *
 * What is counted in code compares GPUs of one vendor, a bound all of them.
 */
export function shadeOf(cell: MatrixCell, row: MatrixRow, figure: MatrixFigure): number {
  const value = cell[figure.id] ?? 0;
  const isLike = (other: MatrixCell | null) =>
    figure.id.endsWith("_us") || other?.vendor === cell.vendor;
  const known = row.cells.filter(isLike).flatMap((other) => valueOf(other, figure) ?? []);
  const most = Math.max(...known);
  if (!(most > 0)) return 0;
  return figure.isGood ? (most - value) / most : (value - Math.min(...known)) / most;
}
