import { expect, test } from "vitest";
import { bytes, plural, seconds } from "../src/format";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [8_388_608, "8.39 MB"],
  [33_554_432, "33.6 MB"],
  [999_600, "1.00 MB"],
  [524_288_000, "524 MB"],
  [null, "–"],
])("%s bytes are written %s", (count, text) => expect(bytes(count)).toBe(text));

test.each([
  [0, "0 ms"],
  [0.00000063, "630 ns"],
  [0.0000021, "2.10 µs"],
  [0.0042, "4.2 ms"],
  [0.1592, "159 ms"],
  [4.4305, "4.43 s"],
  [125, "2 min 5 s"],
])("%s seconds are written %s", (value, text) => expect(seconds(value)).toBe(text));

test("one is not many", () => {
  expect(plural(1, "node")).toBe("1 node");
  expect(plural(12_000, "node")).toBe("12,000 nodes");
});
