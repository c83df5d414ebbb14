import { expect, test } from "vitest";
import {
  coloursOf,
  flameOf,
  nextBar,
  sumsOf,
  ticksOf,
  traceOf,
  wholeOf,
} from "../src/timeline/flame";
import type { Phase } from "../src/wire";

function phase(id: string, start: number, duration: number, depth: number, thread = "main"): Phase {
  const time = { start_s: start, duration_s: duration, self_s: 0 };
  return { id, name: id, words: id, ...time, depth, thread, side: "" };
}

const PHASES = [
  phase("compile", 2, 4, 0),
  phase("capture", 2, 1, 1),
  phase("lower", 3, 3, 1),
  phase("cubin", 4, 1, 0, "worker"),
];

test("bars are fractions of the whole, a row for each depth, threads under one another", () => {
  const flame = flameOf(PHASES, wholeOf(PHASES), 0);
  const lower = flame.bars.find((bar) => bar.phase.id === "lower")!;
  expect([lower.left, lower.width]).toEqual([0.25, 0.75]);
  expect(flame.threads).toEqual([
    { name: "main", row: 1 },
    { name: "worker", row: 4 },
  ]);
  expect(flame.rows).toBe(5);
});

test("bars that are too narrow to see are left out", () => {
  const phases = [...PHASES, phase("tiny", 5, 0.0001, 1)];
  expect(flameOf(phases, wholeOf(phases), 0.001).bars).toHaveLength(4);
});

test("arrows walk to neighbours and between depths", () => {
  const { bars } = flameOf(PHASES, wholeOf(PHASES), 0);
  const at = (id: string) => bars.find((bar) => bar.phase.id === id)!;
  expect(nextBar(bars, at("capture"), "ArrowRight")).toBe(at("lower"));
  expect(nextBar(bars, at("lower"), "ArrowUp")).toBe(at("compile"));
  expect(nextBar(bars, at("compile"), "ArrowUp")).toBeNull();
});

test("ticks are round", () => {
  expect(ticksOf(4.42, 5)).toEqual([0, 1, 2, 3, 4]);
});

test("the trace has microseconds from the start and a name for each thread", () => {
  const trace = JSON.parse(traceOf(PHASES, "block(x)"));
  const event = trace.traceEvents.find((each: { name: string }) => each.name === "cubin");
  expect(event).toMatchObject({ ph: "X", ts: 2_000_000, dur: 1_000_000, tid: 2 });
  const names = trace.traceEvents.filter((each: { ph: string }) => each.ph === "M");
  expect(names).toHaveLength(3);
});

test("phases of the same words have one colour, whatever torch calls them", () => {
  const named = (id: string, words: string) => ({ ...phase(id, 0, 1, 0), words });
  const phases = [named("codegen", "writing kernels"), named("triton", "writing kernels")];
  const colours = coloursOf([...phases, named("dynamo", "reading your code")]);
  expect(colours.size).toBe(2);
  expect(colours.get("writing kernels")).not.toBe(colours.get("reading your code"));
});

test("a range is added up by kind, each without what runs inside it", () => {
  const range = { start: 2.5, end: 4.5 };
  expect(sumsOf(PHASES, range, ({ words }) => words)).toEqual([
    ["lower", 1.5],
    ["capture", 0.5],
    ["cubin", 0.5],
  ]);
  expect(sumsOf(PHASES, { start: 7, end: 8 }, ({ words }) => words)).toEqual([]);
});
