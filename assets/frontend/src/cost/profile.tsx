// Measuring in place: a button in the header of a live view.

import { useState } from "preact/hooks";
import { whyNot } from "../host";
import type { Store } from "../store";
import { chosenCost } from "./cost";

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
