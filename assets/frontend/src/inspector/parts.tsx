// What the cards of the inspector have in common.

import type { ComponentType } from "preact";
import { graphOf, kindOf, type Kind } from "../ids";
import type { Thing } from "../registration";
import type { Store } from "../store";
import { Button, Chips, Prose, Soft } from "../ui/basics";
import { KernelBars, Nodes } from "./sections";

export interface CardProps {
  store: Store;
  id: string;
}

export interface RowCardProps<Row> {
  store: Store;
  row: Row;
}

interface RowThing<Row> extends Omit<Thing<Store>, "Card" | "label"> {
  Card: ComponentType<RowCardProps<Row>>;
  label(row: Row): string;
}

/** A kind of thing that is a row: card and name are made of it; one that is not there has its id. */
export function rowThing<Row>(
  read: (store: Store, id: string) => Row | undefined,
  { Card, label, ...more }: RowThing<Row>,
): Thing<Store> {
  return {
    ...more,
    Card({ store, id }) {
      const row = read(store, id);
      return row === undefined ? <h2>{id}</h2> : <Card store={store} row={row} />;
    },
    label(id, store) {
      const row = read(store, id);
      return row === undefined ? id : label(row);
    },
  };
}

/** What a card is about: what kind of thing, and its name. */
export function Head({ kind, title }: { kind: string; title: string }) {
  return (
    <>
      <div class="kind">{kind}</div>
      <h2>
        <Soft text={title} />
      </h2>
    </>
  );
}

/** What would change what a card says, in words. */
export function WhatHelps({ text }: { text: string | null }) {
  if (!text) return null;
  return (
    <section>
      <h3>What would help</h3>
      <p>
        <Prose text={text} />
      </p>
    </section>
  );
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** The related things of one kind, in natural order; nodes only of the stage of the kernels. */
export function relatedOf(store: Store, kind: Kind): string[] {
  const graphs = store.links.value?.kernelGraphs;
  return [...store.related.value]
    .filter((id) => kindOf(id) === kind)
    .filter((id) => kind !== "node" || graphs?.has(graphOf(id)))
    .sort(COLLATOR.compare);
}

/** The kernels by cost, the lines, the nodes folded. */
export function Belongings({ store, without }: { store: Store; without?: Kind[] }) {
  const own = (kind: Kind) => (without?.includes(kind) ? [] : relatedOf(store, kind));
  return (
    <>
      <KernelBars store={store} ids={own("kernel")} />
      <Chips store={store} title="Source" ids={own("line")} />
      <Nodes store={store} ids={own("node")} />
    </>
  );
}

export function OpenCode({ store, id }: CardProps) {
  if (store.pane.value === "kernels" && store.isCode.value) return null;
  return (
    <p>
      <Button press={() => store.select(id, { pane: "kernels" })}>Open its code</Button>
    </p>
  );
}
