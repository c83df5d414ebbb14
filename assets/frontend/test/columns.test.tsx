import { expect, test } from "vitest";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import { columnsOf, shareOf } from "../src/table/columns";
import { writtenIn } from "../src/format";
import type { ColumnSpec, Embedded, FusionPart, PairsPart } from "../src/wire";
import sample from "./sample.json";

const embedded = sample as unknown as Embedded;
const store = new Store(pageHost(embedded), PANES);
const width = "80px";

const ROWS = [
  {
    id: "r0",
    size: 33_600_000,
    sizes: { BLOCK: 64 },
    parts: ["a", "b"],
    why: "whole reason",
    ran: "3 → 4",
  },
  { id: "r1", size: null, sizes: {}, parts: [], why: null, ran: null },
];
const SPECS: ColumnSpec[] = [
  { key: "id", title: "Row", width, kind: "code", full: "why" },
  { key: "moved", title: "Moved", width, field: "size", kind: "number", unit: "B" },
  { key: "time", title: "Time", width, kind: "number", unit: "ms", absent: "not timed" },
  { key: "block", title: "BLOCK", width, field: "sizes.BLOCK", kind: "number" },
  { key: "ran", title: "Ran", width, kind: "number" },
  { key: "parts", title: "Parts", width, kind: "length", is_wide: true },
];

function drawn(key: string, row: number): unknown {
  const column = columnsOf(store, "costs", SPECS, ROWS, {}).find((each) => each.key === key)!;
  return column.draw ? column.draw(ROWS[row]!) : column.value(ROWS[row]!);
}

test("numbers are sorted as numbers and written with the unit that they are given in", () => {
  const [, moved] = columnsOf(store, "costs", SPECS, ROWS, {});
  expect(ROWS.map(moved!.value)).toEqual([33_600_000, null]);
  expect([drawn("moved", 0), drawn("moved", 1)]).toEqual(["33.6 MB", "–"]);
  expect([drawn("block", 0), drawn("block", 1)]).toEqual(["64", "–"]);
  expect([drawn("parts", 0), drawn("parts", 1)]).toEqual([2, 0]);
  expect([drawn("ran", 0), drawn("ran", 1)], "words at the right").toEqual(["3 → 4", "–"]);
  expect(drawn("time", 0)).toMatchObject({ props: { children: "not timed" } });
});

test("a head says what the glossary has of its word, else the hint of the column", () => {
  const specs = [
    { key: "calls", title: "Calls", width },
    { key: "x", title: "X", width, hint: "h" },
  ];
  expect(columnsOf(store, "costs", specs, ROWS, {}).map(({ tip }) => tip)).toEqual([
    "Launches per call of the program.\nUnit: a count.\nSource: the generated program.",
    "h",
  ]);
});

test("a cell that shows only the gist has the whole text behind it", () => {
  const [id] = columnsOf(store, "costs", SPECS, ROWS, {});
  expect(ROWS.map(id!.full!)).toEqual(["r0: whole reason", "r1"]);
  expect(id!.look).toBe("mono");
});

test("what a pane draws its own way takes the place of the usual, the rest stays", () => {
  const [id] = columnsOf(store, "costs", SPECS, ROWS, {
    id: { value: (row) => row.id.toUpperCase() },
  });
  expect([id!.value(ROWS[0]!), id!.title, id!.width]).toEqual(["R0", "Row", "80px"]);
});

test("a bar is as long as its part of the largest, and nothing where all are nothing", () => {
  const rows = [{ us: 3 }, { us: 12 }, { us: 0 }];
  expect(rows.map(shareOf(rows, (row) => row.us))).toEqual([0.25, 1, 0]);
  expect(shareOf([{ us: 0 }], (row) => row.us)({ us: 0 })).toBe(0);
});

test.each([
  [1500, "count", "1,500"],
  [1500, "", "1500"],
  [0.25, "share", "25 %"],
  [12.3, "us", "12.3 µs"],
  [2.5, "s", "2.50 s"],
  [1_340_000, "amount", "1.34 M"],
] as const)("%s in %s is written %s", (value, unit, words) => {
  expect(writtenIn(unit, value)).toBe(words);
});

test("every table of the sample has its columns, and every field of them is in its rows", () => {
  const { columns, phases } = embedded.document;
  const pairs = embedded.parts["pairs:"] as PairsPart;
  const fusion = embedded.parts["fusion:"] as FusionPart;
  const tables = [
    [columns["phases"]!, phases],
    [pairs.columns, pairs.rows],
    [fusion.columns, fusion.steps],
  ] as const;
  for (const [specs, rows] of tables)
    for (const { key, field = key } of specs) expect(rows[0]).toHaveProperty(field);
});
