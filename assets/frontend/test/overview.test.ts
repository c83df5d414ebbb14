import { expect, test } from "vitest";
import { noSource } from "../src/overview/overview";
import { rowsOf } from "../src/overview/rows";
import { insideStrings, pieces } from "../src/ui/highlight";
import type { Embedded } from "../src/wire";
import sample from "./sample.json";

const { document } = sample as unknown as Embedded;

test("a problem stands right under its line", () => {
  const rows = rowsOf(document.sources);
  const at = rows.findIndex((row) => row.kind === "line" && row.number === 37);
  expect(rows[at + 1]).toMatchObject({ kind: "note", note: { tone: "fallback" } });
  expect(rows.filter((row) => row.kind === "line")).toHaveLength(40);
});

test("functions get heads once there are several, and lose the indent they share", () => {
  const source = {
    ...document.sources[0]!,
    lines: ["    def f(x):", "        return x"],
    marks: [],
  };
  const rows = rowsOf([source, { ...source, id: "s1" }]);
  expect(rows.map((row) => row.kind)).toEqual(["head", "line", "line", "head", "line", "line"]);
  expect(rows[2]).toMatchObject({ text: "    return x" });
});

test("Python is coloured by kind", () => {
  const looks = pieces('return f(x, "a") + 1.5  # sum').filter((piece) => piece.look);
  expect(looks.map((piece) => [piece.text, piece.look])).toEqual([
    ["return", "t-k"],
    ["f", "t-f"],
    ['"a"', "t-s"],
    ["1.5", "t-n"],
    ["# sum", "t-c"],
  ]);
});

test("the lines inside a long string are known", () => {
  expect(insideStrings(['"""One.', "Two.", '"""', "x = 1"])).toEqual([false, true, true, false]);
});

test("without source the overview says why, from the report where it knows", () => {
  expect(noSource(document)).toBeNull();
  const without = { ...document, sources: [] };
  expect(noSource(without)?.text).toMatch("saved without it");
  const why = { title: "No source.", text: "Only torch's own code ran.", tone: "plain" as const };
  const panes = document.panes.map((head) => ({ ...head, empty: why }));
  expect(noSource({ ...without, panes })).toBe(why);
});
