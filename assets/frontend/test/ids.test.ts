import { expect, test } from "vitest";
import { graphOf, kindOf, numberOf, ownerOf, stageGraph } from "../src/ids";

test("an id says what it names", () => {
  expect(kindOf("L:s0:12")).toBe("line");
  expect(kindOf("g7:add_1")).toBe("node");
  expect(kindOf("g7.2:add_1")).toBe("node");
  expect(kindOf("g7.2")).toBe("graph");
  expect(stageGraph(graphOf("g7.2:add_1"))).toBe("g7");
  expect(kindOf("i0:buf1")).toBe("buffer");
  expect(kindOf("i0:op1")).toBe("group");
  expect(kindOf("f0:7")).toBe("rejected");
});

test("a line of a kernel names the kernel and counts from 1", () => {
  expect(ownerOf("K:k0:12")).toBe("k0");
  expect(numberOf("K:k0:12")).toBe(12);
});
