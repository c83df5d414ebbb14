// The same as a table: a row for each cell with all its figures.

import { useMemo } from "preact/hooks";
import type { Store } from "../store";
import { Table, type Column } from "../table/table";
import { Mark } from "../ui/basics";
import type { MatrixRow } from "../wire";
import { knownFigures, valueOf, type MatrixFigure } from "./figures";
import { cellRows, type CellRow } from "./rows";

interface Props {
  store: Store;
  rows: readonly MatrixRow[];
  targets: readonly string[];
}

export function CellTable({ store, rows, targets }: Props) {
  const cells = useMemo(() => cellRows(rows, targets), [rows, targets]);
  const columns = useMemo(() => columnsOf(store, rows), [store, rows]);
  return (
    <Table
      store={store}
      label="Kernels on GPUs"
      columns={columns}
      rows={cells}
      id={(row) => row.cell.id}
      open={(row) => store.select(row.cell.id, { pane: "kernels" })}
    />
  );
}

function columnsOf(store: Store, rows: readonly MatrixRow[]): Column<CellRow>[] {
  return [
    {
      key: "kernel",
      title: "Kernel",
      width: "64px",
      value: (row) => Number(row.kernel.slice(1)),
      full: (row) => store.kernel(row.kernel)?.name ?? row.kernel,
      draw: (row) => <Mark store={store} kernel={row.kernel} />,
    },
    {
      key: "target",
      title: "GPU",
      width: "minmax(64px, 0.6fr)",
      value: (row) => row.target,
      look: "mono",
    },
    ...knownFigures(rows).map(figureColumn),
    {
      key: "choice",
      title: "Configuration",
      width: "minmax(90px, 1.4fr)",
      value: (row) => row.cell.note ?? row.cell.choice,
      look: "mut",
      wide: true,
    },
  ];
}

function figureColumn(figure: MatrixFigure): Column<CellRow> {
  return {
    key: figure.id,
    title: figure.short,
    width: `minmax(${7 * figure.short.length + 6}px, 0.7fr)`,
    value: (row) => valueOf(row.cell, figure),
    draw: (row) => {
      const value = valueOf(row.cell, figure);
      return value === null ? "–" : figure.write(value);
    },
    full: (row) => row.cell.note ?? figure.words,
    number: true,
  };
}
