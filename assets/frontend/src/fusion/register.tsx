// The Fusion pane and its things: groups, rejected pairs, buffers, parts that become CUDA graphs.

import { bytes, percent } from "../format";
import { nameOf } from "../ids";
import {
  Belongings,
  Head,
  OpenCode,
  type RowCardProps,
  rowThing,
  WhatHelps,
} from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Chips, Facts, Prose, Tag } from "../ui/basics";
import type { Group, Rejected, Document as Report } from "../wire";
import { CudaGraphCard, cudaGraph } from "./cudagraphs";
import { FusionPane } from "./fusion";

export const fusion: Registration<Store> = {
  id: "fusion",
  Pane: FusionPane,
  things: {
    group: rowThing((store, id) => store.row("groups", id), {
      Card: GroupCard,
      label: (group) => group.kernel ?? nameOf(group.id),
      isFollowed: true,
      through: "kernel",
    }),
    rejected: rowThing((store, id) => store.row("rejected", id), {
      Card: RejectedCard,
      label: pairName,
      isFollowed: true,
    }),
    "cuda-graph": rowThing(cudaGraph, {
      Card: CudaGraphCard,
      label: (part) => `part ${part.name}`,
      isFollowed: true,
    }),
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

function pairName(pair: Rejected): string {
  return `${pair.a_kernel ?? pair.a} with ${pair.b_kernel ?? pair.b}`;
}

function RejectedCard({ store, row: pair }: RowCardProps<Rejected>) {
  const rows: [string, string][] = [
    ["Shared", bytes(pair.shared_bytes)],
    ["Rounds tried", String(pair.rounds)],
    ["Operations", `${pair.a}, ${pair.b}`],
  ];
  const buffers = pair.shared.map((id) => (id.includes(":") ? id : `${pair.graph}:${id}`));
  return (
    <>
      <Head kind="Rejected fusion" title={pairName(pair)} />
      <p>
        <Prose text={pair.why} />
      </p>
      <WhatHelps text={pair.help} />
      <Facts of="rejected" rows={rows} />
      <Chips store={store} title={`Nodes of ${pair.a}`} ids={pair.a_nodes} />
      <Chips store={store} title={`Nodes of ${pair.b}`} ids={pair.b_nodes} />
      <Chips store={store} title="Buffers in common" ids={buffers} />
      <Belongings store={store} without={["node"]} />
    </>
  );
}

function GroupCard({ store, row: group }: RowCardProps<Group>) {
  const saved = group.before > group.after ? percent(1 - group.after / group.before) : "–";
  const rows: [string, string][] = [
    ["Before", bytes(group.before)],
    ["Lowered, each alone", bytes(group.alone)],
    ["Fused", bytes(group.after)],
    ["Saved", saved],
    ["Parts", String(group.parts.length)],
  ];
  return (
    <>
      <Head kind="Fused group" title={group.name} />
      <Facts of="groups" rows={rows} />
      {group.why_more && (
        <p>
          <Tag tone="fallback">worse by fusion</Tag> {group.why_more}
        </p>
      )}
      <p class="mut">Bytes are Inductor's estimate of the traffic to DRAM.</p>
      {group.kernel && <OpenCode store={store} id={group.kernel} />}
      <Belongings store={store} />
    </>
  );
}
