// Numbers as they are written everywhere: three significant digits and always a unit.

const BYTES = ["B", "kB", "MB", "GB", "TB"];

function significant(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(value >= 10 ? 1 : 2);
}

export function bytes(count: number | null): string {
  if (count === null) return "–";
  if (count < 1000) return `${Math.round(count)} B`;
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < BYTES.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${significant(value)} ${BYTES[unit]}`;
}

export function seconds(value: number | null): string {
  if (value === null) return "–";
  if (value >= 99.95) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  if (value >= 0.9995) return `${significant(value)} s`;
  if (value >= 0.00995) return `${(value * 1e3).toFixed(0)} ms`;
  if (value >= 0.0009995) return `${(value * 1e3).toFixed(1)} ms`;
  if (value === 0) return "0 ms";
  return value < 0.9995e-6 ? `${significant(value * 1e9)} ns` : `${significant(value * 1e6)} µs`;
}

export function microseconds(value: number | null): string {
  return value === null ? "–" : seconds(value * 1e-6);
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(0)} %`;
}

export function plural(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

const AMOUNTS = ["", "k", "M", "G", "T", "P"];

/** An amount of work or a ratio: 1.34 M, 0.375, 12. */
export function amount(value: number | null): string {
  if (value === null) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 10_000) return String(value);
  let rest = value;
  let unit = 0;
  while (Math.abs(rest) >= 999.5 && unit < AMOUNTS.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  if (Math.abs(rest) < 1) return Number(rest.toPrecision(3)).toString();
  return `${significant(rest)} ${AMOUNTS[unit]}`.trim();
}

/** A rate in 10^12 operations per second. */
export function tflops(value: number | null): string {
  if (value === null) return "–";
  if (value < 1) return `${amount(value * 1000)} GFLOPS`;
  return value < 1000 ? `${amount(value)} TFLOPS` : `${amount(value / 1000)} PFLOPS`;
}
