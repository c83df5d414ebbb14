// What the inspector says of a module: what it costs, and its kernels.

import { costText, shownCost } from "../cost/cost";
import { plural, sentence } from "../format";
import { Belongings, type CardProps, Head } from "../inspector/parts";
import type { Store } from "../store";
import type { TreeRow } from "../wire";

/** The row of a module in either tree. */
function rowOf(store: Store, id: string): TreeRow | undefined {
  const report = store.doc.value;
  return [...(report?.modules ?? []), ...(report?.calls ?? [])].find((row) => row.id === id);
}

export function moduleName(id: string): string {
  return id.slice(2);
}

export function ModuleCard({ store, id }: CardProps) {
  const row = rowOf(store, id);
  const cost = shownCost(store).value;
  const total = cost && row?.total[cost.kind];
  return (
    <>
      <Head
        kind={[row?.times ? plural(row.times, "identical module") : "Module", row?.caption]
          .filter(Boolean)
          .join(", ")}
        title={moduleName(id)}
      />
      {cost && total !== undefined && total !== null && (
        <p>
          {costText(cost, total)}{" "}
          <span class="mut" data-tip={sentence(cost.source)}>{`(${cost.brief})`}</span>
        </p>
      )}
      <Belongings store={store} />
    </>
  );
}
