// The cells of a matrix as rows of a table, and as places of a heat map.

import type { MatrixCell, MatrixRow } from "../wire";

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
