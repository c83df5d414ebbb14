import { expect, test } from "vitest";
import { idle } from "../src/host";
import { farOf } from "../src/progress/job";

test("a count is a part, what runs is said", () => {
  const step = { name: "lower", start_s: 0, duration_s: null };
  expect(farOf({ ...idle(), words: "Forward: 4 of 11 kernels compiled" })).toEqual({
    done: 4 / 11,
    now: "Forward: 4 of 11 kernels compiled",
  });
  expect(farOf({ ...idle(), steps: [step], kernels: ["k0", "k1"] })).toEqual({
    done: null,
    now: "lower, 2 kernels",
  });
  expect(farOf(idle())).toEqual({ done: null, now: "" });
});
