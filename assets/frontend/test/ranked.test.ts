import { expect, test } from "vitest";
import { countBest, firstAxes, planeOf, slowness, subjects, varied } from "../src/autotune/plane";
import { placeAmong, sayEqual } from "../src/autotune/ranked";
import { offers } from "../src/targets/dialog";
import type { Ranked, Targets } from "../src/wire";

function ranked(id: string, size: number, warps: number, more: Partial<Ranked> = {}): Ranked {
  return {
    id,
    kernel: "k0",
    target: "h100",
    choice: `XBLOCK=${size}`,
    sizes: { XBLOCK: size },
    warps,
    stages: 1,
    registers: 32,
    spills: 0,
    smem_bytes: 0,
    occupancy: 1,
    limiter: "warps",
    model_us: 1,
    placed_us: null,
    rank: 1,
    rejection: null,
    note: null,
    ...more,
  };
}

const ROWS = [
  ranked("r0", 128, 4, { model_us: 1, rank: 1 }),
  ranked("r1", 256, 4, { model_us: 2, rank: 2 }),
  ranked("r2", 256, 8, { model_us: 4, rank: 4, rejection: "spills 12 registers" }),
  ranked("r3", 256, 8, { model_us: 3, rank: 3, stages: 3 }),
];

test("what the model gives one time shares a place, as fourteen had fourteen ranks", () => {
  const places = (rows: Ranked[]) => rows.map((row) => placeAmong(row, rows));
  expect(places(ROWS)).toEqual([1, 2, 4, 3]);
  expect(places(ROWS.map((row) => ({ ...row, model_us: 3.6 })))).toEqual([1, 1, 1, 1]);
  expect(places([ranked("r0", 64, 4, { model_us: null, rank: null })])).toEqual([null]);
});

test("blocks by warps come first", () => {
  expect(varied(ROWS)).toEqual(["XBLOCK", "warps", "stages"]);
  expect(firstAxes(varied(ROWS))).toEqual(["XBLOCK", "warps"]);
  expect(firstAxes(["XBLOCK", "YBLOCK"])).toEqual(["XBLOCK", "YBLOCK"]);
  expect(firstAxes(["warps"])).toEqual(["warps", "stages"]);
});

test("a cell shows the best with its two values", () => {
  const plane = planeOf(ROWS, "XBLOCK", "warps");
  expect([plane.down, plane.across]).toEqual([
    [128, 256],
    [4, 8],
  ]);
  expect(plane.tiles[1]![1]).toMatchObject({ best: { id: "r3" }, count: 2 });
  expect(plane.tiles[0]![1]).toBeNull();
});

test("slowness is told against the best and the slowest", () => {
  expect(ROWS.map((row) => slowness(row, ROWS))).toEqual([0, 0.25, 0.75, 0.5]);
  expect(slowness(ranked("r9", 1, 1, { model_us: null }), ROWS)).toBe(0);
});

test("each kernel on each GPU is a subject of its own", () => {
  expect(subjects([...ROWS, ranked("r9", 1, 1, { kernel: "k1" })])).toEqual([
    { kernel: "k0", target: "h100" },
    { kernel: "k1", target: "h100" },
  ]);
});

const TARGETS: Targets = { present: "h100", choices: [], why_not: null };

test("one target takes the place of another, several GPUs are compared", () => {
  expect(offers(TARGETS, []).place.why).toBe("Choose a target.");
  expect(offers(TARGETS, ["a100"]).place).toEqual({ words: "Compile for a100", why: null });
  expect(offers(TARGETS, ["h100"]).place.why).toBe("This view is already for h100.");
  expect(offers(TARGETS, ["a100", "t4"]).compare).toEqual({
    words: "Compare kernels on 2 GPUs",
    why: null,
  });
  expect(offers(TARGETS, ["a100", "host"]).compare.why).toContain("host is not a GPU");
  expect(offers(TARGETS, ["a100", "t4"]).place.why).toContain("only one");
});

test("an order among those that the model gives one time says nothing", () => {
  const same = [1, 1.001, 2].map((model_us, at) =>
    ranked(`r${at}`, 128, 4, { model_us, rank: at + 1 }),
  );
  expect(sayEqual(same)).toContain("the top 2 the same time");
  expect(sayEqual(same.slice(0, 2))).toContain("gives all 2 the same time");
  expect(countBest(same)).toBe(2); // so none is "first"
  expect(sayEqual(same.slice(1))).toBe("");
});

test("with a prior those with one time of the model have an order", () => {
  const placed = [0.9, 1].map((placed_us, at) => ranked(`r${at}`, 128, 4, { placed_us }));
  expect(countBest(placed)).toBe(1);
  expect(sayEqual(placed)).toBe("");
});
