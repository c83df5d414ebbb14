// Which cost is shown, in the header of a view: one switch for all of it; measuring in place.

import { whyNot } from "../host";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Select } from "../ui/basics";
import type { CostKind } from "../wire";
import { chosenCost, shownCost } from "./cost";

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

const MEASURE = "Measures every kernel on the example inputs";

/** Measures every kernel where the call is alive; elsewhere it says why it cannot. */
export function ProfileButton({ store }: { store: Store }) {
  const [error, attempt] = useAttempt();
  const report = store.doc.value;
  if (!report || store.host.kind !== "live") return null;
  const why = whyNot(store.host, report.actions.profile ?? null, { ask: "profile" });
  const measure = async () => {
    // an answer to a question is not kept; the times are what was asked for
    if (await attempt(store.host.part("profile", { targets: [] }))) chosenCost(store).value = null;
  };
  return (
    <>
      <Button
        tip={why ?? `${MEASURE}. ${report.efforts?.["profile"] ?? ""}`.trim()}
        isOff={!!why}
        press={() => void measure()}
      >
        Profile
      </Button>
      {error && error !== why && <span role="alert">{error}</span>}
    </>
  );
}
