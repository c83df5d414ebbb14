import { describe, expect, it } from "vitest";
import { sidesOf } from "../src/fusion/fusion";
import { keptAnswer } from "../src/inspector/apart";
import { byReason, neighboursOf } from "../src/kernels/register";

describe("a pair that was not fused", () => {
  it("is named by its kernels, and by its operations where one kernel has both", () => {
    const pair = { a: "op1", b: "op2", a_kernel: "k1", b_kernel: "k2" };
    expect(sidesOf(pair)).toEqual(["k1", "k2"]);
    expect(sidesOf({ ...pair, b_kernel: null })).toEqual(["k1", "op2"]);
    expect(sidesOf({ ...pair, b_kernel: "k1" })).toEqual(["k1 op1", "k1 op2"]);
  });
});

describe("why a kernel was not fused", () => {
  const pair = (a: string, b: string, shared_bytes: number) => ({
    ...{ a: `op of ${a}`, b: `op of ${b}` },
    ...{ a_kernel: a, b_kernel: b, shared_bytes },
  });

  it("names each neighbour once, by the parts that share most", () => {
    const pairs = [pair("k1", "k12", 256), pair("k12", "k1", 524288), pair("k16", "k12", 0)];
    const both = [...pairs, pair("k12", "k12", 8), pair("k3", "k4", 9)];
    const found = neighboursOf(both, "k12").map((each) => each.shared_bytes);
    expect(found).toEqual([524288, 0]);
  });
});

describe("reasons of one kernel", () => {
  it("are said once for all that share as much, as five rows of one reason were", () => {
    const told = (id: string, reason: string, shared_bytes: number) => ({
      ...{ id, told: reason, shared_bytes },
    });
    const rows = [told("a", "no element in common", 0), told("b", "k6 stands between", 8)];
    const all = [...rows, told("c", "no element in common", 0), told("d", "k6 stands between", 9)];
    expect(byReason(all).map((alike) => alike.map(({ id }) => id).join())).toEqual([
      ...["a,c", "b", "d"],
    ]);
  });
});

describe("two things that kernels compute both", () => {
  it("are not apart, and of many kernels a few are named", () => {
    const none = { kind: "apart" as const, answers: [] };
    const said = (ids: string[]) => keptAnswer(none, ids, [...ids, "k99"])?.sentence;
    expect(said(["k1"])).toBe("They are fused: k1 computes both.");
    expect(said(["k1", "k2"])).toBe("They are fused: k1 and k2 compute both.");
    expect(said(["k1", "k2", "k3", "k4", "k5", "k6"])).toBe(
      "They are fused: k1, k2, k3, k4 and 2 more compute both.",
    );
  });
});
