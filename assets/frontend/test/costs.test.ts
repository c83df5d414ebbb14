import { expect, test } from "vitest";
import { chosenCost, costOf, costWords, shownCost, valueOf } from "../src/cost/cost";
import { pageHost } from "../src/host";
import { placesText } from "../src/inspector/line";
import { costliest } from "../src/inspector/inspector";
import { cellsOf, filtered, merged, whose } from "../src/kernels/table";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import { sorted } from "../src/table/sorting";
import type { Cost, Embedded, Kernel, Document as Report, TreeRow } from "../src/wire";
import sample from "./sample.json";

const embedded = sample as unknown as Embedded;
const TIME: Cost = {
  kind: "time",
  name: "Time",
  unit: "us",
  brief: "measured",
  source: "measured, median of 50 calls",
  is_estimate: false,
};

/** The sample as if its kernels had been measured: 10 µs, 20 µs, 30 µs, … */
function timed(): Report {
  const { document } = embedded;
  const kernels = document.kernels.map((kernel, n) => ({
    ...kernel,
    cost: { ...kernel.cost, time: 10 * (n + 1) },
  }));
  return { ...document, costs: [TIME, ...document.costs], kernels };
}

function open(document: Report): Store {
  return new Store(pageHost({ ...embedded, document }), PANES);
}

test("the best cost that is known is shown until the reader asks for another", () => {
  const store = open(timed());
  expect(shownCost(store).value?.kind).toBe("time");
  chosenCost(store).value = "bytes";
  expect(shownCost(store).value).toMatchObject({ kind: "bytes", title: "Bytes (est.)" });
  chosenCost(store).value = "bound"; // not known here: the best takes its place
  expect(shownCost(store).value?.kind).toBe("time");
});

test("a cost says which part of the whole it is", () => {
  const cost = costOf(timed(), null)!;
  expect(cost.total).toBe(10 * 190); // 19 kernels
  expect(costWords(cost, 190)).toBe("190 µs, 10 % of all kernels");
  const [first, ...others] = timed().kernels;
  const part = costOf({ ...timed(), kernels: [{ ...first!, cost: {} }, ...others] }, null)!;
  expect(costWords(part, 190)).toBe("190 µs, 10 % of the kernels with a known cost");
  expect(valueOf(cost, { cost: { bytes: 7 } })).toBeNull();
});

test("the table of kernels opens on the most expensive first and is sorted by the shown cost", () => {
  const report = timed();
  const order = (kind: "time" | "bytes") => {
    const cells = cellsOf(costOf(report, kind), report.kernels);
    return sorted(report.kernels, cells["cost"]!.value!, "desc").map((kernel) => kernel.id);
  };
  expect(order("time").slice(0, 2)).toEqual(["k18", "k17"]);
  expect(order("bytes")[0]).not.toBe("k18");
});

test("identical kernels are one row with the calls and the costs of all", () => {
  const [a, b, c] = timed().kernels;
  const twin = { ...b!, same: a!.id, calls: 3 };
  const [first, other] = merged([a!, twin, c!]);
  expect(first).toMatchObject({ id: a!.id, calls: a!.calls + 3, cost: { time: 10 + 20 } });
  expect(other).toBe(c);
  const [lit] = merged([a!, twin, c!], twin.id);
  expect(lit).toMatchObject({ id: twin.id, calls: a!.calls + 3, cost: { time: 10 + 20 } });
  expect(merged([a!, c!])).toEqual([a, c]);
});

test("every word of the filter has to be in a kernel", () => {
  const { kernels } = embedded.document;
  const names = (words: string) => filtered(kernels, words).map((kernel) => kernel.id);
  expect(names("library mm")).toContain("k1");
  expect(names("library mm").every((id) => kernels.find((k) => k.id === id)?.code === null)).toBe(
    true,
  );
  expect(names("  ")).toHaveLength(kernels.length);
  expect(names("nothing like it")).toEqual([]);
});

test("the Kernels pane opens on the table, and on code for what was opened", () => {
  const store = open(embedded.document);
  store.show("kernels");
  store.select("k3");
  expect(store.isCode.value).toBe(false);
  store.openCode();
  expect([store.isCode.value, store.selected.value]).toEqual([true, "k3"]);
  store.closeCode("k3");
  expect([store.isCode.value, store.selected.value]).toEqual([false, "k3"]);
  store.back();
  expect(store.isCode.value).toBe(true);
  store.select("k5", { pane: "overview" });
  store.openCode();
  expect([store.pane.value, store.isCode.value]).toEqual(["kernels", true]);
  store.closeCode("k5");
  store.select("K:k5:3"); // a line of code is not in the table
  expect(store.isCode.value).toBe(true);
});

test("the costliest line is the sentence's: a line of the call, with what it calls", () => {
  const row = (id: string, depth: number, kind: TreeRow["kind"], time: number): TreeRow => ({
    id,
    depth,
    kind,
    name: "",
    caption: "",
    total: { time },
    own: {},
  });
  const calls = [
    row("s0", 0, "function", 15),
    row("L:s0:1", 1, "line", 9),
    row("s1", 2, "function", 9),
    row("L:s1:4", 3, "line", 6),
    row("L:s0:2", 1, "line", 6),
    row("s9", 0, "library", 20),
    row("L:s9:1", 1, "line", 20),
  ];
  const modules = [row("M:", 0, "module", 15), row("M:a", 1, "module", 5)];
  expect(costliest({ calls, modules }, "time")).toEqual(["L:s0:1"]);
  expect(costliest({ calls: calls.slice(5), modules }, "time")).toEqual(["M:a"]);
  expect(costliest({ calls, modules }, "bytes")).toEqual([]);
});

test("a line of several places says what each has of the sum", () => {
  const cost = costOf(timed(), "time")!;
  expect(placesText(cost, [65e3, 258e3])).toContain("the sum over 2 places in the tree");
  expect(placesText(cost, [65e3, 258e3])).toContain("65");
});

test("says of how many calls the figures of a row are, where that differs", () => {
  const [a, b] = timed().kernels as [Kernel, Kernel];
  const cost = costOf(timed(), null)!;
  const once = { ...a, calls: 1 };
  expect(whose(cost, [once])).toBe("Time: measured");
  expect(whose(cost, [once, { ...b, calls: 3 }])).toBe(
    "Time: all calls; other columns: one call · measured",
  );
  expect(whose({ ...cost, kind: "memory" }, [{ ...b, calls: 3 }])).toBe("Time: measured");
  expect(merged([a, { ...b, same: a.same }])[0]).toMatchObject({ alike: [a.id, b.id] });
});
