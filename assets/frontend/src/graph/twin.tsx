// The graph as a table: the same nodes, for those who cannot or would not use the canvas.

import { useMemo } from "preact/hooks";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { useColumns } from "../table/columns";
import { Table } from "../table/table";
import type { Model } from "./model";

interface Props {
  store: Store;
  model: Model;
  showsQuiet: boolean;
}

export function NodeTable({ store, model, showsQuiet }: Props) {
  const { part } = model;
  const rows = useMemo(() => {
    const all = Array.from({ length: model.count }, (_, node) => node);
    const shown = showsQuiet ? all : all.filter((node) => !part.is_quiet[node]);
    return shown.map((node) => rowOf(model, node));
  }, [model, showsQuiet]);
  const columns = useColumns(store, "nodes", rows);
  return (
    <Table
      store={store}
      label={`Nodes of graph ${part.id}`}
      columns={columns}
      rows={rows}
      id={(row) => row.id}
      none="Every node of this graph is hidden."
    />
  );
}

/** A node as a row: what its graph says of it, by column. */
interface NodeRow {
  id: string;
  names: string;
  targets: string;
  shapes: string;
  dtypes: string;
  bytes: number | null;
  kernel: string | null;
  lines: number | null;
  module: string;
}

function rowOf({ part, ids }: Model, node: number): NodeRow {
  const line = part.lines[node];
  return {
    id: ids[node]!,
    names: part.names[node]!,
    targets: part.targets[node]!,
    shapes: part.shapes[node]!,
    dtypes: part.dtypes[node]!,
    bytes: part.bytes[node] ?? null,
    kernel: part.kernels[part.kernel[node]!] ?? null,
    lines: line ? numberOf(line) : null,
    module: part.modules[part.module[node]!] ?? "",
  };
}
