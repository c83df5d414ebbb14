// The graph as a table: the same nodes, for those who cannot or would not use the canvas.

import { useMemo } from "preact/hooks";
import { bytes } from "../format";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { Table, type Column } from "../table/table";
import { Mark } from "../ui/basics";
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
    return showsQuiet ? all : all.filter((node) => !part.is_quiet[node]);
  }, [model, showsQuiet]);
  const columns = useMemo(() => columnsOf(store, model), [store, model]);
  return (
    <Table
      store={store}
      label={`Nodes of graph ${part.id}`}
      columns={columns}
      rows={rows}
      id={(node) => model.ids[node]!}
      none="Every node of this graph is hidden."
    />
  );
}

function columnsOf(store: Store, { part }: Model): Column<number>[] {
  const kernel = (node: number) => part.kernels[part.kernel[node]!] ?? "";
  return [
    {
      key: "name",
      title: "Node",
      width: "minmax(90px, 1.2fr)",
      value: (node) => part.names[node]!,
      look: "mono",
    },
    {
      key: "op",
      title: "Operation",
      width: "minmax(110px, 1.6fr)",
      value: (node) => part.targets[node]!,
      look: "mono",
    },
    {
      key: "shape",
      title: "Shape",
      width: "minmax(90px, 1.2fr)",
      value: (node) => part.shapes[node]!,
      look: "mono",
    },
    {
      key: "dtype",
      title: "Type",
      width: "52px",
      value: (node) => part.dtypes[node]!,
      look: "mono",
    },
    {
      key: "bytes",
      title: "Size",
      width: "80px",
      value: (node) => part.bytes[node] ?? null,
      draw: (node) => bytes(part.bytes[node] ?? null),
      number: true,
    },
    {
      key: "kernel",
      title: "Kernel",
      width: "64px",
      value: kernel,
      draw: (node) => (kernel(node) ? <Mark store={store} kernel={kernel(node)} /> : ""),
    },
    {
      key: "line",
      title: "Line",
      width: "52px",
      value: (node) => (part.lines[node] ? numberOf(part.lines[node]!) : null),
      number: true,
    },
    {
      key: "module",
      title: "Module",
      width: "minmax(80px, 1fr)",
      value: (node) => part.modules[part.module[node]!] ?? "",
      look: "mono",
      wide: true,
    },
  ];
}
