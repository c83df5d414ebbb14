// The same as a table: a row for each cell with all its figures.

import { useMemo } from "preact/hooks";
import type { Store } from "../store";
import { useColumns, type Cells } from "../table/columns";
import { Table } from "../table/table";
import type { MatrixRow } from "../wire";
import { cellRows, type CellRow } from "./rows";

interface Props {
  store: Store;
  rows: readonly MatrixRow[];
  targets: readonly string[];
}

export function CellTable({ store, rows, targets }: Props) {
  const cells = useMemo(() => cellRows(rows, targets), [rows, targets]);
  const columns = useColumns(store, "matrix", cells, CELLS);
  return (
    <Table
      store={store}
      label="Kernels on GPUs"
      columns={columns}
      rows={cells}
      id={(row) => row.id}
      open={(row) => store.select(row.id, { pane: "kernels" })}
    />
  );
}

const CELLS: Cells<CellRow> = { choice: { value: (row) => row.note ?? row.choice } };
