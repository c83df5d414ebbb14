import { expect, test } from "vitest";
import { PANES } from "../src/panes";
import { pageHost } from "../src/host";
import { Store } from "../src/store";
import type { Embedded } from "../src/wire";
import sample from "./sample.json";

function open(): Store {
  return new Store(pageHost(sample as unknown as Embedded), PANES);
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 30));
}

test("selecting a line loads what it takes to say which nodes and kernel lines belong to it", async () => {
  const store = open();
  store.select("L:s0:37");
  await settled();
  expect(store.related.value).toContain("g1:topk");
  expect([...store.related.value].some((id) => id.startsWith("K:k9:"))).toBe(true);
});

test("a place that was kept is followed once the document is here", async () => {
  const host = pageHost(sample as unknown as Embedded);
  const report = host.document.value;
  host.document.value = null;
  const store = new Store(host, PANES);
  store.begin({ pane: "kernels", selected: "L:s0:37" });
  expect(store.related.value.size).toBe(0);
  host.document.value = report;
  await settled();
  expect(store.related.value).toContain("g1:topk");
  expect(store.canGoBack.value).toBe(false);
});

test("back and forward walk panes and selections", () => {
  const store = open();
  store.select("L:s0:37");
  store.show("kernels");
  store.select("k9");
  store.back();
  expect([store.pane.value, store.selected.value]).toEqual(["kernels", "L:s0:37"]);
  store.back();
  store.back();
  expect([store.pane.value, store.selected.value]).toEqual(["overview", null]);
  expect(store.canGoBack.value).toBe(false);
  store.forward();
  expect(store.selected.value).toBe("L:s0:37");
});

test("a new step forgets what lay ahead", () => {
  const store = open();
  store.select("k0");
  store.select("k2");
  store.back();
  store.select("k9");
  expect(store.canGoForward.value).toBe(false);
  store.back();
  expect(store.selected.value).toBe("k0");
});

test("a part that the page does not carry is refused with its reason", async () => {
  await expect(open().need("graph:g0")).rejects.toThrow("left out of this page");
  await expect(open().need("graph:g9")).rejects.toThrow("run the cell again");
});

test("a node's details are found once its graph is here", async () => {
  const store = open();
  expect(store.node("g1:topk")).toBeNull();
  await store.need("graph:g1");
  const found = store.node("g1:topk");
  expect(found?.part.targets[found.at]).toBe("aten.topk.default");
});

test("where another target takes the place of the first, nothing of the first stays selected", async () => {
  const host = pageHost(sample as unknown as Embedded);
  const report = host.document.value;
  if (!report) throw new Error("no document");
  const store = new Store(host, PANES);
  store.select("k2");
  store.select("k9");
  host.document.value = { ...report }; // the same record, with what became of a trial
  expect(store.selected.value).toBe("k9");
  host.document.value = { ...report, target: "T4, virtual" };
  expect([store.selected.value, store.canGoBack.value]).toEqual([null, false]);
  store.select("L:s0:37");
  host.document.value = { ...report, variable: 'made.on("a100")' };
  expect(store.selected.value).toBe("L:s0:37"); // the source is the same
  await settled();
});

test("a part that comes when another record is shown is not taken for one of it", async () => {
  const host = pageHost(sample as unknown as Embedded);
  const report = host.document.value;
  const store = new Store(host, PANES);
  const late = store.need("graph:g1");
  if (report) host.document.value = { ...report, target: "T4, virtual" };
  await late;
  expect(store.parts.size).toBe(0);
});
