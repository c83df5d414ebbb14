import { describe, expect, test } from "vitest";
import {
  codeRows,
  coloursOf,
  inOrder,
  linesIn,
  nodeRows,
  placesOf,
  pythonRows,
} from "../src/kernels/code/rows";
import { kernelFor, switched, visible } from "../src/kernels/state";
import type { CodePart, Kernel } from "../src/wire";
import { usual } from "./small_graph";

const kernel = { id: "k1", nodes: ["g0:mul", "g0:add"] } as Kernel;

describe("rows", () => {
  test("the user's functions with their own line numbers", () => {
    const rows = pythonRows([
      {
        id: "s0",
        name: "f",
        file: "~/a.py",
        kind: "user",
        first: 7,
        lines: ["def f():", "        return 1"],
        marks: [],
      },
      {
        id: "s1",
        name: "g",
        file: "~/b.py",
        kind: "user",
        first: 1,
        lines: ["def g(): pass"],
        marks: [],
      },
    ]);
    expect(rows.numbers).toEqual(["", "7", "8", "", "", "1"]);
    expect(rows.ids[2]).toBe("L:s0:8");
    expect(rows.text.split("\n")[2]).toBe("    return 1");
    expect(rows.raw.split("\n")[2]).toBe("        return 1");
  });

  test("nodes in the order of the graph, one colour each", () => {
    const rows = nodeRows(kernel, usual());
    expect(rows.ids).toEqual(["g0:add", "g0:mul"]);
    expect(rows.text.split("\n")[0]).toBe("add = add(view, x)  # f32 [4]");
    expect(rows.strip).toEqual([0, 1]);
  });

  test("a line of the kernel has the colour of the node that it computes", () => {
    const colours = coloursOf(inOrder(kernel.nodes, usual()));
    const part: CodePart = {
      kind: "code",
      id: "k1",
      text: "a\nb\nc",
      language: "triton",
      nodes: [[], ["g0:mul"], ["g9:x", "g0:add"]],
    };
    const rows = codeRows(part, colours);
    expect(rows.strip).toEqual([-1, 1, 0]);
    expect(rows.ids[1]).toBe("K:k1:2");
  });

  test("marked lines, whether many or few ids are looked up", () => {
    const rows = nodeRows(kernel, usual());
    const places = placesOf(rows);
    expect(linesIn(new Set(["g0:mul"]), rows, places)).toEqual([1]);
    const many = new Set(["g0:mul", ...Array.from({ length: 50 }, (_, i) => `x${i}`), "g0:add"]);
    expect(linesIn(many, rows, places)).toEqual([0, 1]);
  });
});

describe("which kernel is shown", () => {
  const all = ["k0", "k1", "k2"];

  test("the selected one, or the one of the selected line", () => {
    expect(kernelFor("k2", new Set(), "k0", all)).toBe("k2");
    expect(kernelFor("K:k1:12", new Set(), "k0", all)).toBe("k1");
  });

  test("the present one as long as it belongs to the selection", () => {
    expect(kernelFor("L:s0:3", new Set(["k0", "k2"]), "k2", all)).toBe("k2");
    expect(kernelFor("L:s0:3", new Set(["k1"]), "k2", all)).toBe("k1");
    expect(kernelFor(null, new Set(), "k2", all)).toBe("k2");
    expect(kernelFor(null, new Set(), null, all)).toBe("k0");
    expect(kernelFor(null, new Set(), null, [])).toBeNull();
  });
});

describe("columns", () => {
  test("a narrow view shows the two chosen last; one always stays", () => {
    expect(visible(["python", "nodes", "code"], 2)).toEqual(["nodes", "code"]);
    expect(switched(["nodes", "code"], "wrapper", 2)).toEqual(["code", "wrapper"]);
    expect(switched(["nodes", "code"], "nodes", 4)).toEqual(["code"]);
    expect(switched(["code"], "code", 4)).toEqual(["code"]);
  });
});
