// The Graphs pane and its things: nodes, graphs.

import { bytes } from "../format";
import { graphOf, nameOf, nodeId } from "../ids";
import { Belongings, type CardProps, Head, OpenCode, relatedOf } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import type { Store } from "../store";
import { Chips, Facts } from "../ui/basics";
import type { Part, Document as Report } from "../wire";
import { GraphPane } from ".";

export const graphs: Registration<Store> = {
  id: "graphs",
  Pane: GraphPane,
  things: {
    node: { Card: NodeCard, label: nameOf, isFollowed: true },
    graph: { label: (id, store) => store.row("graphs", id)?.title ?? id },
  },
  alsoShows: ["kernel"],
  entries: (report, parts) => [{ title: "Nodes", entries: nodes(report, parts) }],
};

function* nodes(report: Report, parts: readonly Part[]): Iterable<Entry> {
  const seen = new Set<string>();
  for (const part of parts) {
    if (part.kind !== "graph") continue;
    for (const [i, name] of part.names.entries()) {
      const id = nodeId(part, i);
      seen.add(id);
      yield { id, label: part.id, text: `${nameOf(name)} = ${part.targets[i] ?? ""}` };
    }
  }
  for (const kernel of report.kernels)
    for (const id of kernel.nodes)
      if (!seen.has(id)) {
        seen.add(id);
        yield { id, label: kernel.id, text: nameOf(id) };
      }
}

function NodeCard({ store, id }: CardProps) {
  void store.learned.value;
  const found = store.node(id);
  const stage = store.row("graphs", graphOf(id));
  const rows: [string, string][] = [];
  if (found) {
    const { part, at } = found;
    rows.push(["Operator", part.targets[at] ?? ""], ["Shape", part.shapes[at] || "–"]);
    rows.push(["Stride", part.strides[at] || "–"], ["Type", part.dtypes[at] || "–"]);
    rows.push(["Size", bytes(part.bytes[at] ?? null)]);
    const module = part.modules[part.module[at] ?? -1];
    if (module) rows.push(["Module", module]);
  }
  const inputs = found?.part.inputs[found.at] ?? [];
  const stages = [...store.related.value].filter((other) => other.startsWith("g"));
  const elsewhere = stages.filter((other) => graphOf(other) !== graphOf(id));
  return (
    <>
      <Head kind={`Node · ${stage?.title ?? graphOf(id)}`} title={nameOf(id)} />
      {found ? (
        <Facts of="nodes" rows={rows} />
      ) : (
        <p class="mut">The node's details are loaded with its graph.</p>
      )}
      {relatedOf(store, "kernel").length > 0 && <OpenCode store={store} id={id} />}
      <Belongings store={store} without={["node"]} />
      {found && (
        <Chips
          store={store}
          title="Inputs"
          ids={inputs.filter((i) => i >= 0).map((i) => nodeId(found.part, i))}
        />
      )}
      <Chips store={store} title="In other stages" ids={elsewhere} />
    </>
  );
}
