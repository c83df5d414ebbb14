// Marked lines of a column as spans, so that a mark on 10,000 lines costs as little as on one.

import { runAt, type StageLines } from "../stagelinks";
import { linesIn, type Rows } from "./rows";

/** Line indexes from 0, first and last, ascending. */
export type Spans = readonly (readonly [number, number])[];

export const NO_SPANS: Spans = [];

/** The rows that are in a set of ids or, for a stage, in runs of its lines. */
export function spansIn(
  ids: ReadonlySet<string>,
  stages: StageLines,
  rows: Rows,
  places: ReadonlyMap<string, number>,
): Spans {
  if (rows.stage === undefined) return joined(linesIn(ids, rows, places));
  const runs = stages.get(rows.stage) ?? [];
  const own = [...ids].flatMap((id) => (id.startsWith("A:") ? (places.get(id) ?? []) : []));
  const spans = rows.lines
    ? joined(rows.lines.flatMap((line, at) => (line !== null && runAt(runs, line) ? [at] : [])))
    : runs.map(([first, last]) => [first - 1, last - 1] as const);
  return own.length ? [...spans, ...joined(own)].sort(([a], [b]) => a - b) : spans;
}

/** The spans, or none where they are all that could be marked: a mark means a part of the text. */
export function asSubset(spans: Spans, rows: Rows, selected: number | null): Spans {
  let [at, end] = [0, -1];
  for (const [row, id] of rows.ids.entries()) {
    while (end < row && at < spans.length && spans[at]![0] <= row)
      end = Math.max(end, spans[at++]![1]);
    if (row > end && row !== selected && id !== null && rows.tied?.[row] !== false) return spans;
  }
  return NO_SPANS;
}

function joined(lines: readonly number[]): Spans {
  const spans: [number, number][] = [];
  for (const line of lines) {
    const last = spans[spans.length - 1];
    if (last && last[1] === line - 1) last[1] = line;
    else spans.push([line, line]);
  }
  return spans;
}

/** Whether a span has a line from `first` to `last`. */
export function overlaps(spans: Spans, first: number, last: number): boolean {
  return spans.some(([from, to]) => from <= last && to >= first);
}

/** The lines from `first` to `last` that are in spans. */
export function* linesOf(spans: Spans, first: number, last: number): Generator<number> {
  for (const [from, to] of spans)
    for (let at = Math.max(from, first); at <= Math.min(to, last); at++) yield at;
}
