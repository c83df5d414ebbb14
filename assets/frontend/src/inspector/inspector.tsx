// The panel that explains the selected thing: properties, then sentences, then what belongs to it.

import type { ComponentChildren } from "preact";
import { shownCost, valueOf } from "../cost/cost";
import { kindOf } from "../ids";
import type { Store } from "../store";
import { sorted } from "../table/sorting";
import { Chip, Chips } from "../ui/basics";
import type { CardProps } from "./parts";

export function Inspector({ store }: { store: Store }) {
  const id = store.selected.value;
  const Card = id === null ? Start : (store.thing(id)?.Card ?? Plain);
  return (
    <aside class="insp" aria-label="Inspector" tabIndex={0}>
      <div class="in">
        <Card key={id} store={store} id={id ?? ""} />
      </div>
    </aside>
  );
}

function Start({ store }: CardProps): ComponentChildren {
  const report = store.doc.value;
  const problems = (report?.sources ?? []).flatMap((source) =>
    source.marks.filter((mark) => mark.notes.length).map((mark) => mark.id),
  );
  const cost = shownCost(store).value;
  const largest = sorted(report?.kernels ?? [], (kernel) => valueOf(cost, kernel), "desc");
  const ids = [...problems.slice(0, 4), ...largest.slice(0, 3).map((kernel) => kernel.id)];
  return (
    <>
      <h2 class="kind">Inspector</h2>
      <p>
        Nothing is selected. Choose a source line, a graph node, a kernel or a line of its code:
        everything that belongs to it lights up in all panes, and this panel explains it.
      </p>
      {ids.length > 0 && (
        <section>
          <h3>Start here</h3>
          <div class="chips">
            {ids.map((each) => (
              <Chip key={each} store={store} id={each} />
            ))}
          </div>
        </section>
      )}
    </>
  );
}

function Plain({ store, id }: CardProps): ComponentChildren {
  const kernels = [...store.related.value].filter((each) => kindOf(each) === "kernel");
  return (
    <>
      <div class="kind">{kindOf(id) === "buffer" ? "Buffer" : "Selected"}</div>
      <h2>{store.labelOf(id)}</h2>
      <Chips store={store} title="Kernels" ids={kernels} />
    </>
  );
}
