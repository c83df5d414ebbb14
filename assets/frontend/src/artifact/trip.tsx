// A round trip: its ways side by side, and the phases of one as bars over a stretch of time.

import { useId, useMemo } from "preact/hooks";
import { seconds } from "../format";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import type { TripPhase, TripWay } from "../wire";

/** What stands in every process before a way begins: the same for all, and not part of it. */
const BEFORE = new Set(["start", "torch", "inputs"]);

export interface Bar {
  phase: TripPhase;
  /** Shares of the stretch, from 0 to 1. */
  left: number;
  width: number;
}

/** The way of `Z:ours` or `Z:ours:guards`, else ours, else the first that ran. */
export function wayOf(ways: readonly TripWay[], selected: string | null): TripWay | null {
  const name = selected?.startsWith("Z:") ? selected.split(":")[1] : undefined;
  const ran = ways.filter((way) => way.ran);
  return (
    ways.find((way) => way.name === name) ??
    ran.find((way) => way.name === "ours") ??
    ran[0] ??
    null
  );
}

/** The phases one after the other; `isWhole` counts from the start of the process. */
export function waterfallOf(way: TripWay, isWhole: boolean) {
  const shown = way.phases.filter((phase) => isWhole || !BEFORE.has(phase.name));
  const seconds = shown.reduce((sum, phase) => sum + phase.duration_s, 0);
  const scale = seconds > 0 ? 1 / seconds : 0;
  let at = 0;
  const bars = shown.map((phase) => {
    const bar = { phase, left: at * scale, width: phase.duration_s * scale };
    at += phase.duration_s;
    return bar;
  });
  return { bars, seconds };
}

/** Imports, load and first call of a way as shares of the longest way. */
export function sharesOf(way: TripWay, ways: readonly TripWay[]): number[] {
  const longest = Math.max(0, ...ways.map((each) => each.first_result_s ?? 0));
  const parts = [way.imports_s, way.load_s, way.first_call_s];
  return parts.map((part) => (longest ? (part ?? 0) / longest : 0));
}

const MEANINGS: Record<string, string> = {
  start: "Process start until Python runs the first line.",
  torch: "Needed by every process.",
  imports: "Imports besides torch itself: parts of torch's compiler, or the workbench.",
  inputs: "The inputs of the call are read; not counted for any start-up mode.",
  model: "The module or function is unpickled, with its weights.",
  read: "The file is opened; its zip structure, manifest and signature are checked.",
  unpack: "Members are copied into a private folder and compared with their hashes.",
  rebuild:
    "Objects in the file are rebuilt, and the generated Python module is executed once to define its functions.",
  dlopen: "The kernel libraries are loaded.",
  guards: "The guard checks that run on every call are built.",
  load: "All the work of this loader; torch gives no details.",
  compile: "torch.compile itself; the work comes with the first call.",
  first_call: "The first call up to its result.",
};

/** What happens in a phase, in a sentence. */
export function meaningOf(phase: string): string {
  return MEANINGS[phase] ?? "";
}

interface Props {
  store: Store;
  way: TripWay;
  isWhole: boolean;
}

export function WaterfallChart({ store, way, isWhole }: Props) {
  const prefix = useId();
  const { bars } = waterfallOf(way, isWhole);
  const selected = store.selected.value;
  const current = bars.findIndex((bar) => bar.phase.id === selected);
  return (
    <div
      class="fall"
      role="listbox"
      aria-label={`Phases of ${way.title}. Arrow keys move.`}
      tabIndex={0}
      aria-activedescendant={current < 0 ? undefined : `${prefix}-${current}`}
      onKeyDown={(event) => press(event, store, bars, current)}
    >
      {bars.map((bar, at) => (
        <div
          key={bar.phase.id}
          id={`${prefix}-${at}`}
          role="option"
          aria-selected={at === current}
          class={at === current ? "fall-row sel" : "fall-row"}
          onClick={() => store.select(bar.phase.id)}
        >
          <span class="cut">{bar.phase.title} </span>
          <span class="num">{seconds(bar.phase.duration_s)}</span>
          <span class="fall-track">
            <i
              style={{
                left: `${bar.left * 100}%`,
                width: `max(2px, ${bar.width * 100}%)`,
              }}
            />
          </span>
        </div>
      ))}
    </div>
  );
}

function press(event: KeyboardEvent, store: Store, bars: readonly Bar[], current: number): void {
  const places: Record<string, number> = {
    ArrowDown: Math.min(bars.length - 1, current + 1),
    ArrowUp: Math.max(0, current - 1),
    Home: 0,
    End: bars.length - 1,
  };
  const bar = event.altKey ? undefined : bars[places[event.key] ?? -1];
  if (!bar) return;
  event.preventDefault();
  event.stopPropagation();
  store.select(bar.phase.id);
}

export function WaysTable({ store, ways }: { store: Store; ways: readonly TripWay[] }) {
  const cells = useMemo(() => cellsOf(ways), [ways]);
  return (
    <RecordTable store={store} label="Start-up modes" table="ways" cells={cells} rows={ways} />
  );
}

function cellsOf(ways: readonly TripWay[]): Cells<TripWay> {
  return {
    bar: {
      full: (way) =>
        `imports ${seconds(way.imports_s)}, load ${seconds(way.load_s)}, first call ${seconds(way.first_call_s)}`,
      draw: (way) => <Stacked shares={sharesOf(way, ways)} />,
    },
  };
}

function Stacked({ shares }: { shares: number[] }) {
  return (
    <span class="stacked">
      {shares.map((share, at) => (
        <i key={at} class={`part-${at}`} style={{ width: `${share * 100}%` }} />
      ))}
    </span>
  );
}
