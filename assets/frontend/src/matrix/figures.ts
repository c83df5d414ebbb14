// The figures of a matrix: what they are called, how they are written, how they are shaded.

import { bytes, microseconds, percent, whole } from "../format";
import type { MatrixCell, MatrixRow } from "../wire";

export type FigureId =
  "registers" | "spills" | "smem_bytes" | "occupancy" | "instructions" | "bound_us";

export interface MatrixFigure {
  id: FigureId;
  /** On the button. */
  title: string;
  /** In the head of a column. */
  short: string;
  /** What is counted, in a sentence. */
  words: string;
  write(value: number): string;
  /** Whether a model gives it. */
  isEstimate: boolean;
  /** Whether more of it is better. */
  isGood: boolean;
}

export const FIGURES: readonly MatrixFigure[] = [
  {
    id: "registers",
    title: "Registers",
    short: "Registers",
    words: "Registers of a thread",
    write: whole,
    isEstimate: false,
    isGood: false,
  },
  {
    id: "spills",
    title: "Spills",
    short: "Spills",
    words: "Instructions that spill registers to memory and load them again",
    write: whole,
    isEstimate: false,
    isGood: false,
  },
  {
    id: "smem_bytes",
    title: "Shared memory",
    short: "Shared",
    words: "Shared memory of a block",
    write: bytes,
    isEstimate: false,
    isGood: false,
  },
  {
    id: "occupancy",
    title: "Occupancy",
    short: "Occupancy (est.)",
    words: "Warps that fit on a multiprocessor, of those that it can hold (estimate)",
    write: percent,
    isEstimate: true,
    isGood: true,
  },
  {
    id: "instructions",
    title: "Instructions",
    short: "Instructions",
    words: "Instructions of the machine code",
    write: whole,
    isEstimate: false,
    isGood: false,
  },
  {
    id: "bound_us",
    title: "Roofline bound",
    short: "Bound (est.)",
    words: "The least time that the roofline allows (estimate)",
    write: microseconds,
    isEstimate: true,
    isGood: false,
  },
];

export function valueOf(cell: MatrixCell | null, figure: MatrixFigure): number | null {
  return cell === null ? null : cell[figure.id];
}

/** The figures that any cell has. */
export function knownFigures(rows: readonly MatrixRow[]): MatrixFigure[] {
  return FIGURES.filter((figure) =>
    rows.some((row) => row.cells.some((cell) => valueOf(cell, figure) !== null)),
  );
}

/** The rows, those that differ most in this figure first; among equal ones, most in all. */
export function inOrder(rows: readonly MatrixRow[], figure: MatrixFigure): MatrixRow[] {
  const spread = (row: MatrixRow) => row.spreads[figure.id] ?? -1;
  return [...rows].sort((a, b) => spread(b) - spread(a) || b.spread - a.spread);
}

/** How far a value is from the best of its row, as a part of the largest: 0 to 1. */
export function shadeOf(value: number, row: MatrixRow, figure: MatrixFigure): number {
  const known = row.cells.flatMap((cell) => valueOf(cell, figure) ?? []);
  const most = Math.max(...known);
  if (!(most > 0)) return 0;
  return figure.isGood ? (most - value) / most : (value - Math.min(...known)) / most;
}
