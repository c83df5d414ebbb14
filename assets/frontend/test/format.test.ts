import { expect, test } from "vitest";
import cases from "../../../tests/number_cases.json";
import { percent, plural, seconds, tflops, written, writtenIn, type Quantity } from "../src/format";

test.each(cases as [Quantity, number | null, string][])(
  "%s: %s is written %s, as in Python",
  (quantity, value, text) => expect(written(value, quantity)).toBe(text),
);

test("what is no number is absent or endless", () => {
  expect(seconds(NaN)).toBe("–");
  expect(written(-Infinity, "difference")).toBe("−∞");
});

test("rates of work come in 10^12 a second", () => {
  expect(tflops(66.9)).toBe("66.9 TFLOP/s");
  expect(tflops(null)).toBe("–");
});

test("one is not many", () => {
  expect(plural(1, "node")).toBe("1 node");
  expect(plural(12_000, "node")).toBe("12,000 nodes");
});

test("a share that rounds to nothing is not nothing", () => {
  expect([0, 0.0026, 0.005, 0.2].map(percent)).toEqual(["0 %", "<1 %", "1 %", "20 %"]);
  expect(writtenIn("share", 0.0026)).toBe("<1 %");
});
