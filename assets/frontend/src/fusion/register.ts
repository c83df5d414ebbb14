// The Fusion pane and its things: groups, rejected pairs, buffers, parts that become CUDA graphs.

import { nameOf } from "../ids";
import type { Registration } from "../registration";
import type { Store } from "../store";
import type { Document as Report, Rejected } from "../wire";
import { GroupCard, RejectedCard } from "./cards";
import { CudaGraphCard } from "./cudagraphs";
import { FusionPane } from "./fusion";

export const fusion: Registration<Store> = {
  id: "fusion",
  Pane: FusionPane,
  things: {
    group: { Card: GroupCard, label: groupName, isFollowed: true, through: "kernel" },
    rejected: { Card: RejectedCard, label: pairName, isFollowed: true },
    "cuda-graph": { Card: CudaGraphCard, label: partName, isFollowed: true },
    buffer: { label: nameOf },
  },
  alsoShows: ["kernel"],
  ties(report: Report, { both, one }) {
    for (const group of report.groups) {
      if (group.kernel) both(group.id, group.kernel);
      for (const node of group.nodes) one(group.id, node);
    }
    for (const pair of report.rejected) for (const id of endsOf(pair)) one(pair.id, id);
    for (const part of report.cuda_graphs?.parts ?? []) {
      for (const kernel of part.kernels) both(part.id, kernel);
      for (const line of part.lines) one(part.id, line);
    }
  },
};

function endsOf(pair: Rejected): string[] {
  const kernels = [pair.a_kernel, pair.b_kernel].filter((kernel) => kernel !== null);
  return [...kernels, ...pair.a_nodes, ...pair.b_nodes];
}

function groupName(id: string, store: Store): string {
  return store.doc.value?.groups.find((each) => each.id === id)?.kernel ?? nameOf(id);
}

function pairName(id: string, store: Store): string {
  const pair = store.doc.value?.rejected.find((each) => each.id === id);
  return pair ? `${pair.a_kernel ?? pair.a} with ${pair.b_kernel ?? pair.b}` : id;
}

function partName(id: string, store: Store): string {
  const part = store.doc.value?.cuda_graphs?.parts.find((each) => each.id === id);
  return part ? `part ${part.name}` : id;
}
