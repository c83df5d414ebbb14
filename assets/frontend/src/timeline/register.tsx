// The Timeline pane and its things: phases.

import { percent, seconds } from "../format";
import { Head, type RowCardProps, rowThing } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts } from "../ui/basics";
import { type Phase } from "../wire";
import { wholeOf } from "./flame";
import { TimelinePane } from "./timeline";

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
      <Head kind={`Compile phase ${phase.name}`} title={phase.words} />
      <Facts
        of="phases"
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
