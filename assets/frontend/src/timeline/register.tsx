// The Timeline pane and its things: phases.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { TimelinePane } from "./timeline";
import { percent, seconds } from "../format";
import { type RowCardProps, rowThing } from "../inspector/parts";
import { Facts } from "../ui/basics";
import { wholeOf } from "./flame";
import { type Phase } from "../wire";

export const timeline: Registration<Store> = {
  id: "timeline",
  Pane: TimelinePane,
  things: {
    phase: rowThing((store, id) => store.row("phases", id), {
      Card: PhaseCard,
      label: ({ name }) => name,
    }),
  },
};

function PhaseCard({ store, row: phase }: RowCardProps<Phase>) {
  const { start, end } = wholeOf(store.doc.value?.phases ?? []);
  const whole = end - start;
  return (
    <>
      <div class="kind">Compile phase</div>
      <h2>{phase.name}</h2>
      <Facts
        rows={[
          ["Start", seconds(phase.start_s - start)],
          ["Total", seconds(phase.duration_s)],
          ["Self", seconds(phase.self_s)],
          ["Share", percent(phase.duration_s / whole)],
          ["Thread", phase.thread],
        ]}
      />
      <p class="mut">Self is the time that none of its own phases accounts for.</p>
    </>
  );
}
