// The Autotune pane and its things: choices that were timed, configurations that a model ranked.

import { cardThing } from "../blocks/cards";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { MaxAutotune } from "../ui/offer";
import { RankedConfigs } from "./ranked";

export const autotune: Registration<Store> = {
  id: "autotune",
  own: { ranked: RankedConfigs },
  offer: "Try max-autotune…",
  Remedy: MaxAutotune,
  things: {
    choice: cardThing("choice"),
    ranked: cardThing("ranked"),
  },
};
