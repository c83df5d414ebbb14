import { expect, test } from "vitest";
import { placed, type Tab } from "../src/shell/tabs";

const TABS: Tab[] = [
  { id: "overview", title: "Overview" },
  { id: "roofline", title: "Roofline", vacant: "No roofline." },
  { id: "memory", title: "Memory" },
  { id: "matrix", title: "Matrix", vacant: "No GPUs are compared." },
];

function names(pane: string, width: number): [string[], string[]] {
  const { shown, more } = placed(TABS, pane, width);
  return [shown.map((tab) => tab.id), more.map((tab) => tab.id)];
}

test("empty panes stand last", () => {
  expect(names("overview", 1600)).toEqual([["overview", "memory", "roofline", "matrix"], []]);
});

test("where there is little room they share one entry, but for the one that is shown", () => {
  expect(names("overview", 600)).toEqual([
    ["overview", "memory"],
    ["roofline", "matrix"],
  ]);
  expect(names("matrix", 600)).toEqual([["overview", "memory", "matrix"], ["roofline"]]);
});

test("one empty pane does not carry its action where there is little room", () => {
  const alone: Tab[] = [
    { id: "overview", title: "Overview" },
    { id: "matrix", title: "Matrix", vacant: "No GPUs are compared.", offer: "Compile for…" },
  ];
  expect(placed(alone, "overview", 600).shown[1]).not.toHaveProperty("offer");
  expect(placed(alone, "overview", 1280).shown[1]).toHaveProperty("offer");
});

test("what empty panes offer is whole or left to them, as fourteen panes at 1280 px", () => {
  const full: Tab[] = Array.from({ length: 9 }, (_, i) => ({ id: `f${i}`, title: "Timeline" }));
  const empty: Tab[] = Array.from({ length: 5 }, (_, i) => ({
    id: `e${i}`,
    title: "Autotune",
    vacant: "Nothing was timed.",
    offer: "Try max-autotune…",
  }));
  const at = (width: number) => placed([...full, ...empty], "f0", width);
  expect(at(2000).shown.filter(({ offer }) => offer)).toHaveLength(5);
  expect(at(1280).shown).toHaveLength(14);
  expect(at(1280).shown.some(({ offer }) => offer)).toBe(false);
  expect(at(1000).more.map(({ offer }) => offer)).toEqual(Array(5).fill("Try max-autotune…"));
});
