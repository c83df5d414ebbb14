// A short table of long texts: every row is there, and no text is cut.

import type { Store } from "../store";
import { useColumns } from "./columns";
import type { Column } from "./table";

interface Props<Row> {
  store: Store;
  label: string;
  /** The name of its columns. */
  table: string;
  rows: readonly Row[];
}

export function Listing<Row extends object>({ store, label, table, rows }: Props<Row>) {
  const columns = useColumns(store, table, rows);
  return (
    <table class="listing" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ key, title, number }) => (
            <th key={key} scope="col" class={number ? "num" : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {columns.map((column) => (
              <td key={column.key} class={lookOf(column)}>
                {column.draw ? column.draw(row) : (column.value(row) ?? "–")}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function lookOf<Row>({ number, look }: Column<Row>): string | undefined {
  return [number && "num", look].filter(Boolean).join(" ") || undefined;
}
