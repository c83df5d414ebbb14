// What runs at a time on one rank: a lane for the kernels and for each group.

import { useMemo } from "preact/hooks";
import { seconds } from "../../format";
import type { Store } from "../../store";
import { FlameChart } from "../../timeline/chart";
import type { Window } from "../../timeline/flame";
import { Button } from "../../ui/basics";
import { usePaneState } from "../../ui/kept";
import type { Phase } from "../../wire";

const US = 1e-6;

export function Streams({ store }: { store: Store }) {
  const { streams = [] } = store.doc.value!;
  const bars = useMemo(
    () =>
      streams.map(({ id, lane, kind, words, start_us, us }): Phase => ({
        id,
        name: kind,
        words,
        start_s: start_us * US,
        duration_s: us * US,
        self_s: us * US,
        depth: 0,
        thread: lane,
        side: "",
      })),
    [streams],
  );
  const [zoom, setZoom] = usePaneState<Window | null>(store, "zoom", null);
  return (
    <>
      <div class="bar">
        <h2>Streams</h2>
        <span class="faint cut">one modelled call of this rank</span>
        <span class="grow" />
        {zoom && (
          <Button look="quiet" press={() => setZoom(null)}>
            Show all
          </Button>
        )}
      </div>
      <FlameChart
        store={store}
        phases={bars}
        zoom={zoom}
        label="Streams of this rank. Arrow keys move, Enter zooms in."
        kindOf={({ name }) => name}
        tipOf={({ words, duration_s }) => `${words}: ${seconds(duration_s)}`}
        zoomTo={({ start_s, duration_s }) =>
          setZoom({
            start: start_s - duration_s,
            end: start_s + 2 * Math.max(US / 10, duration_s),
          })
        }
      />
    </>
  );
}
