// The Timeline pane and its things: phases.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { TimelinePane } from "./timeline";
import { percent, seconds } from "../format";
import type { CardProps } from "../inspector/parts";
import { Facts } from "../ui/basics";

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

export function PhaseCard({ store, id }: CardProps) {
  const phases = store.doc.value?.phases ?? [];
  const phase = phases.find((each) => each.id === id);
  if (!phase) return <h2>{id}</h2>;
  const start = Math.min(...phases.map((each) => each.start_s));
  const whole = Math.max(...phases.map((each) => each.start_s + each.duration_s)) - start;
  return (
    <>
      <div class="kind">Compile phase</div>
      <h2>{phase.name}</h2>
      <Facts
        rows={[
          ["Start", seconds(phase.start_s - start)],
          ["Total", seconds(phase.duration_s)],
          ["Self", seconds(phase.self_s)],
          ["Share", percent(whole ? phase.duration_s / whole : 0)],
          ["Thread", phase.thread],
        ]}
      />
      <p class="mut">Self is the time that none of its own phases accounts for.</p>
    </>
  );
}
