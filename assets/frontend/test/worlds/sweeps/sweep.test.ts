import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { liveRecords, readRecords } from "../../../src/opened/host";
import type { Model } from "../../../src/model";
import {
  cellKey,
  cells,
  frontsOf,
  place,
  tickTexts,
  ticks,
} from "../../../src/worlds/sweeps/geometry";
import { bySize, constantOf, shortName } from "../../../src/worlds/sweeps/constant";
import { counted, SweepState } from "../../../src/worlds/sweeps/state";
import type { Ask } from "../../../src/wire";
import type { SweepDocument, SweepRow } from "../../../src/worlds/sweeps/wire";

function row(settings: string[], speedup: number | null, more: Partial<SweepRow> = {}): SweepRow {
  return {
    id: settings.join(", "),
    settings,
    status: speedup === null ? "crashed" : "done",
    remark: "",
    is_model: false,
    from_store: false,
    can_open: speedup !== null,
    figures: [speedup, 3],
    words: [`${speedup} ×`, "3 s"],
    interval: "",
    rounds: [],
    verdict: speedup === null ? "" : "faster",
    evidence: "",
    same_as: null,
    ...more,
  };
}

const ROWS = [row(["a", "1"], 1), row(["a", "2"], 2), row(["b", "1"], 4), row(["b", "2"], null)];

const SHOWN: SweepDocument = {
  version: 1,
  name: "f",
  variable: "found",
  status: "done",
  axes: [
    { name: "mode", values: ["a", "b"], is_size: false },
    { name: "n", values: ["1", "2"], is_size: true },
  ],
  figures: [
    { id: "speedup", title: "Speed-up", is_better: "more" },
    { id: "compile_s", title: "Compile", is_better: "less" },
  ],
  rows: ROWS,
  more: 0,
  total: 4,
  elapsed_s: 3,
  left_s: null,
  by: "speedup",
  best: ["b, 1"],
  fronts: [["b, 1"], ["a, 2"]],
  sentence: "Take b.",
  code: "",
  facts: "",
  notes: [],
};

test("ticks are round and inside", () => {
  expect(ticks(0.3, 2.1, 4)).toEqual([0.5, 1, 1.5, 2]);
  expect(ticks(5, 5, 4)).toEqual([5]);
  expect(place(3, [3, 3], [0, 10])).toBe(5);
});

test("a front joins the spots of its rows, in its order, without what is not drawn", () => {
  const spots = ROWS.slice(0, 3).map((row, x) => ({ row, x, y: 0 }));
  const fronts = frontsOf([["b, 1", "a, 1", "b, 2"], ["a, 2"]], spots);
  expect(fronts.map((front) => front.map(({ x }) => x))).toEqual([[2, 0], [1]]);
});

test("a cell of the heat map holds the best of its rows", () => {
  const found = cells(ROWS, [0, 0], (each) => each.figures[0] ?? null, true);
  expect(found.get(cellKey("", "a"))?.value).toBe(2);
  expect(found.get(cellKey("", "b"))?.shade).toBe(0);
  expect(found.get(cellKey("", "a"))?.shade).toBe(1);
});

test("at most two rows are picked, the third takes the place of the first", () => {
  const state = new SweepState(readRecords(SHOWN, "saved"));
  for (const id of ["a, 1", "a, 2", "b, 1"]) state.pick(id);
  expect(state.picked.value).toEqual(["a, 2", "b, 1"]);
  state.pick("a, 2");
  expect(state.picked.value).toEqual(["b, 1"]);
  expect(counted(ROWS)).toEqual({ done: 3, failed: 1, running: 0 });
});

test("without a kernel a row is selected and not opened", async () => {
  const state = new SweepState(readRecords(SHOWN, "saved"));
  await state.open(ROWS[0]!);
  expect(state.selected.value).toBe("a, 1");
  expect(state.opening.opened.value).toBe(null);
  expect(state.panes.map(({ id }) => id)).toEqual(["table", "pareto", "heat", "axes"]);
});

/** A model whose sweep changes and whose requests the test answers. */
class Kernel implements Model {
  readonly asked: Ask[] = [];
  shown = SHOWN;
  private readonly calls = new Map<string, (...args: unknown[]) => void>();

  get(): unknown {
    return new DataView(new Uint8Array(gzipSync(JSON.stringify(this.shown))).buffer);
  }
  set(): void {}
  save_changes(): void {}
  send(content: unknown): void {
    this.asked.push(content as Ask);
  }
  on(event: string, call: (...args: never[]) => void): void {
    this.calls.set(event, call as () => void);
  }
  off(event: string): void {
    this.calls.delete(event);
  }
  answer(value: unknown, error: string | null = null): void {
    const ask = this.asked.at(-1)!;
    const buffers = error === null ? [new Uint8Array(gzipSync(JSON.stringify(value)))] : [];
    this.calls.get("msg:custom")?.({ id: ask.id, ask: ask.ask, error }, buffers);
  }
  change(): void {
    this.calls.get("change:sweep")?.();
  }
}

async function live(): Promise<[Kernel, SweepState]> {
  const kernel = new Kernel();
  const state = new SweepState(liveRecords(kernel, "sweep"));
  await expect.poll(() => state.doc.value?.name).toBe("f");
  return [kernel, state];
}

test("the table follows the model", async () => {
  const [kernel, state] = await live();
  kernel.shown = { ...SHOWN, rows: ROWS.slice(0, 1) };
  kernel.change();
  await expect.poll(() => state.rows.value.length).toBe(1);
});

test("a refused row says why, and the way back leads to the table", async () => {
  const [kernel, state] = await live();
  const opening = state.open(ROWS[0]!);
  expect(state.opening.opened.value?.kind).toBe("asked");
  expect(kernel.asked.at(-1)?.question).toEqual({ row: "a, 1", part: "document" });
  kernel.answer(null, "There is no record.");
  await opening;
  expect(state.opening.opened.value).toEqual({
    kind: "failed",
    title: "a, 1",
    text: "There is no record.",
  });
  state.opening.back();
  expect(state.opening.opened.value).toBe(null);
});

test("what was left before it came does not open any more", async () => {
  const [kernel, state] = await live();
  state.pick("a, 1");
  state.pick("a, 2");
  const comparing = state.compare();
  state.opening.back();
  kernel.answer({ parts: [], kernels: [], sentences: [] });
  await comparing;
  expect(state.opening.opened.value).toBe(null);
});

test("what is the same in all rows is said once, and the sizes head the forest plot", () => {
  const rows = [row(["a", "1"], 1), row(["a", "2"], 2), row(["a", "1"], 4)];
  const axes = [{ name: "mode", values: ["a"], is_size: false }, SHOWN.axes[1]!];
  const doc = { ...SHOWN, axes, rows };
  const constant = constantOf(doc);
  expect(constant.words).toEqual(["mode=a", "Compile 3 s"]);
  expect([...constant.axes, ...constant.figures]).toEqual([0, 1]);
  expect(bySize(doc, rows).map(({ size, rows }) => [size, rows.length])).toEqual([
    ["n=1", 2],
    ["n=2", 1],
  ]);
  expect(shortName(doc, rows[0]!, constant)).toBe("as it is");
  expect(shortName(SHOWN, ROWS[2]!, constantOf(SHOWN))).toBe("mode=b");
});

test("the numbers of an axis have the same decimals", () => {
  expect(tickTexts([1, 1.5, 2])).toEqual(["1.0", "1.5", "2.0"]);
  expect(tickTexts([0, 5, 10])).toEqual(["0", "5", "10"]);
  expect(tickTexts([0, 20_000])).toEqual(["0", "20.0 k"]);
  expect(tickTexts([])).toEqual([]);
});
