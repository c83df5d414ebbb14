import { expect, test } from "vitest";
import { costOf } from "../src/cost/cost";
import { captionOf } from "../src/graph/caption";
import { endOf } from "../src/graph/drawing/edges";
import { modelOf } from "../src/graph/layout/model";
import { sceneOf } from "../src/graph/layout/scene";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import type { Embedded, GraphPart } from "../src/wire";
import sample from "./sample.json";

const embedded = sample as unknown as Embedded;
const store = new Store(pageHost(embedded), PANES);
const part = embedded.parts["graph:g1"] as GraphPart;
const model = modelOf(part);
const wish = { grouping: "kernel" as const, showsQuiet: false, isOpen: () => true, aspect: 2 };
const scene = sceneOf(model, wish);
const cost = costOf(embedded.document, null);

test("the box of a kernel has its cost, the shape that it hands on, and its heat", () => {
  const caption = captionOf(store, model, cost);
  const box = scene.boxes.find((each) => each.id === "k1")!;
  expect(caption(box)).toMatchObject({ title: "k1", note: "mm" });
  expect(caption(box).facts).toMatch(/^23.1 MB( · [\d×]+)?$/);
  expect(caption(box).heat).toBeCloseTo(23_068_672 / cost!.most);
  expect(Math.max(...scene.boxes.map((each) => caption(each).heat))).toBe(1);
});

test("a call of a kernel that runs several times has its part of the cost", () => {
  const caption = captionOf(store, model, cost);
  const box = scene.boxes.find((each) => each.id === "k1")!;
  const calls = store.kernel("k1")!;
  calls.calls = 2;
  expect(captionOf(store, model, cost)({ ...box, isCall: true }).heat).toBe(caption(box).heat / 2);
  calls.calls = 1;
});

test("where no cost is known a box still has its shape", () => {
  const caption = captionOf(store, model, null);
  const box = scene.boxes.find((each) => each.id === "k0")!;
  expect([caption(box).heat, caption(box).facts.includes("MB")]).toEqual([0, false]);
});

test("an arrow points where its edge ends", () => {
  const edge = { from: 0, to: 1, isRail: false };
  expect(endOf({ ...edge, shape: "down", points: [0, 0, 9, 20] })).toEqual([0, 1]);
  expect(endOf({ ...edge, shape: "curve", points: [0, 0, 5, 9, 5, 9] })).toEqual([1, 0]);
  expect(endOf({ ...edge, shape: "corners", points: [0, 0, 9, 0, 9, -4] })).toEqual([0, -1]);
});
