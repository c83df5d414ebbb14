// Numbers of a table as they are written, by the unit that they are given in.

import { written, type Quantity } from "../format";
import type { Unit } from "../wire";

/** The quantity and the size of the unit; numbers without a unit stand as they are. */
const UNITS: Record<Exclude<Unit, "">, [Quantity, number]> = {
  count: ["whole", 1],
  B: ["bytes", 1],
  s: ["seconds", 1],
  ms: ["seconds", 1e-3],
  us: ["seconds", 1e-6],
  share: ["percent", 1],
  amount: ["amount", 1],
};

export function writtenIn(unit: Unit, value: number): string {
  if (unit === "") return String(value);
  const [quantity, size] = UNITS[unit];
  return written(value * size, quantity);
}
