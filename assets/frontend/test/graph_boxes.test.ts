import { describe, expect, test } from "vitest";
import { boxes } from "../src/graph/layout/groups";
import { firstOpen, moduleTree } from "../src/graph/layout/modules";
import { columns } from "../src/graph/layout/columns";
import { modelOf, visible } from "../src/graph/layout/model";
import { NODE_H, NODE_W, pack } from "../src/graph/layout/pack";
import { graph, usual } from "./small_graph";

const all = () => true;
const none = () => false;

function named(part = usual()) {
  const model = modelOf(part);
  return { model, names: (nodes: readonly number[]) => nodes.map((node) => part.names[node]) };
}

describe("what is shown", () => {
  test("an edge leads through hidden nodes to the next that is shown", () => {
    const { model, names } = named();
    const view = visible(model, false);
    expect(view.hidden).toBe(2);
    const pairs = Array.from({ length: view.edges.length / 2 }, (_, i) =>
      names([view.edges[i * 2]!, view.edges[i * 2 + 1]!]).join(">"),
    );
    expect(pairs).toEqual(["x>relu", "relu>add", "x>add", "add>mul", "mul>output"]);
  });

  test("a hidden node that is selected is shown all the same", () => {
    const { model } = named();
    expect(visible(model, false, new Set([3])).hidden).toBe(1);
  });
});

describe("boxes", () => {
  test("by kernel, inputs and output stand alone", () => {
    const { model, names } = named();
    const made = boxes(model, visible(model, false), "kernel", all);
    expect(made.boxes.map((box) => [box.title, names(box.nodes)])).toEqual([
      ["", ["x"]],
      ["k0", ["relu"]],
      ["k1", ["add", "mul"]],
      ["", ["output"]],
    ]);
  });

  test("a view without a kernel is shown where it is used", () => {
    const { model, names } = named();
    const made = boxes(model, visible(model, true), "kernel", all);
    expect(names(made.boxes.find((box) => box.id === "k1")!.nodes)).toEqual(["view", "add", "mul"]);
  });

  test("each call of a kernel that runs twice is a box of its own", () => {
    const { model } = named(
      graph([
        { name: "a", kernel: "k0" },
        { name: "b", inputs: ["a"], kernel: "k0" },
        { name: "mm", inputs: ["b"], kernel: "k1" },
        { name: "c", inputs: ["mm"], kernel: "k0" },
        { name: "d", inputs: ["c"], kernel: "k0" },
      ]),
    );
    const calls = (kernel: string) => (kernel === "k0" ? 2 : 1);
    const made = boxes(model, visible(model, false), "kernel", all, calls);
    expect(made.boxes.map((box) => [box.title, box.nodes])).toEqual([
      ["k0 1/2", [0, 1]],
      ["k1", [2]],
      ["k0 2/2", [3, 4]],
    ]);
  });

  test("a collapsed module holds everything below it", () => {
    const { model, names } = named();
    const made = boxes(model, visible(model, false), "module", (key) => key === "m");
    expect(made.boxes.map((box) => [box.title, names(box.nodes), box.isOpen])).toEqual([
      ["", ["x"], true],
      ["a", ["relu"], false],
      ["b", ["add", "mul"], false],
      ["", ["output"], true],
    ]);
  });

  test("a line that is run again is drawn again", () => {
    const { model } = named();
    const made = boxes(model, visible(model, false), "line", all);
    const titles = made.boxes.filter((box) => !box.isBare).map((box) => box.title);
    expect(titles).toEqual(["line 1", "line 2", "line 1"]);
  });

  test("collapsed, nothing of a kernel's inside is left", () => {
    const { model } = named();
    const made = boxes(model, visible(model, false), "kernel", none);
    expect(made.boxes.filter((box) => !box.isBare).every((box) => !box.isOpen)).toBe(true);
  });

  test("modules open from outside in as far as they can be read", () => {
    const modules = [
      "t.wte",
      ...Array.from({ length: 30 }, (_, i) => [`t.h.${i}.a`, `t.h.${i}.b`]).flat(),
    ];
    const tree = moduleTree(modules);
    expect([...firstOpen(tree, 40)].sort()).toEqual(["t", "t.h"]);
    expect(firstOpen(tree, 1000).has("t.h.3")).toBe(true);
  });

  test("a list of very many layers comes in runs, and names lose what all share", () => {
    const modules = Array.from({ length: 100 }, (_, i) => `net.layers.${i}.attention`);
    const tree = moduleTree(modules);
    expect(tree.steps[5]!.map((step) => step.title)).toEqual([
      "net",
      "layers",
      "layers.4–7",
      "layers.5",
      "layers.5.attention",
    ]);
    const open = firstOpen(tree, 64);
    expect([...open]).toEqual(["net", "net.layers"]);
    expect(tree.children.get("net.layers")).toHaveLength(25);
  });

  test("a weight is in the closed box of its readers, what nobody reads in one box", () => {
    const model = modelOf(
      graph([
        { name: "w", op: "placeholder" },
        { name: "a", inputs: ["w"], module: "m.a" },
        { name: "b", inputs: ["a"], module: "m.b" },
        ...Array.from({ length: 8 }, (_, i) => ({ name: `p${i}`, op: "placeholder" })),
      ]),
    );
    const made = (isOpen: (key: string) => boolean) =>
      boxes(model, visible(model, true), "module", isOpen).boxes.map((box) => box.nodes.length);
    expect(made((key) => key === "m")).toEqual([2, 1, 8]);
    expect(made(() => true)).toEqual(Array(11).fill(1));
  });
});

describe("columns", () => {
  test("a box stands right of all that it reads, an input just before its reader", () => {
    const made = columns(
      5,
      [
        [0, 1],
        [1, 2],
        [2, 3],
        [4, 3],
      ],
      (box) => box === 4,
    );
    expect([...made.of]).toEqual([0, 1, 2, 3, 2]);
  });

  test("a cycle does no harm and forgets no box", () => {
    const made = columns(
      3,
      [
        [0, 1],
        [1, 2],
        [2, 1],
      ],
      () => false,
    );
    expect(made.list.flat().sort()).toEqual([0, 1, 2]);
    expect(made.of[0]).toBeLessThan(made.of[1]!);
  });

  test("very many boxes that could start together do not make one tower", () => {
    const made = columns(40, [], () => false);
    expect(Math.max(...made.list.map((boxes) => boxes.length))).toBeLessThanOrEqual(14);
    expect(made.list.flat().length).toBe(40);
  });
});

describe("the inside of a box", () => {
  const order = [0, 1, 2, 3];

  test("what reads comes below what it reads, and nothing overlaps", () => {
    const inside = pack(
      order,
      [
        [0, 1],
        [0, 2],
        [1, 3],
        [2, 3],
      ],
      true,
    );
    expect(inside.row).toEqual([0, 1, 1, 2]);
    expect(inside.x[2]! - inside.x[1]!).toBeGreaterThanOrEqual(NODE_W);
    expect(inside.y[3]! - inside.y[1]!).toBeGreaterThanOrEqual(NODE_H);
    expect(inside.width).toBeGreaterThanOrEqual(Math.max(...inside.x) + NODE_W);
  });

  test("an edge that skips a row runs beside the nodes", () => {
    const inside = pack(
      [0, 1, 2],
      [
        [0, 1],
        [1, 2],
        [0, 2],
      ],
      true,
    );
    const skip = inside.edges.find((edge) => edge.from === 0 && edge.to === 2)!;
    const xs = skip.points.filter((_, i) => i % 2 === 0);
    expect(Math.max(...xs)).toBeGreaterThan(inside.x[1]! + NODE_W);
    expect(Math.max(...xs)).toBeLessThan(inside.width);
  });

  test("a row of very many nodes is wrapped", () => {
    const inside = pack(
      Array.from({ length: 9 }, (_, i) => i),
      [],
      true,
    );
    expect(Math.max(...inside.row)).toBe(2);
  });
});
