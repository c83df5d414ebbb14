import { expect, test } from "vitest";
import { amount, tflops } from "../src/format";
import {
  along,
  alongLines,
  axesOf,
  folded,
  hasPlace,
  labelOf,
  linesOf,
  named,
  namesOf,
  nextPlace,
  placesOf,
  standing,
  rateOf,
  ticks,
  unitOf,
} from "../src/roofline/geometry";
import type { Roof, RooflinePoint } from "../src/wire";

const ROOF: Roof = {
  target: "h100",
  sentence: "",
  source: "",
  bandwidth_gbs: 2000,
  rates: [
    ["matrix.bf16", 1000],
    ["vector.fp32", 60],
  ],
};

function point(kernel: string, more: Partial<RooflinePoint> = {}): RooflinePoint {
  return {
    kernel,
    target: "h100",
    asked_bytes: null,
    moved_bytes: 1e6,
    flops: 1e6,
    rate: "vector.fp32",
    intensity: 1,
    ridge: 30,
    bound: "memory",
    bound_us: 0.5,
    attainable_tflops: 2,
    measured_us: null,
    estimate: true,
    share: 0.5,
    of_roof: null,
    note: null,
    ...more,
  };
}

test("an estimate lies on the roof, a measured kernel below it", () => {
  expect(rateOf(point("k0"))).toBe(2);
  expect(rateOf(point("k0", { measured_us: 1 }))).toBeCloseTo(1);
  const axes = axesOf(ROOF, [point("k0"), point("k1", { measured_us: 1 })]);
  const [memory] = linesOf(ROOF, axes);
  const [first, second] = placesOf([point("k0"), point("k1", { measured_us: 1 })], axes);
  const slope = (memory!.y2 - memory!.y1) / (memory!.x2 - memory!.x1);
  const roofAt = (x: number) => memory!.y1 + slope * (x - memory!.x1);
  expect(second!.point.kernel).toBe("k0");
  expect(second!.y).toBeCloseTo(roofAt(second!.x));
  expect(first!.y).toBeLessThan(roofAt(first!.x));
});

test("each roof begins at its ridge, the slope ends at the highest", () => {
  const axes = axesOf(ROOF, [point("k0")]);
  const [memory, matrix, vector] = linesOf(ROOF, axes);
  expect(memory!.x2).toBeCloseTo(along(axes.x, 500));
  expect(matrix!.x1).toBeCloseTo(memory!.x2);
  expect(matrix!.y1).toBeCloseTo(memory!.y2);
  expect(vector!.x1).toBeCloseTo(along(axes.x, 30));
  for (const line of [memory, matrix, vector])
    for (const place of [line!.x1, line!.x2, line!.y1, line!.y2]) {
      expect(place).toBeGreaterThanOrEqual(-1e-9);
      expect(place).toBeLessThanOrEqual(1 + 1e-9);
    }
});

test("a kernel without operations has no place on a logarithmic axis", () => {
  const still = point("k2", { flops: 0, intensity: 0, attainable_tflops: 0 });
  expect(hasPlace(still)).toBe(false);
  expect(placesOf([still], axesOf(ROOF, [still]))).toEqual([]);
  expect(hasPlace(point("k3", { intensity: null }))).toBe(false);
});

test("the area of a point is its share of the time", () => {
  const axes = axesOf(ROOF, [point("k0")]);
  const shares = [1, 0.25, 0].map((share, i) => point(`k${i}`, { share, intensity: 1 + i }));
  const [big, quarter, tiny] = placesOf(shares, axes);
  expect(big!.radius / quarter!.radius).toBe(2);
  expect(tiny!.radius).toBe(4);
});

test("ticks are the powers of ten", () => {
  expect(ticks({ least: 0.1, most: 200 })).toEqual([0.1, 1, 10, 100]);
});

test("points in one place share a name with their count, as eight of one convolution did not", () => {
  const points = [1, 2, 3, 4, 5, 6].map((n) => point(`k${n}`, { share: n / 21 }));
  const places = placesOf(points, axesOf(ROOF, points));
  const found = named(places, 800, 250);
  expect([...found]).toEqual([["k6", { side: "right", words: "k6 + 5" }]]);
  const alike = [point("k6", { share: 0.3, alike: ["k6", "k7"] } as object), ...points.slice(0, 5)];
  const counted = named(placesOf(alike, axesOf(ROOF, alike)), 800, 250);
  expect([...counted.values()].map(({ words }) => words)).toEqual(["k6 + 6"]);
  const apart = points.map((each, i) => ({ ...each, intensity: 1.02 ** i }));
  const near = named(placesOf(apart, axesOf(ROOF, apart)), 800, 250);
  expect(near.size).toBeGreaterThan(1);
  const all = { left: 0, right: 800, bottom: 0, top: 250 };
  expect(named(places, 800, 250, [all]).size).toBe(0);
});

test("no name of a point lies on a roof: on a slope it takes a free corner", () => {
  const many = [0.2, 0.25, 0.8, 1, 1, 1, 1, 1, 5].map((intensity, n) =>
    point(`k${n}`, { intensity, attainable_tflops: 2 * intensity }),
  );
  const places = placesOf(many, axesOf(ROOF, many));
  const roofs = alongLines(linesOf(ROOF, axesOf(ROOF, many)), 900, 250);
  const found = named(places, 900, 250, [], roofs);
  expect(found.size).toBeGreaterThan(3);
  const sides = [...found.values()].map(({ side }) => side);
  expect(sides).not.toContain("right");
  expect(sides).toContain("above left");
});

test("a roof at the right end has its name above itself, not beside the slope", () => {
  const lines = linesOf(ROOF, axesOf(ROOF, [point("k0")]));
  const names = namesOf(lines, ({ name }) => `${name} 1.00 PFLOP/s`, 900, 250);
  for (const { line, box } of names.slice(1)) expect(box.left).toBeGreaterThan(line.x1 * 900);
});

test("no name of a roof lies on another, however near their rates are", () => {
  const roof: Roof = {
    ...ROOF,
    rates: [
      ["matrix.bf16", 1000],
      ["matrix.fp16", 990],
      ["matrix.tf32", 980],
    ],
  };
  const lines = linesOf(roof, axesOf(roof, [point("k0")]));
  const boxes = namesOf(lines, ({ name }) => name, 800, 250).map(({ box }) => box);
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1))
      expect(a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top).toBe(
        false,
      );
});

test("a measured kernel that reaches nine tenths of its roof says so", () => {
  expect(labelOf(point("k0", { of_roof: 0.93 }))).toBe("k0, on the roof");
  expect(labelOf(point("k0", { of_roof: 0.5 }))).toBe("k0");
  expect(labelOf(point("k0"))).toBe("k0");
});

test("arrows walk the points by place", () => {
  const points = [point("k0"), point("k1", { intensity: 10, attainable_tflops: 20 })];
  const [left, right] = placesOf(points, axesOf(ROOF, points));
  expect(nextPlace([left!, right!], left!, "ArrowRight")).toBe(right);
  expect(nextPlace([left!, right!], right!, "ArrowDown")).toBe(left);
  expect(nextPlace([left!, right!], right!, "ArrowRight")).toBeNull();
});

test.each([
  [0, "0"],
  [0.375, "0.375"],
  [12, "12"],
  [19.96, "20.0"],
  [1572864, "1.57 M"],
  [1073741824, "1.07 G"],
])("%s operations are written %s", (value, text) => expect(amount(value)).toBe(text));

test.each([
  [0.83, "830 GFLOP/s"],
  [66.9, "66.9 TFLOP/s"],
  [1979, "1.98 PFLOP/s"],
])("%s TFLOP/s are written %s", (value, text) => expect(tflops(value)).toBe(text));

test("a point above its roof is not said to sit on it", () => {
  const at = (of_roof: number | null) => standing({ of_roof } as RooflinePoint);
  expect([at(null), at(0.5), at(0.95), at(1.05), at(3)]).toEqual([
    "",
    "",
    "on the roof",
    "on the roof",
    "above the roof",
  ]);
});

test("identical kernels without a time are one point, lit by the selected one", () => {
  const points = [point("k1", { share: 0.2 }), point("k2", { share: 0.2 }), point("k3")];
  const sameOf = (kernel: string) => (kernel === "k2" ? "k1" : kernel);
  const [first, other] = folded(points, sameOf, "k2");
  expect(first).toMatchObject({ kernel: "k2", share: 0.4, alike: ["k1", "k2"] });
  expect(labelOf(first!)).toBe("k2 × 2");
  expect(other).toBe(points[2]);
  const timed = points.map((each) => ({ ...each, measured_us: 1 }));
  expect(folded(timed, sameOf, null)).toBe(timed); // of each its own time
});

test("a CPU has its rates in numbers of a few digits", () => {
  const host = { ...ROOF, bandwidth_gbs: 20, rates: [["vector.fp32", 0.06]] as [string, number][] };
  expect(unitOf(axesOf(host, []))).toEqual(["GFLOP/s", 1e-3]);
  expect(unitOf(axesOf(ROOF, [point("k0")]))).toEqual(["TFLOP/s", 1]);
});

test("the name of a roof stands beside the points where there is room", () => {
  const many = [40, 60, 80].map((intensity, at) =>
    point(`k${at}`, { intensity, attainable_tflops: 61, share: 0.3 }),
  );
  const axes = axesOf(ROOF, many);
  const placed = placesOf(many, axes);
  const names = namesOf(linesOf(ROOF, axes), (line) => `${line.name} 60 TFLOP/s`, 700, 200, placed);
  for (const { box } of names)
    for (const { x, y, radius } of placed) {
      const isBeside = box.right <= x * 700 - radius || box.left >= x * 700 + radius;
      expect(isBeside || box.bottom >= y * 200 + radius || box.top <= y * 200 - radius).toBe(true);
    }
});
