// The Checks pane and its things: findings in hand-written kernels, each on its line.

import { cardThing } from "../blocks/cards";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { NamedOffer } from "../ui/offer";
import { ChecksPane } from "./checks";

export const checks: Registration<Store> = {
  id: "checks",
  Pane: ChecksPane,
  things: { finding: cardThing("finding") },
  offer: "Run…",
  Remedy: ({ store }) => (
    <NamedOffer store={store} pane="checks" ask="check-kernels" words="Run under watch" />
  ),
};
