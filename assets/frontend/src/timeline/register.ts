// The Timeline pane and its things: phases.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { PhaseCard } from "./card";
import { TimelinePane } from "./timeline";

export const timeline: Registration<Store> = {
  id: "timeline",
  Pane: TimelinePane,
  things: {
    phase: {
      Card: PhaseCard,
      label: (id, store) => store.doc.value?.phases.find((each) => each.id === id)?.name ?? id,
    },
  },
};
