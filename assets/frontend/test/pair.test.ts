import { expect, test } from "vitest";
import { pageHost } from "../src/host";
import { keptAnswer } from "../src/inspector/apart";
import { lookOf } from "../src/pair";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import type { ApartPart, Embedded, WhyApart } from "../src/wire";
import sample from "./sample.json";

function open(): Store {
  return new Store(pageHost(sample as unknown as Embedded), PANES);
}

function click(store: Store, id: string): void {
  store.pair.listen({ ctrlKey: true, metaKey: false } as MouseEvent);
  store.select(id);
}

function plain(store: Store, id: string): void {
  store.pair.listen({ ctrlKey: false, metaKey: false } as MouseEvent);
  store.select(id);
}

test("a click with Ctrl picks a second thing and leaves the selection", () => {
  const store = open();
  plain(store, "k0");
  click(store, "k2");
  expect(store.pair.picked.value).toEqual(["k0", "k2"]);
  expect(store.selected.value).toBe("k0");
  expect([lookOf(store, "k0"), lookOf(store, "k2")]).toEqual(["sel pick", "pick"]);
});

test("a third pick takes the place of the first, one picked again goes", () => {
  const store = open();
  plain(store, "k0");
  click(store, "k2");
  click(store, "k9");
  expect(store.pair.picked.value).toEqual(["k2", "k9"]);
  click(store, "k9");
  expect(store.pair.picked.value).toEqual(["k2"]);
});

test("of a line's own kernels two are picked, not the line", () => {
  const store = open();
  plain(store, "L:s0:37");
  const [own] = [...store.related.value].filter((id) => /^k\d+$/.test(id));
  click(store, own!);
  expect(store.pair.picked.value).toEqual([own]);
});

test("another selection ends a pair, and what cannot be picked leaves it", () => {
  const store = open();
  plain(store, "k0");
  click(store, "p1");
  expect(store.pair.picked.value).toEqual([]);
  click(store, "k2:c0");
  expect(store.pair.picked.value).toEqual(["k0", "k2"]);
  plain(store, "k9");
  expect(store.pair.picked.value).toEqual([]);
});

function answer(a: string, b: string): WhyApart {
  const none = { help: null, kernels: [a, b], words: [], rejected: null, opportunity: null };
  return { a, b, is_apart: true, sentence: `${b} after ${a}`, ...none };
}

test("a saved page answers for neighbours, and for what one kernel computes", () => {
  const part: ApartPart = { kind: "apart", answers: [answer("k0", "k1"), answer("k1", "k2")] };
  expect(keptAnswer(part, ["k2"], ["k1"])?.sentence).toBe("k2 after k1");
  expect(keptAnswer(part, ["k0"], ["k2"])).toBeNull();
  expect(keptAnswer(part, ["k1"], ["k1", "k4"])?.is_apart).toBe(false);
});
