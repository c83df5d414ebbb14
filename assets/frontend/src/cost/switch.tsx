// Which cost is shown, in the header of a view: one switch for all of it; measuring in place.

import { useState } from "preact/hooks";
import type { Store } from "../store";
import type { CostKind } from "../wire";
import { chosenCost, shownCost } from "./cost";
import { whyNot } from "../host";

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

/** Measures every kernel where the call is alive; elsewhere it says why it cannot. */
export function ProfileButton({ store }: { store: Store }) {
  const [error, setError] = useState<string | null>(null);
  const report = store.doc.value;
  if (!report || store.host.kind !== "live") return null;
  const why = whyNot(store.host, report.no_profile);
  const measure = async () => {
    if (why) return;
    setError(null);
    try {
      await store.host.part("profile", { targets: [] }); // an answer to a question is not kept
      chosenCost(store).value = null; // the times are what was asked for
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  return (
    <>
      <button
        type="button"
        class="btn"
        aria-disabled={!!why}
        data-tip={why ?? "Measure every kernel on the inputs that it was compiled for"}
        onClick={() => void measure()}
      >
        Profile
      </button>
      {error && <span role="alert">{error}</span>}
    </>
  );
}
