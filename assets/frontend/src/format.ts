// Numbers as they are written everywhere, by the table of rules that Python reads too.

import table from "../../../workbench/number_rules.json";
import { INFINITE, type Unit } from "./wire";

export type Quantity = keyof typeof table.quantities;

/** Its name, its size, its decimals, and below which number of it it is used. */
type Scale = [name: string, size: number, decimals?: number, below?: number];
/** From how many on, the larger unit and the smaller one. */
type Clock = [from: number, size: number, name: string, size: number, name: string];

interface Rule {
  zero?: string;
  /** What stands for less than a number, which is not nothing. */
  least?: [number, string];
  units?: Scale[];
  clock?: Clock[];
  integers_below?: number;
  digits?: number;
  digits_below?: number;
  is_grouped?: boolean;
}

const RULES = table.quantities as unknown as Record<Quantity, Rule>;

/** A number with its unit; what is unknown is a dash. */
export function written(value: number | null, quantity: Quantity): string {
  if (value === null || Number.isNaN(value)) return table.absent;
  const [least, little] = RULES[quantity].least ?? [0, ""];
  if (value > 0 && value < least) return little;
  const text = sized(Math.abs(value), RULES[quantity]);
  return value < 0 && /[1-9∞]/.test(text) ? table.minus + text : text;
}

function sized(size: number, rule: Rule): string {
  if (size === Infinity) return table.infinite;
  if (size === 0 && rule.zero) return rule.zero;
  const clock = rule.clock?.findLast(([from]) => size >= from);
  if (clock) return clocked(size, clock);
  if (Number.isInteger(size) && size < (rule.integers_below ?? 0)) return String(size);
  if (rule.digits && size < (rule.digits_below ?? Infinity)) return significant(size, rule.digits);
  return scaled(size, rule);
}

function clocked(size: number, [, large, name, small, rest]: Clock): string {
  const count = Math.round(size / small) * small;
  return `${Math.floor(count / large)} ${name} ${(count % large) / small} ${rest}`;
}

function significant(size: number, digits: number): string {
  const [least, most] = table.scientific as [number, number];
  const rounded = Number(size.toPrecision(digits));
  if (size === 0 || (rounded >= least && rounded < most)) return String(rounded);
  return rounded.toExponential().replace("+", "");
}

function scaled(size: number, { units = [], is_grouped }: Rule): string {
  const unit =
    units.find(([, one, , below]) => size / one < (below ?? table.next_unit)) ?? units.at(-1)!;
  const [name, one, decimals] = unit;
  const count = size / one;
  const places = decimals ?? table.decimals.find(([from]) => count >= from!)![1]!;
  const text = count.toFixed(places);
  const whole = is_grouped ? text.replace(/\B(?=(\d{3})+$)/g, table.group) : text;
  return name ? `${whole} ${name}` : whole;
}

export const bytes = (count: number | null) => written(count, "bytes");
export const seconds = (value: number | null) => written(value, "seconds");
export const percent = (part: number | null) => written(part, "percent");
/** An amount of work or a ratio: 1.34 M, 0.375, 12. */
export const amount = (value: number | null) => written(value, "amount");
/** A whole number, its thousands apart. */
export const whole = (count: number | null) => written(count, "whole");

export function microseconds(value: number | null): string {
  return seconds(value === null ? null : value * 1e-6);
}

/** A rate in 10^12 operations per second. */
export function tflops(value: number | null): string {
  return written(value === null ? null : value * 1e12, "flops_per_second");
}

export function plural(count: number, word: string): string {
  return `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
}

/** A sentence as it goes on behind a colon. */
export function lowered(words: string): string {
  return words.slice(0, 1).toLowerCase() + words.slice(1);
}

/** Words as the beginning of a sentence. */
export function sentence(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** The quantity and the size of the unit; numbers without a unit stand as they are. */
const UNITS: Record<Exclude<Unit, "">, [Quantity, number]> = {
  count: ["whole", 1],
  B: ["bytes", 1],
  s: ["seconds", 1],
  ms: ["seconds", 1e-3],
  us: ["seconds", 1e-6],
  share: ["percent", 1],
  amount: ["amount", 1],
  eps: ["difference", 1],
};

export function writtenIn(unit: Unit, value: number): string {
  if (unit === "") return String(value);
  const [quantity, size] = UNITS[unit];
  if (quantity === "seconds" && value === 0) return "0"; // of whatever the others have
  return written(value < INFINITE ? value * size : Infinity, quantity);
}
