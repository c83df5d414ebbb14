// What a round trip shows: which way is looked at, and its phases as bars over a stretch of time.

import type { TripPhase, TripWay } from "../wire";

/** What stands in every process before a way begins: the same for all, and not part of it. */
const BEFORE = new Set(["start", "torch", "inputs"]);

export interface Bar {
  phase: TripPhase;
  /** Shares of the stretch, from 0 to 1. */
  left: number;
  width: number;
}

export interface Waterfall {
  bars: Bar[];
  seconds: number;
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
export function waterfallOf(way: TripWay, isWhole: boolean): Waterfall {
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
  start: "From the start of the process until Python runs the first line.",
  torch: "Every process needs it, whatever comes after.",
  imports:
    "What this way imports beyond torch itself: parts of torch's compiler, or the workbench.",
  inputs: "The inputs of the call are read; it belongs to no way.",
  model: "The module or function is made from its packed form, with its weights.",
  read: "The file is opened, its frame and manifest are checked, and who vouches for it.",
  unpack: "Members are copied into a private folder and compared with their hashes.",
  rebuild: "Objects in the file are made again, and the generated program is run once.",
  dlopen: "The libraries of the kernels are started.",
  guards: "The checks that every call makes are built.",
  load: "Everything that this loader does; torch says no more.",
  compile: "The call of torch.compile itself: the work comes with the first call.",
  first_call: "The first call up to its result.",
};

/** What happens in a phase, in a sentence. */
export function meaningOf(phase: string): string {
  return MEANINGS[phase] ?? "";
}
