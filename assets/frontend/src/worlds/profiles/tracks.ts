// Events of threads and streams as columns: what of them is seen, what lies under the pointer.

import type { ProfileTrack } from "./wire";

/** A part of the trace, in nanoseconds. */
export interface Span {
  begin: number;
  end: number;
}

export interface Track {
  wire: ProfileTrack;
  begins: Float64Array;
  ends: Float64Array;
  /** The events of each level, by their begin; those of one level do not overlap. */
  levels: Int32Array[];
}

/** What is drawn as one: a single event, or neighbours that share a pixel. */
export interface Drawn {
  first: number;
  last: number;
  begin: number;
  end: number;
}

export function trackOf(wire: ProfileTrack): Track {
  const count = wire.begins.length;
  const begins = new Float64Array(count);
  const ends = new Float64Array(count);
  const levels: number[][] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    at += wire.begins[i]!;
    begins[i] = at;
    ends[i] = at + wire.lasts[i]!;
    (levels[wire.levels[i]!] ??= []).push(i);
  }
  return { wire, begins, ends, levels: [...levels].map((each) => Int32Array.from(each ?? [])) };
}

/** The place in a level of the first event that ends after a time. */
export function firstAfter({ ends }: Track, level: Int32Array, time: number): number {
  let low = 0;
  let high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[level[middle]!]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Calls `draw` for what a level shows of a span. Events that are narrower than `pixel` are drawn
 * with those that end in the same one, so that the work depends on the pixels, not on the events.
 */
export function eachDrawn(
  track: Track,
  level: Int32Array,
  span: Span,
  pixel: number,
  draw: (drawn: Drawn) => void,
): void {
  const { begins, ends } = track;
  let at = firstAfter(track, level, span.begin);
  while (at < level.length) {
    const first = level[at]!;
    const begin = begins[first]!;
    if (begin >= span.end) return;
    let end = ends[first]!;
    let next = at + 1;
    if (end - begin < pixel) {
      next = Math.max(next, firstAfter(track, level, begin + pixel));
      end = Math.max(end, Math.min(begin + pixel, ends[level[next - 1]!]!));
    }
    draw({ first, last: level[next - 1]!, begin, end });
    at = next;
  }
}

/** The event of a level at a time, or the next one within `slack`; -1 where there is none. */
export function eventAt(track: Track, level: Int32Array, time: number, slack: number): number {
  const at = firstAfter(track, level, time - slack);
  const event = level[at];
  return event !== undefined && track.begins[event]! <= time + slack ? event : -1;
}

const LEAST = 200;

/** A span that stays inside the trace and is at least 200 ns long. */
export function within({ begin, end }: Span, whole: number): Span {
  const length = Math.min(whole, Math.max(LEAST, end - begin));
  const from = Math.min(Math.max(0, begin), whole - length);
  return { begin: from, end: from + length };
}

/** Nearer by a factor below 1, further by one above, `at` stays where it is. */
export function zoomed(span: Span, factor: number, at: number, whole: number): Span {
  const length = Math.min(whole, Math.max(LEAST, (span.end - span.begin) * factor));
  const share = (at - span.begin) / (span.end - span.begin);
  const begin = at - share * length;
  return within({ begin, end: begin + length }, whole);
}

/** Moved by a part of its own length. */
export function moved(span: Span, part: number, whole: number): Span {
  const by = (span.end - span.begin) * part;
  return within({ begin: span.begin + by, end: span.end + by }, whole);
}

/** A span around an event, five times as long. */
export function around(begin: number, end: number, whole: number): Span {
  const length = Math.max(LEAST, end - begin);
  return within({ begin: begin - 2 * length, end: end + 2 * length }, whole);
}

/** Times for an axis: round, at most `most` of them. */
export function ticksOf(span: Span, most: number): number[] {
  const least = (span.end - span.begin) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= least)!;
  const ticks = [];
  for (let at = Math.ceil(span.begin / step) * step; at <= span.end; at += step) ticks.push(at);
  return ticks;
}
