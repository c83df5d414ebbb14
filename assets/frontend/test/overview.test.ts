import { expect, test } from "vitest";
import { simple } from "../src/kernels/code/languages";
import { noSource } from "../src/overview/overview";
import { rowsOf } from "../src/overview/row";
import { coloured, withoutStart } from "../src/ui/highlight";
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
  const [line = []] = coloured(['return f(x, "a") + 1.5  # sum']);
  expect(line.filter((piece) => piece.look).map((piece) => [piece.text, piece.look])).toEqual([
    ["return", "t-k"],
    ["f", "t-f"],
    ['"a"', "t-s"],
    ["+", "t-o"],
    ["1.5", "t-n"],
    ["# sum", "t-c"],
  ]);
});

test("a string over several lines is one, whatever stands in it", () => {
  const lines = coloured(['x = """One', 'for "two" # in', '"""', "return x"]);
  expect(lines.map((line) => line.at(0)?.look)).toEqual(["", "t-s", "t-s", "t-k"]);
  expect(lines[1]).toEqual([{ text: 'for "two" # in', look: "t-s" }]);
});

test("a value in a string is coloured as code, how it is written is not", () => {
  const [line = [], next = []] = coloured(["f'{{a}} {len(x[\"k\"])!r:>{n}} b' if", "@b(*c, **d)"]);
  expect(line.filter((piece) => piece.look).map((piece) => [piece.text, piece.look])).toEqual([
    ["f'{{a}} ", "t-s"],
    ["len", "t-f"],
    ['"k"', "t-s"],
    ["!r", "t-k"],
    [">", "t-k"],
    [" b'", "t-s"],
    ["if", "t-k"],
  ]);
  expect(next.filter((piece) => piece.look).map((piece) => [piece.text, piece.look])).toEqual([
    ["b", "t-f"],
    ["*", "t-k"],
    ["**", "t-k"],
  ]);
});

test("braces and backslashes of a string with values in it are read as Python reads them", () => {
  const lines = [
    "f'{{', a",
    'f"{{{b}}}" + c',
    "fr'\\{d}' + e",
    'f"\\N{BULLET}{g}"',
    'h if"i"else j',
  ];
  const plain = coloured(lines).map((line) => line.filter((p) => !p.look).map((p) => p.text));
  expect(plain).toEqual([[", a"], ["{b}", " ", " c"], ["{d}", " ", " e"], ["{g}"], ["h ", " j"]]);
});

test("words that are keywords in some statements alone are those there", () => {
  const lines = ["match x:", " case [1, *_]:", "type A[T] = T", "match = case(1)", "type(x)"];
  const found = coloured(lines).map((line) => line.filter((p) => p.look === "t-k")[0]?.text);
  expect(found).toEqual(["match", "case", "type", undefined, undefined]);
});

test("a string that is not closed ends with its line, unless the line goes on", () => {
  const lines = coloured(["x = 'one", "y = 'two \\\\", "three \\", "four' + 1", "class A(B):"]);
  const looks = lines.map((line) => line.filter((p) => p.look).map((p) => p.text));
  expect(looks[0]).toEqual(["=", "'one"]);
  expect(looks[1]).toEqual(["=", "'two \\\\"]);
  expect(looks[4]).toEqual(["class"]);
});

test("C++ is coloured by its own tokenizer", () => {
  const [line = []] = coloured(["float x = f(1.5f); // sum"], simple("cpp").parser);
  expect(line.filter((piece) => piece.look).map((piece) => [piece.text, piece.look])).toEqual([
    ["float", "t-k"],
    ["f", "t-f"],
    ["1.5f", "t-n"],
    ["// sum", "t-c"],
  ]);
});

test("half a line of Python is coloured as well", () => {
  const [line = []] = coloured(["else: y = torch.sin(x"]);
  const looks = line.filter((piece) => piece.look).map((piece) => [piece.text, piece.look]);
  expect(looks).toContainEqual(["else", "t-k"]);
  expect(looks).toContainEqual(["sin", "t-f"]);
});

test("a line loses its indent, not its colours", () => {
  const [, line = []] = coloured(["def f(x):", "        return x"]);
  expect(withoutStart(line, 4)[0]).toEqual({ text: "    ", look: "" });
  expect(withoutStart(line, 10)[0]).toEqual({ text: "turn", look: "t-k" });
});

test("without source the overview says why, from the report where it knows", () => {
  expect(noSource(document)).toBeNull();
  const without = { ...document, sources: [] };
  expect(noSource(without)?.text).toMatch("saved without sources");
  const why = { title: "No source.", text: "Only torch's own code ran.", tone: "plain" as const };
  const panes = document.panes.map((head) => ({ ...head, empty: why }));
  expect(noSource({ ...without, panes })).toBe(why);
});
