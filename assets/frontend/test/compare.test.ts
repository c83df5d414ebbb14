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

const stage = (id: string, node_count: number, compile_id: string) =>
  ({ id, node_count, compile_id, is_backward: false }) as GraphHead;

test("a stage is compared with the one before, of its own compilation", () => {
  const graphs = [stage("g0", 5, "0/0"), stage("g1", 9, "1/0"), stage("g2", 7, "1/0")];
  expect(partner(graphs, "g2")).toBe("g1");
  expect(partner(graphs, "g1")).toBe("g2");
  expect(partner(graphs, "g0")).toBe(null);
});

test("a stage that a pass rewrote is not skipped, however many nodes it has", () => {
  const graphs = [stage("g0", 9, "0/0"), stage("g1", 7, "0/0")];
  const last = stage("g2", 7, "0/0");
  expect(partner([...graphs, last], "g2")).toBe("g0");
  expect(partner([...graphs, stage("g1.1", 7, "0/0"), last], "g2")).toBe("g1");
});

test("a graph that a pass left stands beside those of its stage alone", () => {
  const graphs = ["g0", "g1", "g1.1", "g1.2", "g2"].map((id) => stage(id, 7, "0/0"));
  const beside = (id: string) => comparable(graphs, id).map((graph) => graph.id);
  expect(beside("g1.1")).toEqual(["g1", "g1.1", "g1.2"]);
  expect(beside("g1")).toEqual(["g0", "g1", "g1.1", "g1.2", "g2"]);
  expect(beside("g2")).toEqual(["g0", "g1", "g2"]);
});
