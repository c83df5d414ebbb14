import { expect, test } from "vitest";
import { Links } from "../src/links";
import { PANES } from "../src/panes";
import { HIGH, endOf, outline } from "../src/storages/part";
import type { Embedded, MemoryPart, MemoryStorage } from "../src/wire";
import sample from "./sample.json";

const REPORT = (sample as unknown as Embedded).document;

function storage(id: string, more: Partial<MemoryStorage> = {}): MemoryStorage {
  return {
    id,
    value: "mm",
    kind: "temporary",
    mark: "g1",
    bytes: 8,
    start: 0,
    end: 1,
    at_peak: true,
    lowers: 8,
    line: null,
    place: "",
    module: null,
    node: null,
    buffers: [],
    reuse: "",
    ...more,
  };
}

const PART: MemoryPart = {
  kind: "memory",
  id: "",
  sentence: "",
  missing: "",
  peaks: [["inference", 12, 1]],
  base: 4,
  capacity: null,
  kernels: ["k0", "k1", null],
  names: ["a", "b", "c"],
  backward: null,
  layers: [],
  at_peak: {},
  storages: [],
  columns: [],
};

test("a kind is drawn on top of those below it, equal steps as one", () => {
  const below = [0, 0, 0];
  expect(outline([5, 5, 5], below, 10)).toBe(`M0,${HIGH}H0V5000H3V${HIGH}H0Z`);
  expect(below).toEqual([5, 5, 5]);
  expect(outline([0, 5, 5], below, 10)).toBe(`M0,${HIGH}H0V5000H1V0H3V5000H1V5000H0Z`);
  expect(below).toEqual([5, 10, 10]);
});

test("what outlives the call lives up to its last step", () => {
  expect(endOf(PART, storage("m0", { end: 1 }))).toBe(1);
  expect(endOf(PART, storage("m0", { end: null }))).toBe(2);
});

test("a storage belongs to its line, its node and the kernels of its buffers", () => {
  const known = REPORT.kernels.find(({ lines, nodes }) => lines.length && nodes.length)!;
  const kernel = { ...known, buffers: ["i0:buf9"] };
  const [line, node] = [kernel.lines[0]!, kernel.nodes[0]!];
  const one = storage("m3", { line, node, buffers: kernel.buffers });
  const links = new Links({ ...REPORT, kernels: [kernel] }, PANES);
  expect(links.related("m3").size).toBe(0);
  expect(links.learn({ ...PART, storages: [one] })).toBe(true);
  expect([...links.related("m3")]).toEqual(expect.arrayContaining([kernel.id, line, node]));
  expect(links.related(kernel.id).has("m3")).toBe(true);
  expect(links.related(line).has("m3")).toBe(true);
});
