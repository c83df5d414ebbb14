import { describe, expect, test } from "vitest";
import { entriesOf } from "../../../src/worlds/profiles/finding";
import { placedIn, pathOf } from "../../../src/worlds/profiles/icicle";
import { closedRows } from "../../../src/worlds/profiles/painting";
import {
  around,
  eachDrawn,
  eventAt,
  moved,
  ticksOf,
  trackOf,
  within,
  zoomed,
} from "../../../src/worlds/profiles/tracks";
import type { ProfileBox, ProfileDocument, ProfileTrack } from "../../../src/worlds/profiles/wire";

function wire(
  events: readonly (readonly [begin: number, last: number, level?: number])[],
): ProfileTrack {
  const begins = events.map(([begin], i) => begin - (events[i - 1]?.[0] ?? 0));
  const none = events.map(() => -1);
  return {
    id: "s7",
    title: "Stream 7",
    note: "",
    is_device: true,
    begins,
    lasts: events.map(([, last]) => last),
    levels: events.map(([, , level]) => level ?? 0),
    of: events.map((_, i) => i),
    looks: events.map(() => 0),
    launched: none,
    launched_from: none,
  };
}

describe("events of a track", () => {
  const track = trackOf(
    wire([
      [100, 50],
      [120, 10, 1],
      [200, 1],
      [202, 1],
      [204, 1],
      [900, 100],
    ]),
  );
  const drawn = (begin: number, end: number, pixel: number) => {
    const all: [number, number][] = [];
    eachDrawn(track, track.levels[0]!, { begin, end }, pixel, (d) => all.push([d.first, d.last]));
    return all;
  };

  test("begin after one another, in levels that do not overlap", () => {
    expect([...track.begins]).toEqual([100, 120, 200, 202, 204, 900]);
    expect(track.levels.map((level) => [...level])).toEqual([[0, 2, 3, 4, 5], [1]]);
  });

  test("outside of the span are not drawn", () => {
    expect(drawn(160, 800, 0.1)).toEqual([
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
    expect(drawn(0, 100, 0.1)).toEqual([]);
  });

  test("that share a pixel are drawn as one", () => {
    expect(drawn(0, 1000, 10)).toEqual([
      [0, 0],
      [2, 4],
      [5, 5],
    ]);
  });

  test("cost as many steps as there are pixels", () => {
    const many = trackOf(wire(Array.from({ length: 100_000 }, (_, i) => [i * 10, 5] as const)));
    let steps = 0;
    eachDrawn(many, many.levels[0]!, { begin: 0, end: 1e6 }, 1e6 / 800, () => (steps += 1));
    expect(steps).toBeLessThanOrEqual(801);
    expect(steps).toBeGreaterThan(700);
  });

  test("are found under the pointer, and a little beside it", () => {
    expect(eventAt(track, track.levels[0]!, 120, 0)).toBe(0);
    expect(eventAt(track, track.levels[0]!, 500, 0)).toBe(-1);
    expect(eventAt(track, track.levels[0]!, 895, 6)).toBe(5);
  });
});

describe("the part of a trace in sight", () => {
  test("stays inside the trace", () => {
    expect(within({ begin: -50, end: 950 }, 2000)).toEqual({ begin: 0, end: 1000 });
    expect(moved({ begin: 500, end: 1500 }, 1, 2000)).toEqual({ begin: 1000, end: 2000 });
    expect(zoomed({ begin: 0, end: 1000 }, 10, 500, 2000)).toEqual({ begin: 0, end: 2000 });
  });

  test("keeps what is under the pointer in its place", () => {
    const span = zoomed({ begin: 0, end: 10_000 }, 0.5, 2500, 100_000);
    expect((2500 - span.begin) / (span.end - span.begin)).toBeCloseTo(0.25);
  });

  test("fits an event with twice its length at either side", () => {
    expect(around(1000, 2000, 100_000)).toEqual({ begin: 0, end: 5000 });
  });

  test("has round times on its axis", () => {
    expect(ticksOf({ begin: 130, end: 1000 }, 5)).toEqual([200, 400, 600, 800, 1000]);
  });
});

describe("modules as an icicle", () => {
  const box = (id: string, parent: number, level: number, begin_us: number, last_us: number) =>
    ({
      id,
      title: id,
      words: id,
      parent,
      level,
      begin_us,
      last_us,
      kind: null,
      row: null,
    }) as ProfileBox;
  const boxes = [
    box("layers", -1, 0, 0, 80),
    box("attention", 0, 1, 0, 60),
    box("mlp", 0, 1, 60, 20),
    box("head", -1, 0, 80, 20),
    box("tiny", -1, 0, 100, 0.01),
  ];

  test("has widths by time, and leaves out what is too narrow", () => {
    const placed = placedIn(boxes, -1, 100, 1000);
    expect(placed.map(({ box: { id }, left, width, row }) => [id, left, width, row])).toEqual([
      ["layers", 0, 800, 0],
      ["attention", 0, 600, 1],
      ["mlp", 600, 200, 1],
      ["head", 800, 200, 0],
    ]);
  });

  test("looks into one, which then has the whole width", () => {
    const placed = placedIn(boxes, 0, 100, 1000);
    expect(placed.map(({ box: { id }, left, width }) => [id, left, width])).toEqual([
      ["layers", 0, 1000],
      ["attention", 0, 750],
      ["mlp", 750, 250],
    ]);
  });

  test("spells out where a box is", () => {
    expect(pathOf(boxes, 2).map((at) => boxes[at]!.id)).toEqual(["layers", "mlp"]);
  });
});

test("several threads show fewer levels each, so that the streams are in sight", () => {
  const stream = trackOf(wire([[0, 5]]));
  const thread = trackOf({ ...wire([[0, 5]]), is_device: false });
  expect([1, 2, 3, 9].map((n) => closedRows([...Array(n).fill(thread), stream]))).toEqual([
    3, 2, 1, 1,
  ]);
});

test("the search finds kernels by title and name, modules, lines and what threads did", () => {
  const row = { row: "kernels:0", title: "product 8 × 8", name: "sm90_gemm", time_us: 12 };
  const doc = {
    tables: [{ id: "kernels", rows: [row] }],
    changes: [{ id: "changes:0", title: "Pad 7 to 8" }],
    names: ["ProfilerStep#1"],
  } as unknown as ProfileDocument;
  const found = entriesOf(doc).flatMap(({ entries }) => [...entries]);
  expect(found.map(({ id, text }) => [id, text])).toEqual([
    ["kernels:0", "product 8 × 8 · sm90_gemm"],
    ["changes:0", "Pad 7 to 8"],
    ["names:0", "ProfilerStep#1"],
  ]);
});
