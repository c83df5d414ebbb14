import { describe, expect, test } from "vitest";
import { differences, folded, isFold, marked } from "../src/diff/source";
import { DiffState, isTold } from "../src/diff/state";
import type { DiffDocument, DiffKernels, DiffLine, DiffPart } from "../src/wire";

function lines(kinds: string): DiffLine[] {
  const names = { s: "same", c: "changed", a: "added", r: "removed" } as const;
  return [...kinds].map((letter, n) => ({
    kind: names[letter as keyof typeof names],
    left: letter === "a" ? null : n + 1,
    right: letter === "r" ? null : n + 1,
    before: letter === "a" ? null : "x",
    after: letter === "r" ? null : "x",
  }));
}

function part(id: string, differ: number, missing: string | null = null): DiffPart {
  const rest = { same: 1, is_measured: false, missing, rows: [], more: 0 };
  return { id, title: id, differ, ...rest };
}

function kernels(source: DiffLine[]): DiffKernels {
  const names = { a: ["k0 x"], b: ["k0 x"], facts: [], language: "cpp" };
  return { title: "x", relation: "changed", ...names, source };
}

const DOCUMENT: DiffDocument = {
  version: 1,
  a: { name: "a", words: "" },
  b: { name: "b", words: "" },
  is_same: false,
  program: { title: "", missing: "no lines", cost: "", lines: [], costs: [] },
  sentences: [],
  parts: [part("guards", 0), part("kernels", 2), part("phases", 0, "not captured")],
  kernels: [kernels([]), kernels(lines("s")), kernels(lines("sc"))],
};

describe("folding", () => {
  test("long equal stretches are folded, three lines stay beside a difference", () => {
    const shown = folded(lines("ssssssssscsssssssss"), new Set());
    expect(shown.map((row) => (isFold(row) ? `${row.start}+${row.count}` : row.at))).toEqual([
      "0+6",
      6,
      7,
      8,
      9,
      10,
      11,
      12,
      "13+6",
    ]);
  });

  test("a short stretch is not worth a fold, an opened one stays open", () => {
    expect(folded(lines("sssssscssssss"), new Set()).some(isFold)).toBe(false);
    expect(folded(lines("ssssssssc"), new Set([0])).some(isFold)).toBe(false);
    expect(folded(lines("ssssssssc"), null)).toHaveLength(9);
    expect(folded([], new Set())).toEqual([]);
    const costs = [...lines("sssssssss")].map((_, at) => ["", at === 4 ? "1 µs" : ""] as const);
    expect(folded(lines("sssssssss"), new Set(), costs).map(isFold)).toEqual([true, false, true]);
  });

  test("each run of one kind is a difference", () => {
    expect(differences(lines("sccsarr"))).toEqual([1, 4, 5]);
  });

  test("what of two lines differs is between what they share", () => {
    const [before, after] = marked("x < 256L; x++", "x < ks0*ks1; x++");
    expect(before).toEqual({ head: "x < ", middle: "256L", tail: "; x++" });
    expect(after.middle).toBe("ks0*ks1");
    expect(marked("aa", "aaa")[1]).toEqual({ head: "aa", middle: "a", tail: "" });
  });
});

describe("the state", () => {
  test("parts in which nothing differs have no tab unless something is missing", () => {
    expect(DOCUMENT.parts.map(isTold)).toEqual([false, true, true]);
    const { heads } = new DiffState(DOCUMENT);
    expect(heads.map((head) => head.id)).toEqual(["summary", "kernels", "phases"]);
  });

  test("it begins where it was left, with the first kernels that differ", () => {
    const state = new DiffState(DOCUMENT, "kernels");
    expect([state.pane.value, state.kernel.value]).toEqual(["kernels", 2]);
    expect(new DiffState(DOCUMENT, "guards").pane.value).toBe("summary");
  });

  test("a row leads to its kernels", () => {
    const state = new DiffState(DOCUMENT);
    state.look(1);
    expect([state.pane.value, state.kernel.value]).toEqual(["kernels", 1]);
  });
});

test("where no source differs, what is on one side alone is looked at first", () => {
  const alike = { ...kernels(lines("s")), relation: "same" as const };
  const alone = { ...kernels([]), relation: "only in b" as const };
  expect(new DiffState({ ...DOCUMENT, kernels: [alike, alike, alone] }).kernel.value).toBe(2);
});
