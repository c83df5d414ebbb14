import { expect, test } from "vitest";
import { Links } from "../src/links";
import { PANES } from "../src/panes";
import { peakOf, peakWords } from "../src/memory/budgets";
import { HIGH, endOf, merged, outline } from "../src/memory/part";
import { eachWords } from "../src/memory/memory";
import type { Budget, Embedded, MemoryPart, MemoryShare, MemoryStorage } from "../src/wire";
import sample from "./sample.json";

const REPORT = (sample as unknown as Embedded).document;

function storage(id: string, more: Partial<MemoryStorage> = {}): MemoryStorage {
  return {
    id,
    same: id,
    in_layers: null,
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
  eager: null,
  kernels: ["k0", "k1", null],
  names: ["a", "b", "c"],
  backward: null,
  layers: [],
  at_peak: {},
  stack: [],
  storages: [],
  remarks: [],
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

test("storages of equal layers are one row with their sum, the selected one in front", () => {
  const rows = [storage("m0"), storage("m1", { same: "m0" }), storage("m2", { bytes: 3 })];
  const shown = merged(rows, null);
  expect(shown.map(({ id, bytes, all }) => [id, bytes, all.length])).toEqual([
    ["m0", 16, 2],
    ["m2", 3, 1],
  ]);
  expect(merged(rows, "m1")[0]!.id).toBe("m1");
});

test("what each of several layers holds is a range where they differ", () => {
  const share = (each: [number, number]) => ({ each }) as MemoryShare;
  expect(eachWords(share([1000, 1000]))).toBe("1.00 kB");
  expect(eachWords(share([1000, 2000]))).toBe("1.00 kB to 2.00 kB");
});

test("the peak of a budget is the compiled one, else the preview, which says so", () => {
  const budget = (peak: number | null, preview: number | null) => ({ peak, preview }) as Budget;
  expect(peakOf(budget(5, 9))).toBe(5);
  expect(peakOf(budget(null, 9))).toBe(9);
  expect(peakWords(budget(5000, 9))).toBe("5.00 kB, compiled");
  expect(peakWords(budget(null, 9000))).toBe("9.00 kB (preview)");
  expect(peakWords(budget(null, null))).toBe("not compiled");
});
