// What stands in one column: its head and its rows, or why there are none.

import { plural } from "../format";
import type { Rows } from "./rows";

export interface Content {
  title: string;
  note: string;
  rows: Rows | null;
  /** The stage of the record, where its text can be filtered. */
  stage?: string;
  /** Why there is nothing to show; null while it is on its way. */
  missing: string | null;
}

/** How many lines there are, and how many of them are in sight. */
export function lineCount(rows: Rows | null, all: Rows | null = rows): string {
  if (!rows || !all) return "";
  const total = plural(all.ids.length, "line");
  return rows.ids.length < all.ids.length ? `${rows.ids.length} of ${total}` : total;
}
