import { expect, test } from "vitest";
import { partner } from "../src/graph/bar";
import { comparable } from "../src/graph/compare";
import type { GraphHead } from "../src/wire";

function head(id: string, node_count: number, is_backward: boolean): GraphHead {
  return { id, node_count, is_backward } as GraphHead;
}

const GRAPHS = [head("g0", 5, false), head("g1", 9, false), head("g2", 7, true)];

test("a forward is never compared with a backward", () => {
  expect(partner(GRAPHS, "g2")).toBe(null);
  expect(partner(GRAPHS, "g1")).toBe("g0");
  expect(comparable(GRAPHS, "g0").map(({ id }) => id)).toEqual(["g0", "g1"]);
});
