// What is the same in all rows of a sweep, and what a row is called beside the others.

import { grouped } from "../../lists";
import type { SweepDocument, SweepRow } from "./wire";

export interface Constant {
  /** Indexes of axes and of figures that say nothing. */
  axes: ReadonlySet<number>;
  figures: ReadonlySet<number>;
  /** What they are, in words: "dtype=float32". */
  words: readonly string[];
}

/** Axes with one value, and figures that are the same in all rows that ended well. */
export function constantOf(doc: SweepDocument): Constant {
  const ended = doc.rows.filter((row) => row.status === "done");
  if (ended.length < 2) return { axes: new Set(), figures: new Set(), words: [] };
  const first = ended[0]!;
  const axes = doc.axes.flatMap(({ values }, at) => (values.length === 1 ? [at] : []));
  const figures = doc.figures.flatMap(({ id }, at) =>
    id !== doc.by && ended.every((row) => row.words[at] === first.words[at]) ? [at] : [],
  );
  const known = figures.filter((at) => first.figures[at] != null);
  return {
    axes: new Set(axes),
    figures: new Set(figures),
    words: [
      ...axes.map((at) => `${doc.axes[at]!.name}=${doc.axes[at]!.values[0]}`),
      ...known.map((at) => `${doc.figures[at]!.title} ${first.words[at]}`),
    ],
  };
}

/** The rows of each size of the inputs, in the order of the sizes. */
export function bySize(
  doc: SweepDocument,
  rows: readonly SweepRow[],
): { size: string; rows: SweepRow[] }[] {
  const sizes = doc.axes.flatMap(({ is_size }, at) => (is_size ? [at] : []));
  const rank = (row: SweepRow, at: number) => doc.axes[at]!.values.indexOf(row.settings[at] ?? "");
  const sorted = [...rows].sort(
    (a, b) => sizes.map((at) => rank(a, at) - rank(b, at)).find((by) => by !== 0) ?? 0,
  );
  const sizeOf = (row: SweepRow) => named(doc, row, (at) => sizes.includes(at));
  return [...grouped(sorted, sizeOf)].map(([size, own]) => ({ size, rows: own }));
}

/** The settings of a row that differ, without the sizes. */
export function shortName(doc: SweepDocument, row: SweepRow, constant: Constant): string {
  return named(doc, row, (at) => !doc.axes[at]!.is_size && !constant.axes.has(at)) || "as it is";
}

/** The same by its values alone, in the order of the axes. */
export function valuesOf(doc: SweepDocument, row: SweepRow, constant: Constant): string {
  return varied(doc, constant)
    .map((at) => row.settings[at] ?? "–")
    .join(" · ");
}

/** Those axes, for a head over the values. */
export function axesOf(doc: SweepDocument, constant: Constant): string {
  return varied(doc, constant)
    .map((at) => doc.axes[at]!.name)
    .join(" · ");
}

function varied({ axes }: SweepDocument, constant: Constant): number[] {
  return axes.flatMap(({ is_size }, at) => (is_size || constant.axes.has(at) ? [] : [at]));
}

function named(doc: SweepDocument, row: SweepRow, isWanted: (at: number) => boolean): string {
  const words = doc.axes.flatMap(({ name }, at) => {
    const value = row.settings[at];
    return isWanted(at) && value != null ? [`${name}=${value}`] : [];
  });
  return words.join(", ");
}
