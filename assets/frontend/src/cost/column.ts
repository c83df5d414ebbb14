// A column of costs in one unit, so that its numbers can be compared by their places.

import type { Unit } from "../wire";

const STEPS: Partial<Record<Unit, readonly (readonly [name: string, size: number])[]>> = {
  us: [
    ["s", 1e6],
    ["ms", 1e3],
    ["µs", 1],
    ["ns", 1e-3],
  ],
  B: [
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
    ["B", 1],
  ],
};

/** The unit of a column, and how its numbers are written. */
export interface CostColumn {
  unit: string;
  write(value: number | undefined): string;
}

/** Three digits for the largest; 0 is `0`, what is not known is empty, what is less is `<`. */
export function columnOf(unit: Unit, most: number): CostColumn {
  const steps = STEPS[unit] ?? [["", 1] as const];
  const [name, size] = steps.find(([, one]) => most >= one) ?? steps.at(-1)!;
  const digits = most / size >= 100 ? 0 : most / size >= 10 ? 1 : 2;
  const least = 10 ** -digits;
  return {
    unit: name,
    write(value) {
      if (value === undefined) return "";
      if (value === 0) return "0";
      const text = (value / size).toFixed(digits);
      return Number(text) === 0 ? `<${least}` : text;
    },
  };
}
