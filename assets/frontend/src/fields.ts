// What a row or a document has at a place; a dot leads into a field.

import type { Document as Report } from "./wire";

/** The value of a field; null where there is none. */
export function fieldOf(row: object, field: string): unknown {
  let found: unknown = row;
  for (const name of field.split("."))
    found = (found as Record<string, unknown> | null | undefined)?.[name];
  return found ?? null;
}

/** The rows that a document has at a place. */
export function rowsAt<Row extends object = { id: string }>(report: Report, place: string): Row[] {
  return (fieldOf(report, place) as Row[] | null) ?? [];
}
