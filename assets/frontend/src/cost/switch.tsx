// Which cost is shown: one switch for the whole view, in its header.

import type { Store } from "../store";
import type { CostKind } from "../wire";
import { chosenCost, shownCost } from "./cost";

/** The choice among the costs that are known; nothing where there is none to choose. */
export function CostSwitch({ store }: { store: Store }) {
  const costs = store.doc.value?.costs ?? [];
  const shown = shownCost(store).value;
  if (!shown || costs.length < 2) return null;
  return (
    <select
      class="btn cost-switch"
      aria-label="Cost"
      data-tip={`Cost: ${shown.source}`}
      value={shown.kind}
      onChange={(event) => (chosenCost(store).value = event.currentTarget.value as CostKind)}
    >
      {costs.map(({ kind, name }) => (
        <option key={kind} value={kind}>
          {`By ${name.toLowerCase()}`}
        </option>
      ))}
    </select>
  );
}
