import { expect, test } from "vitest";
import { placed, type Tab } from "../src/shell/tabs";

const TABS: Tab[] = [
  { id: "overview", title: "Overview" },
  { id: "roofline", title: "Roofline", vacant: "No roofline." },
  { id: "memory", title: "Memory" },
  { id: "matrix", title: "Matrix", vacant: "No GPUs are compared." },
];

function names(pane: string, isTight: boolean): [string[], string[]] {
  const { shown, more } = placed(TABS, pane, isTight);
  return [shown.map((tab) => tab.id), more.map((tab) => tab.id)];
}

test("empty panes stand last", () => {
  expect(names("overview", false)).toEqual([["overview", "memory", "roofline", "matrix"], []]);
});

test("where there is little room they share one entry, but for the one that is shown", () => {
  expect(names("overview", true)).toEqual([
    ["overview", "memory"],
    ["roofline", "matrix"],
  ]);
  expect(names("matrix", true)).toEqual([["overview", "memory", "matrix"], ["roofline"]]);
});

test("one empty pane does not carry its action where there is little room", () => {
  const alone: Tab[] = [
    { id: "overview", title: "Overview" },
    { id: "matrix", title: "Matrix", vacant: "No GPUs are compared.", offer: "Compile for…" },
  ];
  expect(placed(alone, "overview", true).shown[1]).not.toHaveProperty("offer");
  expect(placed(alone, "overview", false).shown[1]).toHaveProperty("offer");
});
