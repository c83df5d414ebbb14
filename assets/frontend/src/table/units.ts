// Numbers of a table as they are written, by the unit that they are given in.

import { amount, bytes, microseconds, percent, seconds } from "../format";
import type { Unit } from "../wire";

const WRITE: Record<Unit, (value: number) => string> = {
  "": String,
  count: (value) => value.toLocaleString("en"),
  B: bytes,
  s: seconds,
  ms: (value) => seconds(value / 1e3),
  us: microseconds,
  share: percent,
  amount,
};

export function written(value: number, unit: Unit = ""): string {
  return WRITE[unit](value);
}
