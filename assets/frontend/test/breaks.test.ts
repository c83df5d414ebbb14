import { expect, test } from "vitest";
import { denseStride, edited, reshaped, sizesOf } from "../src/breaks/sandbox";
import { filterGuards, flatten, guardTree, standsFor } from "../src/breaks/tree";
import type { Guard, Input } from "../src/wire";

function guard(id: string, path: string[], kept = true): Guard {
  const why = kept ? null : "object id";
  return {
    id,
    kept,
    kind: "EQUALS_MATCH",
    source: path.join(""),
    path,
    text: "== 1",
    why_dropped: why,
    line_id: null,
  };
}

const GUARDS = [
  guard("q0", ["L['x']"]),
  guard("q1", ["L['self']", ".qkv", ".weight"]),
  guard("q2", ["L['self']", ".qkv", ".bias"]),
  guard("q3", ["L['self']", ".heads"], false),
];

test("guards hang on the steps of their source; a chain without a fork is one step", () => {
  const tree = guardTree(
    "kept",
    "Kept",
    GUARDS.filter((each) => each.kept),
  );
  expect(tree.count).toBe(3);
  expect(tree.children.map((child) => child.label)).toEqual(["L['x']", "L['self'].qkv"]);
  const rows = flatten(tree, () => true);
  const labels = rows.map((row) => (row.kind === "guard" ? row.label : row.branch.label));
  expect(labels).toEqual(["Kept", "L['x']", "L['self'].qkv", ".weight", ".bias"]);
});

test("a closed branch hides what is below it", () => {
  const tree = guardTree("kept", "Kept", GUARDS);
  expect(flatten(tree, (_, level) => level < 2).map((row) => row.level)).toEqual([1, 2, 2]);
});

test("guards that say the same are one row that counts them", () => {
  const tree = guardTree("kept", "Kept", [
    guard("q0", ["L['x']"]),
    guard("q4", ["L['x']"]),
    { ...guard("q5", ["L['x']"]), text: "== 2" },
  ]);
  expect(tree.count).toBe(3);
  const rows = flatten(tree, () => true).filter((row) => row.kind === "guard");
  expect(rows.map((row) => row.same.ids)).toEqual([["q0", "q4"], ["q5"]]);
  expect(rows.map((row) => standsFor(row, "q4"))).toEqual([true, false]);
});

test("a filter looks at sources and reasons", () => {
  expect(filterGuards(GUARDS, "QKV", ["source", "why_dropped"]).map((each) => each.id)).toEqual([
    "q1",
    "q2",
  ]);
  expect(filterGuards(GUARDS, "object", ["source", "why_dropped"]).map((each) => each.id)).toEqual([
    "q3",
  ]);
  expect(filterGuards(GUARDS, "object", ["source"])).toEqual([]);
});

const INPUT: Input = {
  path: "L['x']",
  shape: [4, 512],
  stride: [512, 1],
  dtype: "float32",
  device: "cpu",
};

test("a list of sizes is read as it is written in Python, too", () => {
  expect(sizesOf("4, 512")).toEqual([4, 512]);
  expect(sizesOf("[4, 512]")).toEqual([4, 512]);
  expect(sizesOf("(4,)")).toEqual([4]);
  expect(sizesOf("")).toEqual([]);
  expect(sizesOf("4, x")).toBeNull();
});

test("the stride follows the shape while it is dense, and stays once it was edited", () => {
  expect(denseStride([2, 3, 4])).toEqual([12, 4, 1]);
  const dense = { shape: "4, 512", stride: "512, 1", dtype: "float32" };
  expect(reshaped(dense, "8, 256").stride).toBe("256, 1");
  expect(reshaped({ ...dense, stride: "1, 4" }, "8, 256").stride).toBe("1, 4");
});

test("an edit that cannot be read says what is wrong", () => {
  expect(edited(INPUT, { shape: "4, a", stride: "1, 1", dtype: "float32" })).toContain(
    "shape of L['x']",
  );
  expect(edited(INPUT, { shape: "4", stride: "1, 1", dtype: "float32" })).toContain(
    "needs 1 number,",
  );
  expect(edited(INPUT, { shape: "8, 512", stride: "512, 1", dtype: "int64" })).toMatchObject({
    shape: [8, 512],
    dtype: "int64",
  });
});
