// The Autotune pane and its things: choices that were timed, configurations that a model ranked.

import { plural } from "../format";
import { kindOf } from "../ids";
import { RankedCard } from "../ranked/card";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { AutotunePane } from "./autotune";
import { ChoiceCard } from "./card";

export const autotune: Registration<Store> = {
  id: "autotune",
  Pane: AutotunePane,
  things: {
    choice: {
      Card: ChoiceCard,
      label: (id, store) => store.doc.value?.choices.find((each) => each.id === id)?.choice ?? id,
    },
    ranked: { Card: RankedCard, label: rankedName },
  },
  ties(report, { both }) {
    for (const choice of report.choices)
      if (kindOf(choice.op) === "kernel") both(choice.id, choice.op);
  },
};

function rankedName(id: string, store: Store): string {
  const row = store.doc.value?.ranked.find((each) => each.id === id);
  return row ? `${row.kernel} with ${row.choice}, ${plural(row.warps, "warp")}` : id;
}
