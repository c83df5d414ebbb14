import { expect, test } from "vitest";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import { type Embedded, TITLES } from "../src/wire";
import sample from "./sample.json";

const embedded = sample as unknown as Embedded;

test("the panes are those that Python names", () => {
  expect(PANES.map((pane) => pane.id).sort()).toEqual(Object.keys(TITLES).sort());
});

test("a kind of thing is shown at its best by one pane", () => {
  const kinds = PANES.flatMap((pane) => Object.keys(pane.things));
  expect(kinds.length).toBe(new Set(kinds).size);
  expect(PANES.filter((pane) => pane.isHome).map((pane) => pane.id)).toEqual(["overview"]);
});

test.each([
  ["L:s0:37", "overview", "line 37"],
  ["g1:topk", "graphs", "topk"],
  ["b0", "breaks", "break on line 30"],
  ["k9", "kernels", "k9"],
  ["K:k9:3", "kernels", "Triton k9:3"],
  ["W:w0:4", "kernels", "wrapper w0:4"],
  ["i0:buf7", "fusion", "buf7"],
  ["p99", "timeline", "p99"],
  ["nothing", "overview", "nothing"],
])("%s is shown in %s and called %s", (id, pane, label) => {
  const store = new Store(pageHost(embedded), PANES);
  expect([store.paneOf(id), store.labelOf(id)]).toEqual([pane, label]);
});

test("a pane that a package adds is drawn from its blocks", () => {
  const store = new Store(pageHost(embedded), PANES);
  expect(store.registration("stars")).toEqual({ id: "stars", things: {} });
  expect([store.paneOf("star.3"), store.labelOf("star.3")]).toEqual(["overview", "star.3"]);
});
