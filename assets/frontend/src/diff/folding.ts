// Which lines of two sources are drawn, and what of a line differs; nothing is drawn here.

import type { DiffLine } from "../wire";

/** Equal lines that stay beside each difference. */
const CONTEXT = 3;
/** A stretch that is shorter is not worth a fold. */
const SHORTEST = 4;

export interface Fold {
  start: number;
  count: number;
}

export type Shown = { at: number; line: DiffLine } | Fold;

export function isFold(shown: Shown): shown is Fold {
  return "count" in shown;
}

/** The lines with the long equal stretches folded, apart from those that were opened. */
export function folded(lines: readonly DiffLine[], open: ReadonlySet<number> | null): Shown[] {
  const all = lines.map((line, at) => ({ at, line }));
  if (open === null) return all;
  const near = new Set<number>();
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let n = at - CONTEXT; n <= at + CONTEXT; n++) near.add(n);
  });
  const found: Shown[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && !near.has(end)) end++;
    if (end - at >= SHORTEST && !open.has(at)) {
      found.push({ start: at, count: end - at });
      at = end;
    } else {
      const stop = Math.max(end, at + 1);
      while (at < stop) found.push(all[at++]!);
    }
  }
  return found;
}

/** Where each run of differing lines begins. */
export function differences(lines: readonly DiffLine[]): number[] {
  return lines.flatMap((line, at) =>
    line.kind !== "same" && lines[at - 1]?.kind !== line.kind ? [at] : [],
  );
}

export interface Pieces {
  head: string;
  middle: string;
  tail: string;
}

/** What of two lines differs, between what both begin and what both end with. */
export function marked(before: string, after: string): [Pieces, Pieces] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return [split(before, head, tail), split(after, head, tail)];
}

function split(text: string, head: number, tail: number): Pieces {
  const end = text.length - tail;
  return { head: text.slice(0, head), middle: text.slice(head, end), tail: text.slice(end) };
}
