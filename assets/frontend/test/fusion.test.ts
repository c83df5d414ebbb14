import { describe, expect, it } from "vitest";
import { sidesOf } from "../src/fusion/fusion";

describe("a pair that was not fused", () => {
  it("is named by its kernels, and by its operations where one kernel has both", () => {
    const pair = { a: "op1", b: "op2", a_kernel: "k1", b_kernel: "k2" };
    expect(sidesOf(pair)).toEqual(["k1", "k2"]);
    expect(sidesOf({ ...pair, b_kernel: null })).toEqual(["k1", "op2"]);
    expect(sidesOf({ ...pair, b_kernel: "k1" })).toEqual(["k1 op1", "k1 op2"]);
  });
});
