// The Fusion pane and its things: rejected pairs, buffers, parts that become CUDA graphs.

import { useState } from "preact/hooks";
import { cardThing } from "../blocks/cards";
import { bytes } from "../format";
import { nameOf } from "../ids";
import { Answer } from "../inspector/apart";
import { Belongings, type CardProps, Head, WhatHelps } from "../inspector/parts";
import { Nodes } from "../inspector/sections";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { usePart } from "../ui/asked";
import { Button, Chips, Facts, Prose } from "../ui/basics";
import type { PairsPart, Rejected } from "../wire";
import { FusionLists } from "./fusion";
import { PAIRS, pairOf } from "./parts";

export const fusion: Registration<Store> = {
  id: "fusion",
  own: { fusion: FusionLists },
  things: {
    group: { label: nameOf, isFollowed: true, through: "kernel" },
    rejected: {
      Card: RejectedCard,
      label: (id, store) => {
        const pair = pairOf(store, id);
        return pair ? pairName(pair) : id;
      },
      isFollowed: true,
    },
    "cuda-graph": cardThing("cuda-graph", { isFollowed: true }),
    buffer: { label: nameOf },
  },
  alsoShows: ["kernel"],
};

function pairName(pair: Rejected): string {
  return `${pair.a_kernel ?? pair.a} with ${pair.b_kernel ?? pair.b}`;
}

function RejectedCard({ store, id }: CardProps) {
  const [isOpen, open] = useState(false);
  usePart<PairsPart>(store, PAIRS);
  const pair = pairOf(store, id);
  if (!pair) return <h2>{id}</h2>;
  const rows: [string, string][] = [
    ["What they do", pair.names],
    ["Shared", bytes(pair.shared_bytes)],
  ];
  const buffers = pair.shared.map((id) => (id.includes(":") ? id : `${pair.graph}:${id}`));
  return (
    <>
      <Head kind="Not fused" title={pairName(pair)} />
      <Why store={store} pair={pair} />
      <Facts of="rejected" rows={rows} />
      <Button look="link" isOpen={isOpen} press={() => open(!isOpen)}>
        {isOpen ? "Hide the scheduler’s words" : "The scheduler’s words"}
      </Button>
      {isOpen && (
        <>
          <p class="mono">{pair.said}</p>
          <Facts of="rejected" rows={[["Rounds tried", String(pair.rounds)]]} />
        </>
      )}
      <Belongings store={store} without={["node"]} />
      <Nodes store={store} ids={pair.a_nodes} of=" of the first" />
      <Nodes store={store} ids={pair.b_nodes} of=" of the second" />
      <Chips store={store} title="Buffers in common" ids={buffers} />
    </>
  );
}

/** The answer in the words of the program; of two loops of one kernel the scheduler's. */
function Why({ store, pair }: { store: Store; pair: Rejected }) {
  const { a_kernel: a, b_kernel: b } = pair;
  if (a && b && a !== b) return <Answer store={store} a={a} b={b} otherwise={pair.why} />;
  return (
    <>
      <p>
        <Prose text={pair.why} />
      </p>
      <WhatHelps text={pair.help} />
    </>
  );
}
