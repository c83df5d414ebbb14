// The Roofline pane; what it shows are kernels.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { CompileButton } from "../targets/dialog";
import { RooflinePane } from "./roofline";

export const roofline: Registration<Store> = {
  id: "roofline",
  Pane: RooflinePane,
  things: {},
  offer: "Compile for…",
  Remedy: CompileButton,
};
