// The Artifact pane and its things: what the file holds and needs, the ways of a round trip.

import { cardThing } from "../blocks/cards";
import { bytes, seconds } from "../format";
import { type CardProps, Head } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts, Tag } from "../ui/basics";
import type { TripPhase, TripWay } from "../wire";
import { RoundTrip } from "./roundtrip";
import { meaningOf } from "./trip";

const ROW = cardThing("saved");

export const artifact: Registration<Store> = {
  id: "artifact",
  own: { roundtrip: RoundTrip },
  things: {
    saved: {
      Card: SavedCard,
      label(id, store) {
        const { way, phase } = tripOf(store, id);
        if (way) return phase ? `${phase.title} of ${way.title}` : way.title;
        return ROW.label(id, store);
      },
    },
  },
  ties(report, { one }) {
    for (const way of report.file.ways) for (const phase of way.phases) one(phase.id, way.id);
  },
};

/** The way and the phase of a round trip that an id names. */
function tripOf(store: Store, id: string) {
  const way = store.doc.value?.file.ways.find((each) => each.name === id.split(":")[1]);
  return { way, phase: way?.phases.find((each) => each.id === id) };
}

function SavedCard({ store, id }: CardProps) {
  const { way, phase } = tripOf(store, id);
  if (!way) return <ROW.Card store={store} id={id} />;
  return phase ? <PhaseFacts way={way} phase={phase} /> : <WayFacts way={way} />;
}

function WayFacts({ way }: { way: TripWay }) {
  const rows: [string, number | null][] = [
    ["Imports beyond torch", way.imports_s],
    ["Load", way.load_s],
    ["First call", way.first_call_s],
    ["First result", way.first_result_s],
    ["Whole process", way.total_s],
    ["Later calls, p50", way.steady_s],
    ["p99", way.steady_p99_s],
  ];
  return (
    <>
      <Head kind="Start-up mode" title={way.title} />
      <p>
        <Tag tone={way.tone}>{way.against}</Tag>
      </p>
      {way.note && <p>{way.note}</p>}
      {way.ran && (
        <Facts
          of="ways"
          rows={[
            ...rows.map(([name, value]): [string, string] => [name, seconds(value)]),
            ["Peak RSS", bytes(way.peak_rss_bytes)],
          ]}
        />
      )}
      {way.ran && (
        <p class="mut">
          The first result counts from after torch and the inputs are ready. From one run: repeat it
          before comparing small differences.
        </p>
      )}
    </>
  );
}

function PhaseFacts({ way, phase }: { way: TripWay; phase: TripPhase }) {
  return (
    <>
      <Head kind={`Phase of ${way.title}`} title={phase.title} />
      <p>{meaningOf(phase.name)}</p>
      <Facts
        of="ways"
        rows={[
          ["Takes", seconds(phase.duration_s)],
          ["From the start", seconds(phase.start_s)],
        ]}
      />
    </>
  );
}
