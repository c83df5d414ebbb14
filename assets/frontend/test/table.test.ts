import { expect, test } from "vitest";
import { type Order, sorted, turned } from "../src/table/sorting";
import { type Column, matching, target } from "../src/table/table";

test("k2 comes before k10", () => {
  expect(sorted(["k10", "k2", "k1"], (id) => id, "asc")).toEqual(["k1", "k2", "k10"]);
});

test("what is unknown comes last, whichever way", () => {
  const rows = [{ n: null }, { n: 1 }, { n: 3 }];
  expect(sorted(rows, (row) => row.n, "asc").map((row) => row.n)).toEqual([1, 3, null]);
  expect(sorted(rows, (row) => row.n, "desc").map((row) => row.n)).toEqual([3, 1, null]);
});

test("numbers start with the largest, names with the first; a second click turns round", () => {
  expect(turned(null, "bytes", 5)?.direction).toBe("desc");
  expect(turned(null, "name", "a")?.direction).toBe("asc");
  expect(turned({ key: "bytes", direction: "desc" }, "bytes", 5)?.direction).toBe("asc");
});

test("a third click brings back the order that the table had at first", () => {
  const last: Order = { key: "bytes", direction: "asc" };
  expect(turned(last, "bytes", 5)).toBeNull();
  const original: Order = { key: "share", direction: "desc" };
  expect(turned(last, "bytes", 5, original)).toBe(original);
  expect(turned(last, "bytes", 5, { key: "bytes", direction: "asc" })?.direction).toBe("desc");
});

test("empty text comes last, and a column of words and numbers has one order", () => {
  expect(sorted(["", "b", "a"], (word) => word, "desc")).toEqual(["b", "a", ""]);
  expect(sorted([12, "none", 3, "2 of 4"], (cell) => cell, "asc")).toEqual([
    "2 of 4",
    3,
    12,
    "none",
  ]);
});

test("a filter finds all of its words in any cell, as they are shown or meant", () => {
  const columns: Column<{ name: string; bytes: number }>[] = [
    { key: "name", title: "Name", width: "1fr", value: ({ name }) => name },
    {
      ...{ key: "bytes", title: "Bytes", width: "80px", value: ({ bytes }) => bytes },
      draw: ({ bytes }) => `${bytes / 1000} kB`,
    },
  ];
  const rows = [
    { name: "ReLU", bytes: 2000 },
    { name: "relu_1", bytes: 4000 },
  ];
  expect(matching(rows, columns, "relu")).toEqual(rows);
  expect(matching(rows, columns, " 4 KB relu")).toEqual([rows[1]]);
  expect(matching(rows, columns, "sigmoid")).toEqual([]);
});

test("arrows stay inside the rows", () => {
  expect(target("ArrowDown", undefined, 3, null)).toBe(0);
  expect(target("ArrowDown", 2, 3, null)).toBe(2);
  expect(target("ArrowUp", 0, 3, null)).toBe(0);
  expect(target("End", 0, 3, null)).toBe(2);
  expect(target("x", 0, 3, null)).toBeNull();
  expect(target("ArrowDown", undefined, 0, null)).toBeNull();
});
