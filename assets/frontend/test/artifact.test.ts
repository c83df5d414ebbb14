import { expect, test } from "vitest";
import { meaningOf, sharesOf, waterfallOf, wayOf } from "../src/artifact/trip";
import { kindOf } from "../src/ids";
import type { TripWay } from "../src/wire";

function way(name: string, took: Record<string, number>, more: Partial<TripWay> = {}): TripWay {
  const entries = Object.entries(took);
  return {
    id: `Z:${name}`,
    name,
    title: name,
    ran: true,
    ok: true,
    against: "bit-exact",
    tone: "captured",
    imports_s: took.imports ?? null,
    load_s: took.read ?? null,
    first_call_s: took.first_call ?? null,
    first_result_s: (took.imports ?? 0) + (took.read ?? 0) + (took.first_call ?? 0),
    total_s: entries.reduce((sum, [, value]) => sum + value, 0),
    steady_s: 1e-4,
    steady_p99_s: null,
    steady_calls: null,
    peak_rss_bytes: null,
    note: null,
    phases: entries.map(([phase, duration_s]) => ({
      id: `Z:${name}:${phase}`,
      name: phase,
      title: phase,
      start_s: 0,
      duration_s,
    })),
    ...more,
  };
}

const OURS = way("ours", { torch: 2, inputs: 1, imports: 0.25, read: 0.5, first_call: 0.25 });
const EAGER = way("eager", { torch: 2, inputs: 1, first_call: 4 });
const TORCH = way("torch", {}, { ran: false, ok: null, first_result_s: null });

test("ours is looked at until another way, or a phase of it, is selected", () => {
  const ways = [EAGER, TORCH, OURS];
  expect(wayOf(ways, null)).toBe(OURS);
  expect(wayOf(ways, "Z:eager:first_call")).toBe(EAGER);
  expect(wayOf(ways, "Z:torch")).toBe(TORCH);
  expect(wayOf(ways, "k0")).toBe(OURS);
  expect(wayOf([TORCH, EAGER], null)).toBe(EAGER);
  expect(wayOf([], null)).toBeNull();
});

test("the waterfall leaves out what every process does, unless it is asked for", () => {
  const after = waterfallOf(OURS, false);
  expect(after.seconds).toBe(1);
  expect(after.bars.map((bar) => [bar.phase.name, bar.left, bar.width])).toEqual([
    ["imports", 0, 0.25],
    ["read", 0.25, 0.5],
    ["first_call", 0.75, 0.25],
  ]);
  expect(waterfallOf(OURS, true).seconds).toBe(4);
  expect(waterfallOf(TORCH, true)).toEqual({ bars: [], seconds: 0 });
});

test("the bars of the ways share one scale", () => {
  expect(sharesOf(OURS, [OURS, EAGER])).toEqual([0.0625, 0.125, 0.0625]);
  expect(sharesOf(TORCH, [TORCH])).toEqual([0, 0, 0]);
});

test("kinds and meanings", () => {
  expect(kindOf("Z:ours:read")).toBe("saved");
  expect(meaningOf("read")).toContain("signature");
});
