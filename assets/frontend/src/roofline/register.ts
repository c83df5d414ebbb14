// The Roofline pane; what it shows are kernels.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { RooflinePane } from "./roofline";

export const roofline: Registration<Store> = { id: "roofline", Pane: RooflinePane, things: {} };
