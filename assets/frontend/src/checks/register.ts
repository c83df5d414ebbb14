// The Checks pane and its things: findings in hand-written kernels, each on its line.

import { cardThing } from "../blocks/cards";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { ChecksPane } from "./checks";

export const checks: Registration<Store> = {
  id: "checks",
  Pane: ChecksPane,
  things: { finding: cardThing("finding") },
};
