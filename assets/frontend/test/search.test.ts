import { expect, test } from "vitest";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { type HitGroup, search } from "../src/search";
import { Store } from "../src/store";
import type { Embedded } from "../src/wire";
import sample from "./sample.json";

function open(): Store {
  return new Store(pageHost(sample as unknown as Embedded), PANES);
}

function found(query: string): HitGroup[] {
  return search(open().entries(), query);
}

test("hits are grouped and counted, with the place of the match", () => {
  const groups = found("softmax");
  expect(groups.map((group) => group.title)).toEqual(["Source", "Kernels"]);
  const hit = groups[0]!.hits[0]!;
  expect(hit.text.slice(hit.from, hit.to)).toBe("softmax");
});

test("kernel lines are searched once their code is here", async () => {
  const store = open();
  expect(search(store.entries(), "tl.sum")).toEqual([]);
  await store.need("code:k0");
  const groups = search(store.entries(), "tl.sum");
  expect(groups[0]!.title).toBe("Kernel lines");
  expect(groups[0]!.hits[0]!.id).toMatch(/^K:k0:\d+$/);
});

test("a group by start is found by the beginning of a word alone", () => {
  const entries = ["Memory", "Machine code"].map((text) => ({ id: text, label: "", text }));
  const at = (query: string) =>
    search([{ title: "Panes", entries, isByStart: true }], query)[0]?.hits.map(
      ({ text, from, to }) => text.slice(from, to),
    );
  expect(at("m")).toEqual(["M", "M"]);
  expect(at("co")).toEqual(["co"]);
  expect(at("ory")).toBe(undefined);
});

test("capitals do not matter, blanks find nothing", () => {
  expect(found("TOPK").length).toBeGreaterThan(0);
  expect(found("  ")).toEqual([]);
});

test("a long list of hits is cut and says how many there were", () => {
  const source = found("e").find((group) => group.title === "Source")!;
  expect(source.hits.length).toBe(8);
  expect(source.total).toBeGreaterThan(20);
});

test("a hit is shown where the reader is, if that pane has such things", () => {
  const store = open();
  expect([store.paneOfHit("k0"), store.paneOfHit("L:s0:37")]).toEqual(["kernels", "overview"]);
  store.show("fusion");
  expect([store.paneOfHit("k0"), store.paneOfHit("L:s0:37")]).toEqual(["fusion", "overview"]);
  store.show("kernels");
  expect([store.paneOfHit("L:s0:37"), store.paneOfHit("K:k0:3")]).toEqual(["kernels", "kernels"]);
});
