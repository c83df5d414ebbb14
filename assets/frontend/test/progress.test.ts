import { expect, test } from "vitest";
import { shownSteps } from "../src/progress/progress";
import type { StepState } from "../src/wire";

function step(name: string, start_s: number, duration_s: number | null): StepState {
  return { name, start_s, duration_s };
}

test("short steps are counted, those inside others are indented", () => {
  const { shown, short } = shownSteps([
    step("compile", 0, null),
    step("trace", 0.1, 0.2),
    step("tiny", 0.15, 0.001),
    step("lower", 0.4, null),
    step("codegen", 0.5, 0.3),
  ]);
  expect(shown.map((each) => [each.step.name, each.depth])).toEqual([
    ["compile", 0],
    ["trace", 1],
    ["lower", 1],
    ["codegen", 2],
  ]);
  expect(short).toBe(1);
});

test("of many steps the longest stay, and whatever runs", () => {
  const many = Array.from({ length: 40 }, (_, i) => step(`s${i}`, i, 0.1 + i / 100));
  const { shown } = shownSteps([...many, step("last", 40, null)]);
  expect(shown).toHaveLength(12);
  expect(shown.at(-1)?.step.name).toBe("last");
  expect(shown[0]?.step.name).toBe("s29");
});
