// Which cost is shown, in the header of a view: one switch for all of it; measuring in place.

import { useState } from "preact/hooks";
import { Button, Select } from "../ui/basics";
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
    <Select
      label="Cost"
      look="cost-switch"
      tip={`Cost: ${shown.source}`}
      of={costs.map(({ kind, name }) => [kind, `By ${name.toLowerCase()}`])}
      value={shown.kind}
      set={(kind) => (chosenCost(store).value = kind as CostKind)}
    />
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
      <Button
        tip={why ?? "Measure every kernel on the inputs that it was compiled for"}
        isOff={!!why}
        press={() => void measure()}
      >
        Profile
      </Button>
      {error && <span role="alert">{error}</span>}
    </>
  );
}
