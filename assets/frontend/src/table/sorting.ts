// The order of a table's rows: unknown values last whichever way it is sorted.

export type Direction = "asc" | "desc";
export type Sortable = string | number | boolean | null | undefined;

export interface Order {
  key: string;
  direction: Direction;
}

export function compare(a: Sortable, b: Sortable, direction: Direction): number {
  const noA = isNothing(a);
  const noB = isNothing(b);
  if (noA || noB) return Number(noA) - Number(noB);
  const sign = direction === "asc" ? 1 : -1;
  if (typeof a === "string" || typeof b === "string")
    return sign * COLLATOR.compare(String(a), String(b));
  return sign * (Number(a) - Number(b));
}

function isNothing(value: Sortable): boolean {
  return value === null || value === undefined || value === "";
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

/**
 * Text comes first in ascending, numbers in descending order; a second click turns it round, a
 * third one brings back the order that the table had at first.
 */
export function turned(
  order: Order | null,
  key: string,
  sample: Sortable,
  original: Order | null = null,
): Order | null {
  const first: Order = { key, direction: typeof sample === "number" ? "desc" : "asc" };
  if (order?.key !== key) return first;
  if (order.direction === first.direction)
    return { key, direction: first.direction === "asc" ? "desc" : "asc" };
  return original?.key === key ? first : original;
}
