// The Roofline pane; what it shows are kernels.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { CompileButton } from "../targets/dialog";
import { Offer } from "../ui/offer";
import { RooflinePane } from "./roofline";

export const roofline: Registration<Store> = {
  id: "roofline",
  Pane: RooflinePane,
  things: {},
  offer: "Profile…",
  Remedy: Measure,
};

/** What is empty is of a CPU: it is measured, or compiled for a GPU whose rates are known. */
function Measure({ store }: { store: Store }) {
  return (
    <>
      <Offer store={store} ask="profile" words="Profile" line="compiled.profile(*args)" />
      <CompileButton store={store} />
    </>
  );
}
