// The panel that explains the selected thing: properties, then sentences, then what belongs to it.

import type { ComponentChildren } from "preact";
import { shownCost, valueOf } from "../cost/cost";
import { kindOf } from "../ids";
import type { Store } from "../store";
import { sorted } from "../table/sorting";
import { Chips } from "../ui/basics";
import type { CostKind, Document as Report } from "../wire";
import { Apart } from "./apart";
import { type CardProps, Head } from "./parts";

/** Whether the reader shows or hides the inspector; null as long as it follows the selection. */
export function askedInspector(store: Store) {
  return store.paneStates.signal<boolean | null>("inspector", "asked", () => null);
}

export function Inspector({ store }: { store: Store }) {
  const id = store.selected.value;
  const Card = id === null ? Start : (store.thing(id)?.Card ?? Plain);
  return (
    <section class="insp" role="group" aria-label="Inspector" tabIndex={0}>
      <div class="in">
        <Card key={id} store={store} id={id ?? ""} />
      </div>
      <Apart store={store} />
    </section>
  );
}

function Start({ store }: CardProps): ComponentChildren {
  const report = store.doc.value;
  const marks = (report?.sources ?? []).flatMap((source) => source.marks);
  const problems = marks.filter((mark) => mark.notes.length).map((mark) => mark.id);
  const cost = shownCost(store).value;
  const first = report && cost ? costliest(report, cost.kind) : [];
  const largest = sorted(report?.kernels ?? [], (kernel) => valueOf(cost, kernel), "desc");
  const costs = [...first, ...largest.map((kernel) => kernel.id)].slice(0, 4);
  return (
    <>
      <h2 class="kind">Inspector</h2>
      <p>
        Nothing is selected. Choose a source line, a graph node, a kernel or a line of its code:
        everything that belongs to it lights up in all panes, and this panel explains it.
      </p>
      <Chips store={store} head="Start here" ids={problems.slice(0, 4)} />
      <Chips
        store={store}
        head={cost ? `Costs most (${cost.name.toLowerCase()}${withCalls(first)})` : "Kernels"}
        ids={costs}
      />
    </>
  );
}

/** The line that the sentence above names, with what it calls; without lines the module. */
export function costliest({ calls, modules }: Costed, kind: CostKind): string[] {
  let isOwn = false;
  const lines = (calls ?? []).filter((row) => {
    if (row.depth === 0) isOwn = row.kind === "function";
    return isOwn && row.depth === 1 && row.kind === "line";
  });
  const parts = lines.length ? lines : (modules ?? []).filter((row) => row.depth === 1);
  const known = parts.filter((row) => (row.total[kind] ?? 0) > 0);
  return sorted(known, (row) => row.total[kind] ?? null, "desc")
    .slice(0, 1)
    .map((row) => row.id);
}

type Costed = Pick<Report, "calls" | "modules">;

function withCalls([first]: readonly string[]): string {
  return first && kindOf(first) === "line" ? "; a line with what it calls" : "";
}

function Plain({ store, id }: CardProps): ComponentChildren {
  const kernels = [...store.related.value].filter((each) => kindOf(each) === "kernel");
  return (
    <>
      <Head kind={kindOf(id) === "buffer" ? "Buffer" : "Selected"} title={store.labelOf(id)} />
      <Chips store={store} title="Kernels" ids={kernels} />
    </>
  );
}
