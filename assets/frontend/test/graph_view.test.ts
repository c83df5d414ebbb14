import { describe, expect, test } from "vitest";
import type { ChangesPart } from "../src/wire";
import { cutHead, cutMiddle } from "../src/graph/drawing/draw";
import { findNodes } from "../src/graph/bar";
import { changesIn, looksOf } from "../src/graph/drawing/looks";
import { modelOf } from "../src/graph/layout/model";
import { NODE_H, NODE_W } from "../src/graph/layout/pack";
import { Grid, hitAt, planOf, rectOf } from "../src/graph/layout/plan";
import { type Scene, sceneOf } from "../src/graph/layout/scene";
import {
  fitted,
  panned,
  revealed,
  seen,
  toGraph,
  union,
  zoomed,
} from "../src/graph/layout/viewport";
import { step } from "../src/graph/keys";
import { graph, type Spec, usual } from "./small_graph";

const wish = { grouping: "kernel" as const, showsQuiet: false, isOpen: () => true, aspect: 2 };

function planned(part = usual(), over: Partial<typeof wish> = {}) {
  const model = modelOf(part);
  return planOf(model, sceneOf(model, { ...wish, ...over }));
}

/** A chain of kernels with a value that is used again far behind. */
function long(): Spec[] {
  const specs: Spec[] = [{ name: "x", op: "placeholder" }];
  for (let i = 0; i < 60; i++) {
    const inputs = [i ? `n${i - 1}` : "x"];
    if (i % 5 === 4) inputs.push(i > 5 ? `n${i - 5}` : "x");
    specs.push({
      name: `n${i}`,
      inputs,
      kernel: `k${Math.floor(i / 2)}`,
      module: `m.${Math.floor(i / 6)}`,
    });
  }
  return specs;
}

function overlaps(scene: Scene): number {
  let count = 0;
  scene.boxes.forEach((a, i) =>
    scene.boxes.slice(i + 1).forEach((b) => {
      const apart =
        a.x + a.width <= b.x ||
        b.x + b.width <= a.x ||
        a.y + a.height <= b.y ||
        b.y + b.height <= a.y;
      if (!apart) count++;
    }),
  );
  return count;
}

describe("the scene", () => {
  test("boxes never overlap, whatever is open", () => {
    const model = modelOf(graph(long()));
    for (const grouping of ["kernel", "module", "none"] as const)
      for (const isOpen of [() => true, () => false])
        expect(overlaps(sceneOf(model, { ...wish, grouping, isOpen }))).toBe(0);
  });

  test("edges between boxes run in the gaps, never behind a box", () => {
    const scene = sceneOf(modelOf(graph(long())), wish);
    for (const edge of scene.edges) {
      if (edge.isRail) continue;
      const ends = new Set([scene.boxOf[edge.from], scene.boxOf[edge.to]]);
      for (let i = 0; i + 3 < edge.points.length; i += 2) {
        const [x1, y1, x2, y2] = edge.points.slice(i, i + 4) as [number, number, number, number];
        scene.boxes.forEach((box, at) => {
          if (ends.has(at) || (x1 !== x2 && y1 !== y2)) return;
          const isClear =
            Math.max(x1, x2) <= box.x ||
            Math.min(x1, x2) >= box.x + box.width ||
            Math.max(y1, y2) <= box.y ||
            Math.min(y1, y2) >= box.y + box.height;
          expect(isClear).toBe(true);
        });
      }
    }
  });

  test("a wide pane gets fewer rows than a high one", () => {
    const model = modelOf(graph(long()));
    const shape = (aspect: number) => {
      const { width, height } = sceneOf(model, { ...wish, aspect });
      return width / height;
    };
    expect(shape(4)).toBeGreaterThan(shape(0.8));
  });

  test("layers are those of Python, with every node", () => {
    const scene = sceneOf(modelOf(usual()), { ...wish, grouping: "layers" });
    expect(scene.hidden).toBe(0);
    expect(scene.edges).toHaveLength(7);
    expect(scene.y[2]).toBe(48);
  });

  test("an empty graph is an empty scene", () => {
    expect(sceneOf(modelOf(graph([])), wish).boxes).toEqual([]);
  });
});

describe("under the pointer", () => {
  test("a node, its box, the sign of the box, nothing", () => {
    const plan = planned();
    const add = rectOf(plan, 4)!;
    expect(hitAt(plan, add.x + 5, add.y + 5)).toEqual({ kind: "node", node: 4 });
    const at = plan.scene.boxOf[4]!;
    const box = plan.scene.boxes[at]!;
    expect(hitAt(plan, box.x + 4, box.y + 4)).toEqual({ kind: "box", box: at, isToggle: false });
    expect(hitAt(plan, box.x + box.width - 6, box.y + 6)).toMatchObject({ isToggle: true });
    expect(hitAt(plan, -50, -50)).toBeNull();
  });

  test("a node in a collapsed box is found at the box", () => {
    const plan = planned(usual(), { isOpen: () => false });
    expect(rectOf(plan, 4)).toMatchObject({ width: 168 });
  });

  test("the grid reports what is near, each thing once", () => {
    const grid = new Grid(3);
    grid.add(0, 0, 0, 2000, 10);
    grid.add(1, 5000, 0, 10, 10);
    grid.add(2, -700, -700, 10, 10);
    expect(grid.near({ x: 0, y: 0, width: 1500, height: 100 })).toEqual([0]);
    expect(grid.near({ x: -800, y: -800, width: 9000, height: 900 }).sort()).toEqual([0, 1, 2]);
  });
});

describe("walking", () => {
  test("down and up along edges, through hidden nodes", () => {
    const plan = planned();
    expect(step(plan, 2, "down")).toBe(4);
    expect(step(plan, 4, "down")).toBe(5);
    expect(step(plan, 5, "up")).toBe(4);
  });

  test("sideways out of a box, and nowhere at the end", () => {
    const plan = planned();
    expect(step(plan, 5, "right")).toBe(6);
    expect(step(plan, 6, "right")).toBeNull();
    expect(step(plan, null, "down")).toBe(0);
  });

  test("between siblings of a row", () => {
    const part = graph([
      { name: "a", kernel: "k0" },
      { name: "b", kernel: "k0", inputs: ["a"] },
      { name: "c", kernel: "k0", inputs: ["a"] },
    ]);
    const plan = planned(part);
    expect(step(plan, 1, "right")).toBe(2);
    expect(step(plan, 2, "left")).toBe(1);
  });
});

describe("the view", () => {
  test("zooming keeps the point under the pointer", () => {
    const view = { zoom: 1, x: 10, y: 20 };
    const before = toGraph(view, 300, 200);
    const after = toGraph(zoomed(view, 1.7, 300, 200), 300, 200);
    expect(after.x).toBeCloseTo(before.x);
    expect(after.y).toBeCloseTo(before.y);
  });

  test("fitting shows all of it, in the middle", () => {
    const view = fitted({ x: 100, y: 50, width: 2000, height: 400 }, 800, 600);
    const window = seen(view, 800, 600);
    expect(window.x).toBeLessThanOrEqual(100);
    expect(window.x + window.width).toBeGreaterThanOrEqual(2100);
  });

  test("what is in sight does not move the view, what is not does", () => {
    const view = { zoom: 1, x: 0, y: 0 };
    expect(revealed(view, { x: 10, y: 10, width: 50, height: 20 }, 400, 300)).toBe(view);
    const moved = revealed(view, { x: 900, y: 10, width: 50, height: 20 }, 400, 300);
    expect(900 + moved.x + 50).toBeLessThanOrEqual(400);
    expect(panned(view, 3, 4)).toEqual({ zoom: 1, x: 3, y: 4 });
  });

  test("rectangles add up", () => {
    expect(
      union([
        { x: 0, y: 0, width: 5, height: 5 },
        { x: 10, y: 2, width: NODE_W, height: NODE_H },
      ]),
    ).toEqual({
      x: 0,
      y: 0,
      width: 10 + NODE_W,
      height: 2 + NODE_H,
    });
    expect(union([])).toBeNull();
  });
});

test("search looks into names, operations, modules, kernels and lines", () => {
  const model = modelOf(usual());
  expect(findNodes(model, "RELU")).toEqual([2]);
  expect(findNodes(model, "m.b")).toEqual([4, 5]);
  expect(findNodes(model, "line 1")).toEqual([2, 3, 5]);
  expect(findNodes(model, " ")).toEqual([]);
});

test("the selected node and what belongs to it", () => {
  const model = modelOf(usual());
  const looks = looksOf(model, "g0:add", new Set(["g0:mul", "k1", "g9:add"]), -1, null);
  expect([...looks.nodes]).toEqual([0, 0, 0, 0, 2, 1, 0]);
});

test("of a comparison only what stands in this graph is marked", () => {
  const model = modelOf(usual());
  const part: ChangesPart = {
    kind: "changes",
    before: "g0",
    after: "g1",
    added: ["g1:new"],
    removed: ["g0:view"],
    replaced: [[["g0:add"], ["g1:addmm"]]],
    kept: 3,
  };
  expect([...changesIn(model, part)]).toEqual([
    [3, "removed"],
    [4, "replaced"],
  ]);
});

test("of a node's name the number is kept", () => {
  expect(cutMiddle("add_8", 12)).toBe("add_8");
  expect(cutMiddle("select_scatter_default_1", 14)).toBe("select_scat…_1");
  expect(cutMiddle("_scaled_dot_product", 10)).toBe("_scaled_d…");
});

test("of a path that does not fit the end is kept", () => {
  expect(cutHead("transformer.h.0.attn", 30)).toBe("transformer.h.0.attn");
  expect(cutHead("transformer.h.0.attn", 10)).toBe("…h.0.attn");
  expect(cutHead("scaled_attention", 8)).toBe("…tention");
});
