// What the cards of the inspector have in common.

import { graphOf, kindOf, type Kind } from "../ids";
import type { Store } from "../store";
import { Button, Chips } from "../ui/basics";

export interface CardProps {
  store: Store;
  id: string;
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** The related things of one kind, in natural order; nodes only of the stage of the kernels. */
export function relatedOf(store: Store, kind: Kind): string[] {
  const graphs = store.links.value?.kernelGraphs;
  return [...store.related.value]
    .filter((id) => kindOf(id) === kind)
    .filter((id) => kind !== "node" || !graphs?.size || graphs.has(graphOf(id)))
    .sort(COLLATOR.compare);
}

export function Belongings({ store, without }: { store: Store; without?: Kind[] }) {
  const kinds: [Kind, string][] = [
    ["kernel", "Kernels"],
    ["line", "Source"],
    ["node", "Nodes"],
  ];
  return (
    <>
      {kinds
        .filter(([kind]) => !without?.includes(kind))
        .map(([kind, title]) => (
          <Chips key={kind} store={store} title={title} ids={relatedOf(store, kind)} />
        ))}
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
