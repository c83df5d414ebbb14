// Which parts of the program become CUDA graphs, and why not the others.

import { bytes } from "../format";
import { Belongings, Head, type RowCardProps, WhatHelps } from "../inspector/parts";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import { Facts, Frame, Tag } from "../ui/basics";
import type { CudaGraph, Tone } from "../wire";

const TONES: Record<string, Tone> = { recorded: "captured", skipped: "fallback" };

export function CudaGraphs({ store }: { store: Store }) {
  const found = store.doc.value?.cuda_graphs;
  if (!found) return null;
  return (
    <section class="few" role="group" aria-label="CUDA graphs">
      <div class="bar edge">
        <h2>CUDA graphs</h2>
        <span class="faint cut" data-tip="">
          {found.summary}
        </span>
        <span class="grow" />
        <Frame store={store} name="cuda_graphs" />
      </div>
      <RecordTable
        store={store}
        label="Parts that become CUDA graphs"
        table="cuda_graphs"
        cells={CELLS}
        rows={found.parts}
      />
    </section>
  );
}

function Verdict({ verdict }: { verdict: string }) {
  return <Tag tone={TONES[verdict] ?? "plain"}>{verdict}</Tag>;
}

const CELLS: Cells<CudaGraph> = {
  verdict: { draw: (part) => <Verdict verdict={part.verdict} /> },
  why: { full: (part) => [part.reason, part.help].filter(Boolean).join(". ") },
};

export function cudaGraph(store: Store, id: string): CudaGraph | undefined {
  return store.doc.value?.cuda_graphs?.parts.find((each) => each.id === id);
}

export function CudaGraphCard({ store, row: part }: RowCardProps<CudaGraph>) {
  return (
    <>
      <Head
        kind="Part of the program"
        title={/^\d/.test(part.name) ? `Part ${part.name}` : `The ${part.name}`}
      />
      <Verdict verdict={part.verdict} />
      <p>{sentenceOf(part)}</p>
      <WhatHelps text={part.help} />
      <Facts
        of="cuda_graphs"
        rows={[
          ["Kernels", String(part.kernels.length)],
          ["Copied per call", bytes(part.copied_bytes)],
        ]}
      />
      <Belongings store={store} without={["node"]} />
    </>
  );
}

/** What becomes of a part, with torch's reason. */
function sentenceOf(part: CudaGraph): string {
  const why = part.reason ? `: ${part.reason}.` : ".";
  if (part.verdict === "recorded")
    return `Its kernels are recorded when they first run, and replayed with one call${why}`;
  if (part.verdict === "skipped") return `Its kernels are started one by one${why}`;
  return `It cannot be settled in advance${why}`;
}
