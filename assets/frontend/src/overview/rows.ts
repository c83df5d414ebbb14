// The rows of the source view: heads of functions, lines, and the explanations under them.

import type { Line, Note, Source } from "../wire";
import { coloured, withoutStart, type Piece } from "../ui/highlight";

export type Row =
  | { kind: "head"; key: string; source: Source }
  | {
      kind: "line";
      key: string;
      id: string;
      number: number;
      text: string;
      mark: Line | null;
      pieces: Piece[];
    }
  | { kind: "note"; key: string; id: string; note: Note };

export type LineRow = Extract<Row, { kind: "line" }>;

/** One row for each line, with its problems right under it; several functions get heads. */
export function rowsOf(sources: Source[]): Row[] {
  const rows: Row[] = [];
  for (const source of sources) {
    if (sources.length > 1) rows.push({ kind: "head", key: source.id, source });
    const marks = new Map(source.marks.map((mark) => [mark.id, mark]));
    const pieces = coloured(source.lines);
    const cut = indentOf(source.lines);
    source.lines.forEach((text, i) => {
      const number = source.first + i;
      const id = `L:${source.id}:${number}`;
      const mark = marks.get(id) ?? null;
      rows.push({
        kind: "line",
        key: id,
        id,
        number,
        text: text.slice(cut),
        mark,
        pieces: withoutStart(pieces[i] ?? [], cut),
      });
      mark?.notes.forEach((note, n) => rows.push({ kind: "note", key: `${id}/${n}`, id, note }));
    });
  }
  return rows;
}

/** The spaces that every line begins with. */
function indentOf(lines: string[]): number {
  const depths = lines.filter((line) => line.trim()).map((line) => line.search(/\S/));
  return depths.length ? Math.min(...depths) : 0;
}
