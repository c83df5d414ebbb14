// The Graphs pane and its things: nodes, graphs.

import { nameOf, nodeId } from "../ids";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import type { Store } from "../store";
import type { Document as Report, Part } from "../wire";
import { GraphPane } from ".";
import { NodeCard } from "./card";

export const graphs: Registration<Store> = {
  id: "graphs",
  Pane: GraphPane,
  things: {
    node: { Card: NodeCard, label: nameOf, isFollowed: true },
    graph: { label: graphName },
  },
  alsoShows: ["kernel"],
  entries: (report, parts) => [{ title: "Nodes", entries: nodes(report, parts) }],
};

function graphName(id: string, store: Store): string {
  return store.doc.value?.graphs.find((each) => each.id === id)?.title ?? id;
}

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
