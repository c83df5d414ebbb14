import { describe, expect, test } from "vitest";
import { aligned, nextDifference, turned } from "../src/kernels/code/aligning";
import { overlaps, type Rows, spansIn } from "../src/kernels/code/rows";
import { inlinedAt, opcodesIn, stageRows } from "../src/kernels/code/stages";
import {
  columnOf,
  columnsOf,
  comparable,
  configFor,
  stageOf,
  usualColumns,
} from "../src/kernels/state";
import { runAt, StageLinks } from "../src/stagelinks";
import type {
  CodePart,
  ComparePart,
  Config,
  Kernel,
  Document as Report,
  StagePart,
} from "../src/wire";

function stage(name: string, lines: StagePart["lines"], more: Partial<StagePart> = {}): StagePart {
  const text = "a\nb\nc\nd";
  const nothing = { inlined: [], ptx: [], opcodes: {} };
  return { kind: "stage", config: "k0:c0", stage: name, text, lines, ...nothing, ...more };
}

const PTX = stage("ptx", [
  [1, 2, 7],
  [4, 4, 9],
]);
const SASS = stage("sass", [[1, 3, 7]], {
  ptx: [
    [1, 1, 2],
    [2, 3, 1],
  ],
});

function linked(parts = [PTX, SASS]): StageLinks {
  const links = new StageLinks();
  parts.forEach((part) => links.learn(part));
  return links;
}

describe("lines of stages", () => {
  test("Triton lines have runs of lines in every stage", () => {
    expect([...linked().ofKernelLines(["K:k0:9", "K:k0:7"])]).toEqual([
      ["k0:c0:ptx", PTX.lines.map(([first, last]) => [first, last])],
      ["k0:c0:sass", [[1, 3]]],
    ]);
    expect(linked().ofKernelLines(["K:k1:7"]).size).toBe(0);
  });

  test("PTX and SASS are tied line by line, both ways", () => {
    expect([...linked().ofStageLine("A:k0:c0:sass:1")]).toEqual([["k0:c0:ptx", [[2, 2]]]]);
    expect([...linked().ofStageLine("A:k0:c0:ptx:1")]).toEqual([["k0:c0:sass", [[2, 3]]]]);
  });

  test("other stages and configurations by the Triton line", () => {
    const other = { ...PTX, config: "k0:c1" };
    const ttir = stage("ttir", [[3, 3, 7]]);
    expect([...linked([SASS, other, ttir]).ofStageLine("A:k0:c0:sass:3")]).toEqual([
      ["k0:c1:ptx", [[1, 2]]],
      ["k0:c0:ttir", [[3, 3]]],
    ]);
    expect(linked().kernelLine("A:k0:c0:ptx:4")).toBe("K:k0:9");
    expect(linked().kernelLine("A:k0:c0:ptx:3")).toBeNull();
  });

  test("the run of a line", () => {
    expect(runAt(PTX.lines, 2)).toEqual([1, 2, 7]);
    expect(runAt(PTX.lines, 3)).toBeNull();
    expect(runAt([], 1)).toBeNull();
  });
});

describe("rows of a stage", () => {
  test("the colour is that of the node behind the Triton line", () => {
    const nodes = [...new Array<string[]>(6).fill([]), ["g0:add"]];
    const code: CodePart = { kind: "code", id: "k0", text: "", language: "triton", nodes };
    const rows = stageRows(PTX, code, new Map([["g0:add", 3]]));
    expect(rows.strip).toEqual([3, 3, -1, -1]);
    expect(rows.ids[3]).toBe("A:k0:c0:ptx:4");
  });

  test("SASS has its addresses in the gutter and loses the room for predicates, not the predicate", () => {
    const text =
      "        /*0120*/              @!P1 LDG.E R4, [R2] ;\n        /*0130*/                   EXIT ;";
    const rows = stageRows({ ...SASS, text }, null, new Map());
    expect(rows.text).toBe("@!P1 LDG.E R4, [R2] ;\nEXIT ;");
    expect(rows.numbers).toEqual(["0120", "0130"]);
    expect(rows.raw).toBe(text);
  });

  test("the place of an inlined helper", () => {
    const part = stage("ptx", [], { inlined: [[2, 3, "site/triton/standard.py", 263]] });
    expect(inlinedAt(part, 3)).toBe("standard.py:263");
    expect(inlinedAt(part, 1)).toBeNull();
  });

  test("an opcode is found with its predicate, and nothing else", () => {
    const what = { text: "", parts: [], source: "" };
    const known = { "@!": what, "ld.global.b32": what, add: what };
    const names = opcodesIn("  @!%p1 ld.global.b32 %r1, [%add + 4];", known).map((it) => it.name);
    expect(names).toEqual(["@!", "ld.global.b32"]);
  });
});

const CONFIGS = ["c0", "c1", "mi300x"].map((name) => ({
  id: `k0:${name}`,
  stages: name === "mi300x" ? { ttir: null, amdgcn: null } : { ttir: null, ptx: null, sass: "no" },
})) as unknown as Config[];
const KERNEL = { id: "k0", code: "code:k0", configs: CONFIGS, nodes: [] } as unknown as Kernel;
const REPORT = { sources: [{ lines: ["x"] }], no_assembly: null } as unknown as Report;

describe("configurations and columns", () => {
  test("the selection chooses, then the reader, then the compiler", () => {
    expect(configFor(KERNEL, "A:k0:c1:ptx:3", "k0:c0")?.id).toBe("k0:c1");
    expect(configFor(KERNEL, "k0:mi300x", "k0:c0")?.id).toBe("k0:mi300x");
    expect(configFor(KERNEL, "K:k0:3", "k0:c1")?.id).toBe("k0:c1");
    expect(configFor(KERNEL, null, undefined)?.id).toBe("k0:c0");
    expect(configFor({ ...KERNEL, configs: [] }, null, undefined)).toBeNull();
  });

  test("columns are those of the stages; AMDGCN takes the place of PTX", () => {
    expect(usualColumns(REPORT, KERNEL)).toEqual(["python", "code", "ptx"]);
    expect(columnsOf(REPORT, KERNEL, CONFIGS[0]!)).toContain("sass");
    expect(columnsOf(REPORT, KERNEL, CONFIGS[2]!)).not.toContain("sass");
    expect(stageOf("ptx", CONFIGS[2]!)).toBe("amdgcn");
    expect(comparable(CONFIGS[0]!, CONFIGS[1]!)).toEqual(["ttir", "ptx"]);
    expect(comparable(CONFIGS[0]!, CONFIGS[2]!)).toEqual(["ttir"]);
  });

  test("assembly of the CPU is a column beside the C++, which a reader can turn on", () => {
    const built = { id: "k0:host", stages: { assembly: null } } as unknown as Config;
    const onCpu = { ...KERNEL, configs: [built] };
    expect(usualColumns(REPORT, onCpu)).toEqual(["python", "nodes", "code"]);
    expect(columnsOf(REPORT, onCpu, built)).toEqual(["python", "nodes", "code", "ptx", "wrapper"]);
    expect(stageOf("ptx", built)).toBe("assembly");
    expect(columnOf("assembly")).toBe("ptx");
  });

  test("a kernel for the CPU has one column that says why there is no code of a GPU", () => {
    const onCpu = { ...KERNEL, configs: [] };
    const report = { ...REPORT, no_assembly: "This was compiled for the CPU." };
    expect(usualColumns(report, onCpu)).toEqual(["python", "nodes", "code"]);
    expect(columnsOf(report, onCpu, null)).toContain("ptx");
    expect(columnsOf(REPORT, onCpu, null)).not.toContain("ptx");
    expect(columnsOf(report, { ...onCpu, code: null }, null)).not.toContain("ptx");
  });
});

function rows(count: number, config: string): Rows {
  const lines = Array.from({ length: count }, (_, at) => `${config}${at + 1}`);
  return {
    text: lines.join("\n"),
    raw: lines.join("\n"),
    language: "ptx",
    ids: lines,
    numbers: lines,
    strip: lines.map(() => -1),
  };
}

const COMPARED: ComparePart = {
  kind: "compare",
  before: "k0:c0",
  after: "k0:c1",
  stage: "ptx",
  blocks: [
    ["same", 1, 20, 1, 20],
    ["changed", 21, 22, 21, 21],
    ["same", 23, 23, 22, 22],
    ["added", 24, 23, 23, 24],
  ],
};

describe("a comparison", () => {
  const left = rows(23, "a");
  const right = rows(24, "b");

  test("both sides are as high, with gaps where the other has lines", () => {
    const both = aligned(COMPARED, left, right, null);
    expect(both.left.ids.length).toBe(both.right.ids.length);
    expect(both.differences).toEqual([20, 23]);
    expect(both.right.ids.slice(20)).toEqual(["b21", null, "b22", "b23", "b24"]);
    expect(both.left.differences!.slice(20)).toEqual(["changed", "changed", null, "gap", "gap"]);
    expect(both.counts).toEqual({ changed: 2, added: 2, removed: 0 });
  });

  test("what is alike is folded but for the lines beside a difference, and opens", () => {
    const both = aligned(COMPARED, left, right, new Set());
    expect(both.left.ids.slice(0, 4)).toEqual([null, "a18", "a19", "a20"]);
    expect(both.left.text.split("\n")[0]).toBe("⋯ 17 lines alike");
    expect([...both.folds]).toEqual([[0, 0]]);
    expect(both.differences).toEqual([4, 7]);
    expect(aligned(COMPARED, left, right, new Set([0])).differences).toEqual([20, 23]);
  });

  test("lines of a stage are marked where they stand among gaps and folds", () => {
    const both = aligned(COMPARED, { ...left, stage: "k0:c0:ptx" }, right, new Set());
    const runs = new Map([["k0:c0:ptx", [[19, 21]] as [number, number][]]]);
    expect(spansIn(new Set(), runs, both.left, new Map())).toEqual([[2, 4]]);
    expect(spansIn(new Set(), runs, both.right, new Map())).toEqual([]);
    const plain = spansIn(new Set(), runs, { ...left, stage: "k0:c0:ptx" }, new Map());
    expect(plain).toEqual([[18, 20]]);
    expect([overlaps(plain, 20, 30), overlaps(plain, 21, 30)]).toEqual([true, false]);
  });

  test("seen from the other side", () => {
    const other = turned(COMPARED);
    expect(other.before).toBe("k0:c1");
    expect(other.blocks[3]).toEqual(["removed", 23, 24, 24, 23]);
  });

  test("the next difference and the one before", () => {
    expect(nextDifference([4, 9], -1, 1)).toBe(4);
    expect(nextDifference([4, 9], 4, 1)).toBe(9);
    expect(nextDifference([4, 9], 9, 1)).toBeNull();
    expect(nextDifference([4, 9], 9, -1)).toBe(4);
  });
});
