// A tree of costs as a list: which rows there are, which of them are seen, which open at first.

import type { State } from "../ui/words";
import type { Line, Note, TreeRow } from "../wire";

/** A row in its place: what it is in, and whether there is anything in it. */
export interface Placed {
  key: string;
  row: TreeRow;
  parent: number;
  isParent: boolean;
}

/** What is drawn: a row, a line of one that was unfolded, or what is said about a line. */
export type Shown =
  | { kind: "row"; key: string; at: number; placed: Placed }
  | { kind: "quiet"; key: string; at: number; id: string; depth: number }
  | { kind: "note"; key: string; at: number; note: Note; depth: number };

/** The rows with their parents; each has a key of its own, as a line may stand in many places. */
export function placed(rows: readonly TreeRow[]): Placed[] {
  const above: number[] = [];
  const names = new Map<string, number>();
  const made: Placed[] = [];
  rows.forEach((row, at) => {
    above.length = row.depth;
    const parent = above.at(-1) ?? -1;
    const name = `${made[parent]?.key ?? ""}/${row.kind === "fold" ? "…" : ""}${row.id || row.kind}`;
    const count = names.get(name) ?? 0;
    names.set(name, count + 1);
    const isParent = row.kind === "fold" || (rows[at + 1]?.depth ?? 0) > row.depth;
    made.push({ key: count ? `${name}#${count}` : name, row, parent, isParent });
    above[row.depth] = at;
  });
  return made;
}

/** Largest first, for rows that have no order of their own: their parts go with them. */
export function byCost(rows: readonly TreeRow[], kind: string): TreeRow[] {
  const depth = rows[0]?.depth ?? 0;
  const groups: TreeRow[][] = [];
  for (const row of rows)
    if (row.depth === depth) groups.push([row]);
    else groups.at(-1)?.push(row);
  const cost = (group: TreeRow[]) => group[0]?.total[kind] ?? 0;
  groups.sort((a, b) => cost(b) - cost(a));
  return groups.flatMap(([first, ...parts]) => [
    first!,
    ...(parts.length ? byCost(parts, kind) : []),
  ]);
}

/** The keys of what is open at first: the roots, the way down to what costs most, what is wrong. */
export function openAtFirst(
  rows: readonly Placed[],
  kind: string | undefined,
  markOf: (id: string) => Line | undefined,
): Set<string> {
  const open = new Set<string>();
  const inside = (at: number) => rows.map((_, n) => n).filter((n) => rows[n]!.parent === at);
  const cost = (at: number) => (kind && rows[at]!.row.total[kind]) || 0;
  const most = (among: number[]) => among.reduce((a, b) => (cost(b) > cost(a) ? b : a), among[0]!);
  for (const { key, row } of rows) if (row.depth === 0 && row.kind !== "library") open.add(key);
  const roots = inside(-1);
  let at = roots.length ? most(roots) : undefined;
  for (let step = 0; step < DOWN && at !== undefined; step += 1) {
    if (!rows[at]!.isParent || !cost(at) || rows[at]!.row.kind === "library") break;
    open.add(rows[at]!.key);
    at = most(inside(at));
  }
  const told = new Set<string>();
  rows.forEach(({ row }, n) => {
    const isWrong =
      row.kind === "line" && markOf(row.id)?.notes.some(({ tone }) => tone !== "plain");
    if (!isWrong || told.has(row.id) || isInLibrary(rows, n)) return;
    told.add(row.id);
    for (const key of waysTo(rows, n)) open.add(key);
  });
  return open;
}

/** Whether a row is a library's own: its calls stay folded, with a mark for what is wrong inside. */
function isInLibrary(rows: readonly Placed[], at: number): boolean {
  for (let up = rows[at]!.parent; up >= 0; up = rows[up]!.parent)
    if (rows[up]!.row.kind === "library") return true;
  return false;
}

/** By place of a row the first thing that is wrong with a line in it. */
export function wrongInside(
  rows: readonly Placed[],
  wrongOf: (id: string) => State | null,
): ReadonlyMap<number, State> {
  const inside = new Map<number, State>();
  for (const { row, parent } of rows) {
    const wrong = row.kind === "line" ? wrongOf(row.id) : null;
    for (let up = parent; wrong && up >= 0; up = rows[up]!.parent)
      if (!inside.has(up)) inside.set(up, wrong);
  }
  return inside;
}

/** A function, its costliest line, and the function that this calls. */
const DOWN = 3;

/** The keys of all that a row is in. */
export function waysTo(rows: readonly Placed[], at: number): string[] {
  const keys: string[] = [];
  for (let up = rows[at]?.parent ?? -1; up >= 0; up = rows[up]!.parent) keys.push(rows[up]!.key);
  return keys;
}

/** What is seen with these rows open; what is said about a line stands under its first place. */
export function shownRows(
  rows: readonly Placed[],
  open: ReadonlySet<string>,
  markOf: (id: string) => Line | undefined,
  hasText: (id: string) => boolean,
): Shown[] {
  const shown: Shown[] = [];
  const told = new Set<string>();
  const same = fallbackLines(rows, markOf);
  const said = new Set<string>();
  let closed = Infinity;
  rows.forEach((placed, at) => {
    const { row, key } = placed;
    if (row.depth > closed) return;
    closed = placed.isParent && !open.has(key) ? row.depth : Infinity;
    shown.push({ kind: "row", key, at, placed });
    const depth = row.depth + 1;
    if (row.kind === "fold" && open.has(key))
      for (const id of foldedLines(row).filter(hasText))
        shown.push({ kind: "quiet", key: `${key}/${id}`, at, id, depth: row.depth });
    if (row.kind !== "line" || told.has(row.id)) return;
    told.add(row.id);
    markOf(row.id)?.notes.forEach((note, n) => {
      const lines = same.get(wordsOf(note))?.size ?? 0;
      if (lines > 1 && said.has(wordsOf(note))) return;
      said.add(wordsOf(note));
      const title = `${note.title.replace(/[.]$/, "")}, on ${lines} lines.`;
      const told = lines > 1 ? { ...note, title } : note;
      shown.push({ kind: "note", key: `${key}/note${n}`, at, note: told, depth });
    });
  });
  return shown;
}

/** By the words of a fallback the lines that have it: they are said once, with their count. */
function fallbackLines(
  rows: readonly Placed[],
  markOf: (id: string) => Line | undefined,
): ReadonlyMap<string, ReadonlySet<string>> {
  const lines = new Map<string, Set<string>>();
  for (const { row } of rows)
    for (const note of (row.kind === "line" && markOf(row.id)?.notes) || [])
      if (note.tone === "fallback")
        lines.set(wordsOf(note), (lines.get(wordsOf(note)) ?? new Set<string>()).add(row.id));
  return lines;
}

function wordsOf({ title, text }: Note): string {
  return `${title}\n${text}`;
}

/** The ids of the lines that a fold stands for. */
export function foldedLines(row: TreeRow): string[] {
  const [, source, first] = row.id.split(":");
  const count = (row.last ?? 0) - Number(first) + 1;
  return Array.from({ length: count }, (_, i) => `L:${source}:${Number(first) + i}`);
}

/** Whether a row is, or stands for, a line or a module. */
export function standsFor(row: TreeRow, id: string): boolean {
  return row.id === id || (row.kind === "fold" && foldedLines(row).includes(id));
}
