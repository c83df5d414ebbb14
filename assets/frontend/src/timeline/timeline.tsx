// The phases of a compilation as a flame chart, and a trace to save.

import { useMemo } from "preact/hooks";
import { seconds } from "../format";
import type { Store } from "../store";
import { Button } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { ofPass, PassFilter } from "../ui/pass";
import { saveFile } from "../ui/savefile";
import type { Phase } from "../wire";
import { FlameChart } from "./chart";
import { traceOf, wholeOf, type Window } from "./flame";

export function CompileTimeline({ store }: { store: Store }) {
  const all = store.doc.value?.phases;
  const side = store.side.value;
  const phases = useMemo(() => ofPass(store, all ?? []), [all, side]);
  const [zoom, setZoom] = usePaneState<Window | null>(store, "zoom", null);
  const zoomTo = (phase: Phase | null) =>
    setZoom(
      phase && { start: phase.start_s, end: phase.start_s + Math.max(1e-6, phase.duration_s) },
    );
  return (
    <>
      <TimelineBar store={store} phases={phases} isZoomed={zoom !== null} zoomTo={zoomTo} />
      <FlameChart store={store} phases={phases} zoom={zoom} zoomTo={zoomTo} />
    </>
  );
}

interface BarProps {
  store: Store;
  phases: Phase[];
  isZoomed: boolean;
  /** Shows one phase as wide as the chart, or all. */
  zoomTo(phase: Phase | null): void;
}

function TimelineBar({ store, phases, isZoomed, zoomTo }: BarProps) {
  const { start, end } = wholeOf(phases);
  const threads = new Set(phases.map((phase) => phase.thread)).size;
  const name = store.doc.value?.name ?? "compilation";
  return (
    <div class="bar">
      <h2>Compile timeline</h2>
      <span class="mut cut" data-tip="">
        {threads === 1 ? "" : `${seconds(end - start)}, on ${threads} threads`}
      </span>
      <span class="grow" />
      {isZoomed ? (
        <Button look="quiet" press={() => zoomTo(null)}>
          Show all
        </Button>
      ) : (
        <ZoomIn phase={store.row("phases", store.selected.value ?? "")} zoomTo={zoomTo} />
      )}
      <PassFilter store={store} />
      <Button
        icon="save"
        tip="For ui.perfetto.dev or chrome://tracing"
        press={() => saveFile(traceOf(phases, name), "compile-trace.json", "application/json")}
      >
        Save Perfetto trace
      </Button>
    </div>
  );
}

function ZoomIn({ phase, zoomTo }: { phase: Phase | undefined; zoomTo(phase: Phase): void }) {
  return (
    <Button
      look="quiet"
      tip={phase ? "Or double click a bar, or press Enter on it" : "Select a phase first"}
      isOff={!phase}
      press={() => phase && zoomTo(phase)}
    >
      Zoom in
    </Button>
  );
}
