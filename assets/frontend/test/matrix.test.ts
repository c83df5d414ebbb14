import { expect, test } from "vitest";
import {
  cellRows,
  figuresOf,
  inOrder,
  type MatrixFigure,
  nextCell,
  partnerOf,
  shadeOf,
  spotOf,
  totalOf,
} from "../src/matrix/rows";
import type { ColumnSpec, MatrixCell, MatrixRow } from "../src/wire";

function cell(id: string, more: Partial<MatrixCell> = {}): MatrixCell {
  return {
    id,
    choice: "XBLOCK=128",
    registers: null,
    spills: null,
    smem_bytes: null,
    occupancy: null,
    limiter: null,
    instructions: null,
    bound: null,
    bound_us: null,
    modelled_us: null,
    modelled_error: null,
    estimate: true,
    note: null,
    vendor: "nvidia",
    ...more,
  };
}

function row(
  kernel: string,
  cells: (MatrixCell | null)[],
  more: Partial<MatrixRow> = {},
): MatrixRow {
  return { kernel, spread: 0, spreads: {}, differs_in: null, cells, ...more };
}

const SPECS: ColumnSpec[] = [
  { key: "kernel", title: "Kernel", width: "64px", kind: "kernel" },
  { key: "registers", title: "Registers", width: "69px", kind: "number", unit: "count" },
  { key: "spills", title: "Spills", width: "48px", kind: "number", unit: "count" },
  {
    key: "occupancy",
    title: "Occupancy (est.)",
    width: "118px",
    kind: "number",
    unit: "share",
    hint: "Warps that fit",
  },
];
const FIGURES = figuresOf(SPECS);
const REGISTERS = FIGURES.find((figure) => figure.id === "registers")!;
const OCCUPANCY = FIGURES.find((figure) => figure.id === "occupancy")!;
const ROWS = [
  row("k0", [cell("k0:t4", { registers: 24 }), cell("k0:h100", { registers: 22 })], {
    spread: 0.3,
    spreads: { registers: 0.08 },
  }),
  row("k1", [null, cell("k1:h100", { note: "It needs a newer GPU." })]),
  row("k2", [cell("k2:t4", { registers: 200 }), cell("k2:h100", { registers: 100 })], {
    spread: 0.1,
    spreads: { registers: 0.5 },
  }),
];

test("the rows that differ most in the figure come first", () => {
  expect(inOrder(ROWS, REGISTERS).map((each) => each.kernel)).toEqual(["k2", "k0", "k1"]);
  expect(inOrder(ROWS, OCCUPANCY).map((each) => each.kernel)).toEqual(["k0", "k2", "k1"]);
});

test("the figures are those that the table has columns for", () => {
  expect(FIGURES.map((figure) => figure.id)).toEqual(["registers", "spills", "occupancy"]);
  expect([OCCUPANCY.title, OCCUPANCY.words]).toEqual(["Occupancy", "Warps that fit"]);
  expect([OCCUPANCY.write(0.25), REGISTERS.write(1255)]).toEqual(["25 %", "1,255"]);
});

test("a cell is the darker the further it is from the best of its row", () => {
  const shade = (own: MatrixRow, at: number, figure: MatrixFigure) =>
    shadeOf(own.cells[at]!, own, figure);
  const registers = [200, 100].map((each) => cell(`${each}`, { registers: each }));
  expect(shade(row("k2", registers), 0, REGISTERS)).toBe(0.5);
  expect(shade(row("k2", registers), 1, REGISTERS)).toBe(0);
  const warps = row("k3", [cell("a", { occupancy: 1 }), cell("b", { occupancy: 0.25 })]);
  expect(shade(warps, 1, OCCUPANCY)).toBe(0.75);
  expect(shade(row("k4", [cell("a", { spills: 0 })]), 0, FIGURES[1]!)).toBe(0);
});

test("registers are compared within one vendor, bounds over all", () => {
  const amd = cell("c", { registers: 16, bound_us: 1, vendor: "amd" });
  const own = row("k5", [cell("a", { registers: 32, bound_us: 4 }), amd]);
  const bound: MatrixFigure = { ...REGISTERS, id: "bound_us" };
  expect(shadeOf(own.cells[0]!, own, REGISTERS)).toBe(0);
  expect(shadeOf(own.cells[0]!, own, bound)).toBe(0.75);
});

test("arrows pass over places that were not compiled", () => {
  expect(nextCell(ROWS, null, "ArrowDown")?.id).toBe("k0:t4");
  expect(nextCell(ROWS, { row: 0, column: 0 }, "ArrowDown")?.id).toBe("k2:t4");
  expect(nextCell(ROWS, { row: 0, column: 0 }, "ArrowRight")?.id).toBe("k0:h100");
  expect(nextCell(ROWS, { row: 1, column: 1 }, "ArrowLeft")).toBeNull();
  expect(nextCell(ROWS, { row: 0, column: 0 }, "a")).toBeNull();
});

test("two cells of one kernel can be compared, others cannot", () => {
  expect(partnerOf(ROWS, "k2:t4", "k2:h100")?.id).toBe("k2:h100");
  expect(partnerOf(ROWS, "k2:t4", "k0:h100")).toBeNull();
  expect(partnerOf(ROWS, "k2:t4", "k2:t4")).toBeNull();
  expect(partnerOf(ROWS, null, "k2:t4")).toBeNull();
});

test("the table has a row for each cell that there is", () => {
  const cells = cellRows(ROWS, ["t4", "h100"]);
  expect(cells.map((each) => `${each.kernel} ${each.target}`)).toEqual([
    "k0 t4",
    "k0 h100",
    "k1 h100",
    "k2 t4",
    "k2 h100",
  ]);
  expect(spotOf(ROWS, "k1:h100")).toEqual({ row: 1, column: 1 });
  expect(spotOf(ROWS, "k1")).toBeNull();
});

test("below the GPUs stands the sum of what adds up, of the rest the most or the least", () => {
  const bound = figuresOf([
    { key: "bound_us", title: "Bound (est.)", width: "90px", kind: "number", unit: "us" },
  ])[0]!;
  const rows = [
    row("k0", [cell("k0:t4", { bound_us: 2, registers: 24 })]),
    row("k1", [cell("k1:t4", { bound_us: 3, registers: 40 })]),
  ];
  const callsOf = (kernel: string) => (kernel === "k1" ? 2 : 1);
  expect(totalOf(rows, bound, 1, callsOf)).toEqual({ words: "Total, all calls", values: [8] });
  expect(totalOf(rows, REGISTERS, 1, callsOf)).toEqual({ words: "Most of all", values: [40] });
  expect(totalOf(rows, OCCUPANCY, 1, callsOf)).toEqual({ words: "Least of all", values: [null] });
  const without = [...rows, row("k2", [null])];
  expect(totalOf(without, bound, 1, callsOf)).toEqual({
    words: "Total of 2, all calls",
    values: [8],
  });
});
