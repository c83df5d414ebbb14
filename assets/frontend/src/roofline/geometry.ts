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

/** A kernel under its roof, or one for several identical ones, whose ids are `alike`. */
export interface Point extends RooflinePoint {
  alike?: readonly string[];
}

/**
 * One point for identical kernels that nothing was measured of: by the model they are one place.
 * The selected one stands for its group, so that its row is lit.
 */
export function folded(
  points: readonly RooflinePoint[],
  sameOf: (kernel: string) => string,
  selected: string | null,
): readonly Point[] {
  const groups = new Map<string, Point>();
  for (const point of points) {
    const key = point.measured_us === null ? sameOf(point.kernel) : point.kernel;
    const first = groups.get(key);
    if (!first) {
      groups.set(key, point);
      continue;
    }
    const shown = point.kernel === selected ? point : first;
    const alike = [...(first.alike ?? [first.kernel]), point.kernel];
    groups.set(key, { ...shown, share: first.share + point.share, alike });
  }
  return groups.size === points.length ? points : [...groups.values()];
}

/** The unit in which the rates of a device are numbers of a few digits, in 10^12 per second. */
export function unitOf({ y }: Axes): readonly [unit: string, size: number] {
  return y.most < 1 ? ["GFLOP/s", 1e-3] : ["TFLOP/s", 1];
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
  point: Point;
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

/** A rectangle in pixels, from below on the left. */
export interface Box {
  left: number;
  right: number;
  bottom: number;
  top: number;
}

function meet(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top;
}

function dotOf({ x, y, radius }: Placed, width: number, height: number): Box {
  const [cx, cy] = [x * width, y * height];
  return { left: cx - radius, right: cx + radius, bottom: cy - radius, top: cy + radius };
}

const STEP = 24; // pixels by which the name of a roof is moved along it
const LETTER = 7; // of the names of points, which are code
const NAME_LETTER = 5.8; // of those of roofs
const LINE = 14;
const APART = 3;

/** Where the name of a roof stands: at the right end above its line, or further left. */
export interface NamedLine {
  line: Line;
  words: string;
  box: Box;
}

/** The names of roofs, each where no other and no point stands; names of rates go to the left. */
export function namesOf(
  lines: readonly Line[],
  wordsOf: (line: Line) => string,
  width: number,
  height: number,
  placed: readonly Placed[] = [],
): NamedLine[] {
  const dots = placed.map((place) => dotOf(place, width, height));
  const found: NamedLine[] = [];
  for (const line of [...lines].reverse()) {
    const words = wordsOf(line);
    const wide = NAME_LETTER * words.length + 8;
    const isSlope = line.x2 < 1;
    const x = isSlope ? ((line.x1 + line.x2) / 2) * width : width;
    const y = (isSlope ? (line.y1 + line.y2) / 2 : line.y1) * height + 1;
    const at = (right: number): Box => ({ left: right - wide, right, bottom: y, top: y + LINE });
    const steps = Math.max(1, Math.floor((x - line.x1 * width) / STEP));
    const near = Array.from({ length: steps }, (_, step) => at(x - step * STEP));
    const fits = near.filter(({ left }) => isSlope || left >= line.x1 * width);
    const under = fits.map((box) => ({ ...box, bottom: y - LINE - 2, top: y - 2 }));
    const beside = [1, 2, 3].map((step) => at(x - step * (wide + 8)));
    const tries = [...fits, ...(isSlope ? [] : under), ...beside];
    const free = tries.filter((box) => found.every((other) => !meet(box, other.box)));
    const alone = free.find((box) => !dots.some((dot) => meet(box, dot)) && !beside.includes(box));
    found.push({ line, words, box: alone ?? free[0] ?? tries[0]! });
  }
  return found.reverse();
}

export const SIDES = ["right", "left", "above", "below", "above left", "below right"] as const;
/** The corners are those that a rising roof through the point leaves free. */
export type Side = (typeof SIDES)[number];

/** Where the name of a point would stand. */
function boxAt({ x, y, radius }: Placed, words: string, side: Side, w: number, h: number): Box {
  const wide = LETTER * words.length;
  const [cx, cy, off] = [x * w, y * h, radius + APART];
  const middle = { left: cx - wide / 2, bottom: cy - LINE / 2 };
  const [left, bottom] = {
    right: [cx + off, middle.bottom] as const,
    left: [cx - off - wide, middle.bottom] as const,
    above: [middle.left, cy + off] as const,
    below: [middle.left, cy - off - LINE] as const,
    "above left": [cx - radius - wide, cy + radius] as const,
    "below right": [cx + radius, cy - radius - LINE] as const,
  }[side];
  return { left, right: left + wide, bottom, top: bottom + LINE };
}

/** Boxes along the roofs, which names keep off. */
export function alongLines(lines: readonly Line[], width: number, height: number): Box[] {
  const steps = Array.from({ length: STEPS }, (_, i) => i / STEPS);
  return lines.flatMap(({ x1, y1, x2, y2 }) =>
    steps.map((at) => {
      const [from, to] = [at, at + 1 / STEPS].map((part) => ({
        x: (x1 + (x2 - x1) * part) * width,
        y: (y1 + (y2 - y1) * part) * height,
      })) as [{ x: number; y: number }, { x: number; y: number }];
      return { left: from.x, right: to.x, bottom: from.y - 2, top: to.y + 2 };
    }),
  );
}

const STEPS = 100;

/** The name of a point on the chart, at a side of it that has room. */
export interface Label {
  side: Side;
  words: string;
}

/**
 * The names for which there is room at a side of their point: they cover no other name, no other
 * point, no roof and no name of one. Those with the most time choose first; for points in one place
 * the first of them stands, with how many more there are.
 */
export function named(
  placed: readonly Placed[],
  width: number,
  height: number,
  taken: readonly Box[] = [],
  roofs: readonly Box[] = [],
): Map<string, Label> {
  const used: Box[] = [...taken, ...roofs];
  const dots = placed.map((place) => dotOf(place, width, height));
  const found = new Map<string, Label>();
  const isHere = (a: Placed, b: Placed) =>
    Math.hypot((a.x - b.x) * width, (a.y - b.y) * height) < LEAST;
  const order = placed.map((_, i) => i);
  order.sort((a, b) => placed[b]!.point.share - placed[a]!.point.share);
  const heads: Placed[] = [];
  for (const i of order) {
    const place = placed[i]!;
    if (heads.some((head) => isHere(head, place))) continue;
    heads.push(place);
    const here = placed.filter((each) => isHere(place, each)).map(({ point }) => point);
    const more = here.reduce((sum, { alike }) => sum + (alike?.length ?? 1), -1);
    const words = here.length > 1 ? `${place.point.kernel} + ${more}` : labelOf(place.point);
    const boxOf = (side: Side) => boxAt(place, words, side, width, height);
    const side = SIDES.find((side) => {
      const box = boxOf(side);
      const isInside = box.left >= 0 && box.right <= width && box.bottom >= 0 && box.top <= height;
      return (
        isInside &&
        !used.some((other) => meet(box, other)) &&
        !dots.some((dot, j) => !isHere(place, placed[j]!) && meet(box, dot))
      );
    });
    if (!side) continue;
    used.push(boxOf(side));
    found.set(place.point.kernel, { side, words });
  }
  return found;
}

/** From this part of its roof on, a kernel sits on it; as in Python. */
const ON_THE_ROOF = 0.9;
const ABOVE_IT = 1.1;

export function isOnRoof({ of_roof }: RooflinePoint): boolean {
  return (of_roof ?? 0) >= ON_THE_ROOF;
}

/** What stands out of a point: on its roof, or above it, where the roof cannot be the limit. */
export function standing(point: RooflinePoint): string {
  if (!isOnRoof(point)) return "";
  return (point.of_roof ?? 0) > ABOVE_IT ? "above the roof" : "on the roof";
}

/** The name of a point, with what stands out of it. */
export function labelOf(point: Point): string {
  const name = point.alike ? `${point.kernel} × ${point.alike.length}` : point.kernel;
  return [name, standing(point)].filter(Boolean).join(", ");
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
