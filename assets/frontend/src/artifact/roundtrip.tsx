// A round trip: its ways, and the phases of one of them.

import { seconds } from "../format";
import type { Store } from "../store";
import { Frame, Segments } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { TripWay } from "../wire";
import "./artifact.css";
import { WaterfallChart, waterfallOf, wayOf, WaysTable } from "./trip";

export function RoundTrip({ store }: { store: Store }) {
  const ways = store.doc.value?.file.ways ?? NONE;
  const [isWhole, setWhole] = usePaneState(store, "whole", false);
  const way = wayOf(ways, store.selected.value);
  return (
    <>
      <div class="bar">
        <h2>Round trip</h2>
        <span class="faint cut">the same call in fresh processes with empty caches, once each</span>
        <span class="grow" />
        <Frame store={store} name="roundtrip" />
      </div>
      <div class="art-table" style={{ height: `${27 + 24 * ways.length}px` }}>
        <WaysTable store={store} ways={ways} />
      </div>
      {way && (
        <div class="bar edge">
          <h2>{way.title}</h2>
          {way.ran && (
            <span class="faint cut">
              {`${seconds(waterfallOf(way, isWhole).seconds)}, then ${seconds(way.steady_s)} a call`}
            </span>
          )}
          <span class="grow" />
          {way.ran && (
            <Segments
              label="Time span"
              look=""
              of={STRETCHES}
              value={isWhole ? "whole" : "own"}
              set={(id) => setWhole(id === "whole")}
            />
          )}
          <Frame store={store} name="roundtrip_phases" />
        </div>
      )}
      {way?.ran && <WaterfallChart store={store} way={way} isWhole={isWhole} />}
      {way && !way.ran && (
        <p class="art-why">{`This start-up mode did not run: ${way.note ?? "no reason"}`}</p>
      )}
    </>
  );
}

const NONE: readonly TripWay[] = [];

/** From where the waterfall counts. */
const STRETCHES = [
  ["own", "After import torch", "Time to the first result after torch and the inputs are ready"],
  ["whole", "Whole process", "Time from process start to the first result"],
] as const;
