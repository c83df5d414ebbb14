import { expect, test } from "vitest";
import { sorted, turned } from "../src/table/sorting";
import { target } from "../src/table/table";

test("k2 comes before k10", () => {
  expect(sorted(["k10", "k2", "k1"], (id) => id, "asc")).toEqual(["k1", "k2", "k10"]);
});

test("what is unknown comes last, whichever way", () => {
  const rows = [{ n: null }, { n: 1 }, { n: 3 }];
  expect(sorted(rows, (row) => row.n, "asc").map((row) => row.n)).toEqual([1, 3, null]);
  expect(sorted(rows, (row) => row.n, "desc").map((row) => row.n)).toEqual([3, 1, null]);
});

test("numbers start with the largest, names with the first; a second click turns round", () => {
  expect(turned(null, "bytes", 5).direction).toBe("desc");
  expect(turned(null, "name", "a").direction).toBe("asc");
  expect(turned({ key: "bytes", direction: "desc" }, "bytes", 5).direction).toBe("asc");
});

test("arrows stay inside the rows", () => {
  expect(target("ArrowDown", undefined, 3, null)).toBe(0);
  expect(target("ArrowDown", 2, 3, null)).toBe(2);
  expect(target("ArrowUp", 0, 3, null)).toBe(0);
  expect(target("End", 0, 3, null)).toBe(2);
  expect(target("x", 0, 3, null)).toBeNull();
  expect(target("ArrowDown", undefined, 0, null)).toBeNull();
});
