// What stands in one column: its head and its rows, or why there are none.

import type { Rows } from "./rows";

export interface Content {
  title: string;
  note: string;
  rows: Rows | null;
  /** Why there is nothing to show; null while it is on its way. */
  missing: string | null;
}

export function lineCount(rows: Rows | null): string {
  return rows ? `${rows.ids.length} lines` : "";
}
