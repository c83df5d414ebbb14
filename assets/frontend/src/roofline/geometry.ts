// Where roofs and kernels stand on the chart: both axes are logarithmic, places are shares of it.

import type { Roof, RooflinePoint } from "../wire";

interface Span {
  least: number;
  most: number;
}

export interface Axes {
  /** Operations per byte. */
  x: Span;
  /** 10^12 operations per second. */
  y: Span;
}

/** Where a value is on a logarithmic axis, from 0 to 1, or beyond its ends. */
export function along(span: Span, value: number): number {
  return Math.log(value / span.least) / Math.log(span.most / span.least);
}

/** The rate that a kernel has: measured, or else the one that the roof allows it. */
export function rateOf(point: RooflinePoint): number | null {
  if (point.measured_us && point.flops) return point.flops / point.measured_us / 1e6;
  return point.attainable_tflops;
}

/** Whether a kernel has a place: one without operations has none on a logarithmic axis. */
export function hasPlace(point: RooflinePoint): boolean {
  return (point.intensity ?? 0) > 0 && (rateOf(point) ?? 0) > 0;
}

export function axesOf(roof: Roof, points: readonly RooflinePoint[]): Axes {
  const placed = points.filter(hasPlace);
  const slope = roof.bandwidth_gbs / 1000;
  const peaks = roof.rates.map(([, rate]) => rate);
  const top = Math.max(...peaks, ...placed.map((point) => rateOf(point) ?? 0), slope);
  const ridges = peaks.map((peak) => peak / slope);
  const xs = [...placed.map((point) => point.intensity ?? 1), ...ridges];
  // The names of the roofs stand behind the last ridge.
  const x = around(Math.min(...xs, 1) * 0.6, Math.max(...xs, 1) * 5);
  const low = Math.min(x.least * slope * 1.3, ...placed.map((point) => rateOf(point) ?? top));
  return { x, y: around(low * 0.8, top * 1.3) };
}

/** The round values, 1, 2 or 5 of a power of ten, around two values. */
function around(least: number, most: number): Span {
  return { least: rounded(least, -1), most: rounded(most, 1) };
}

function rounded(value: number, towards: -1 | 1): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => Number((step * power).toPrecision(1)));
  const fits = steps.filter((step) => (towards > 0 ? step >= value : step <= value));
  return (towards > 0 ? fits[0] : fits[fits.length - 1]) ?? value;
}

/** The powers of ten on an axis. */
export function ticks({ least, most }: Span): number[] {
  const found = [];
  for (let power = Math.ceil(Math.log10(least) - 1e-9); 10 ** power <= most * 1.001; power += 1)
    found.push(Number((10 ** power).toPrecision(1)));
  return found;
}

export interface Line {
  name: string;
  /** Shares of the width and of the height, from below. */
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  /** The bandwidth (GB/s) or the rate (TFLOP/s). */
  value: number;
}

/** The slope of the memory up to the highest roof, and a roof for each rate from its ridge on. */
export function linesOf(roof: Roof, { x, y }: Axes): Line[] {
  const slope = roof.bandwidth_gbs / 1000;
  const top = Math.max(...roof.rates.map(([, rate]) => rate), Number.MIN_VALUE);
  const end = roof.rates.length ? Math.min(x.most, top / slope) : x.most;
  const start = Math.max(x.least, y.least / slope);
  const memory: Line = {
    name: "memory",
    x1: along(x, start),
    y1: along(y, start * slope),
    x2: along(x, end),
    y2: along(y, end * slope),
    value: roof.bandwidth_gbs,
  };
  const roofs = roof.rates.map(([name, rate]) => ({
    name,
    x1: along(x, Math.max(x.least, rate / slope)),
    y1: along(y, rate),
    x2: 1,
    y2: along(y, rate),
    value: rate,
  }));
  return [memory, ...roofs];
}

export interface Placed {
  point: RooflinePoint;
  x: number;
  y: number;
  /** Radius in pixels: its area goes with the share of the time. */
  radius: number;
}

const LEAST = 4;
const MOST = 12;

/** The kernels that have a place, from left to right; small ones are drawn over big ones. */
export function placesOf(points: readonly RooflinePoint[], { x, y }: Axes): Placed[] {
  const largest = Math.max(...points.map((point) => point.share), 1e-9);
  const placed = points.filter(hasPlace).map((point) => ({
    point,
    x: along(x, point.intensity ?? 1),
    y: along(y, rateOf(point) ?? 1),
    radius: Math.max(LEAST, Math.round(MOST * Math.sqrt(point.share / largest))),
  }));
  return placed.sort((a, b) => a.x - b.x || a.y - b.y);
}

/** The kernels whose name has room beside them, those with the most time first. */
export function named(placed: readonly Placed[], width: number, height: number): Set<string> {
  const taken: { x: number; y: number }[] = [];
  const found = new Set<string>();
  for (const { point, x, y } of [...placed].sort((a, b) => b.point.share - a.point.share)) {
    const at = { x: x * width, y: y * height };
    if (taken.some((other) => Math.abs(other.x - at.x) < 44 && Math.abs(other.y - at.y) < 16))
      continue;
    taken.push(at);
    found.add(point.kernel);
  }
  return found;
}

/** The kernel that an arrow key leads to from a place: the next one to that side. */
export function nextPlace(placed: readonly Placed[], from: Placed, key: string): Placed | null {
  const sign = key === "ArrowRight" || key === "ArrowUp" ? 1 : -1;
  const isSideways = key === "ArrowRight" || key === "ArrowLeft";
  const at = placed.indexOf(from);
  if (isSideways) return placed[at + sign] ?? null;
  const order = [...placed].sort((a, b) => a.y - b.y || a.x - b.x);
  return order[order.indexOf(from) + sign] ?? null;
}
