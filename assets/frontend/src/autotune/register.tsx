// The Autotune pane and its things: choices that were timed, configurations that a model ranked.

import { cardThing } from "../blocks/cards";
import { kindOf } from "../ids";
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
  ties(report, { both }) {
    for (const choice of report.choices)
      if (kindOf(choice.op) === "kernel") both(choice.id, choice.op);
  },
};
