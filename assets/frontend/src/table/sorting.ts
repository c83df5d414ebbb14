// The order of a table's rows: unknown values last whichever way it is sorted.

export type Direction = "asc" | "desc";
export type Sortable = string | number | boolean | null | undefined;

export interface Order {
  key: string;
  direction: Direction;
}

export function compare(a: Sortable, b: Sortable, direction: Direction): number {
  const noA = a === null || a === undefined;
  const noB = b === null || b === undefined;
  if (noA || noB) return Number(noA) - Number(noB);
  const sign = direction === "asc" ? 1 : -1;
  if (typeof a === "string" && typeof b === "string") return sign * COLLATOR.compare(a, b);
  return sign * (Number(a) - Number(b));
}

const COLLATOR = new Intl.Collator("en", { numeric: true }); // k2 before k10

/** A sorted copy; equal rows keep their order. */
export function sorted<Row>(
  rows: readonly Row[],
  value: (row: Row) => Sortable,
  direction: Direction,
): Row[] {
  const keyed = rows.map((row) => [value(row), row] as const);
  return keyed.sort((a, b) => compare(a[0], b[0], direction)).map((pair) => pair[1]);
}

/** Text comes first in ascending, numbers in descending order; a second click turns it round. */
export function turned(order: Order | null, key: string, sample: Sortable): Order {
  if (order?.key === key) return { key, direction: order.direction === "asc" ? "desc" : "asc" };
  return { key, direction: typeof sample === "number" ? "desc" : "asc" };
}
