import { expect, test } from "vitest";
import { columnOf } from "../src/cost/column";
import { byCost, foldedLines, openAtFirst, placed, shownRows, waysTo } from "../src/overview/rows";
import type { Line, TreeRow } from "../src/wire";

function row(depth: number, kind: TreeRow["kind"], id: string, total?: number): TreeRow {
  const costs: Record<string, number> = total === undefined ? {} : { time: total };
  return { depth, kind, id, name: id, caption: "", total: costs, own: costs };
}

const ROWS: TreeRow[] = [
  row(0, "function", "s1", 10),
  row(1, "line", "L:s1:2", 2),
  { ...row(1, "fold", "L:s1:3"), last: 4, count: 1 },
  row(1, "line", "L:s1:5", 8),
  row(2, "function", "s0", 8),
  row(3, "line", "L:s0:9", 8),
  row(1, "line", "L:s1:6"),
];
const NOTED = { notes: [{ title: "Break.", text: "", tone: "break" }] } as unknown as Line;
const nothing = () => undefined;

test("the way down to what costs most is open at first, and what is wrong is in sight", () => {
  const rows = placed(ROWS);
  expect([...openAtFirst(rows, "time", nothing)]).toEqual(["/s1", "/s1/L:s1:5", "/s1/L:s1:5/s0"]);
  const wrong = openAtFirst(rows, undefined, (id) => (id === "L:s0:9" ? NOTED : undefined));
  expect(wrong.has("/s1/L:s1:5/s0")).toBe(true);
});

test("closed rows hide what is in them; a fold shows its lines with text", () => {
  const rows = placed(ROWS);
  const keys = (open: string[]) =>
    shownRows(rows, new Set(open), nothing, (id) => id !== "L:s1:4").map(({ key }) => key);
  expect(keys([])).toEqual(["/s1"]);
  expect(keys(["/s1"])).toEqual(["/s1", "/s1/L:s1:2", "/s1/…L:s1:3", "/s1/L:s1:5", "/s1/L:s1:6"]);
  expect(keys(["/s1", "/s1/…L:s1:3"])).toContain("/s1/…L:s1:3/L:s1:3");
  expect(keys(["/s1", "/s1/…L:s1:3"])).not.toContain("/s1/…L:s1:3/L:s1:4");
  expect(foldedLines(ROWS[2]!)).toEqual(["L:s1:3", "L:s1:4"]);
  expect(waysTo(rows, 5)).toEqual(["/s1/L:s1:5/s0", "/s1/L:s1:5", "/s1"]);
});

test("what is said about a line stands under its first place", () => {
  const twice = placed([...ROWS, row(1, "line", "L:s1:5", 1)]);
  const shown = shownRows(
    twice,
    new Set(["/s1"]),
    (id) => (id === "L:s1:5" ? NOTED : undefined),
    () => true,
  );
  expect(shown.filter(({ kind }) => kind === "note")).toHaveLength(1);
  expect(new Set(shown.map(({ key }) => key)).size).toBe(shown.length);
});

test("a fallback of several lines is said once, with their count", () => {
  const rows = placed([row(0, "function", "s1"), row(1, "line", "L:a"), row(1, "line", "L:b")]);
  const note = { title: "Fallback.", text: "topk", tone: "fallback" as const };
  const noted = { ...NOTED, notes: [note] };
  const shown = shownRows(
    rows,
    new Set(["/s1"]),
    () => noted,
    () => true,
  );
  const said = shown.flatMap((each) => (each.kind === "note" ? [each.note.title] : []));
  expect(said).toEqual(["Fallback, on 2 lines."]);
});

test("modules are ordered by their cost with what is in them", () => {
  const rows = [
    row(0, "module", "a", 9),
    row(1, "module", "b", 2),
    row(1, "module", "c", 7),
    row(2, "module", "d", 7),
  ];
  expect(byCost(rows, "time").map(({ id }) => id)).toEqual(["a", "c", "d", "b"]);
});

test("a column has one unit; 0 is 0, unknown is empty, little is less than what is written", () => {
  const column = columnOf("us", 7520);
  expect(column.unit).toBe("ms");
  expect([7520, 0, 1, undefined].map((each) => column.write(each))).toEqual([
    "7.52",
    "0",
    "<0.01",
    "",
  ]);
  expect(columnOf("B", 249e6).write(38e6)).toBe("38");
  expect(columnOf("us", 0.4).unit).toBe("ns");
});
