// The search over panes and what they offer: source lines, nodes, kernels, kernel lines.

/** What can be found, by its text. */
export interface Entry {
  id: string;
  label: string;
  text: string;
  /** Shows it, where that is not to select its id. */
  show?(): void;
}

export interface EntryGroup {
  title: string;
  entries: Iterable<Entry>;
  /** Whether what is typed is the start of a word: names that are few and known are not guessed. */
  isByStart?: boolean;
}

export interface Hit extends Entry {
  /** Where the match lies in `text`. */
  from: number;
  to: number;
}

export interface HitGroup {
  title: string;
  total: number;
  hits: Hit[];
}

const SHOWN = 8;

/** The groups with their hits, each with how many matched; empty ones are left out. */
export function search(groups: readonly EntryGroup[], query: string): HitGroup[] {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  return groups.map((group) => hitsIn(group, wanted)).filter((found) => found.total > 0);
}

function hitsIn({ title, entries, isByStart }: EntryGroup, wanted: string): HitGroup {
  const hits: Hit[] = [];
  let total = 0;
  for (const entry of entries) {
    const text = entry.text.toLowerCase();
    const from = isByStart ? startIn(text, wanted) : text.indexOf(wanted);
    if (from < 0) continue;
    total += 1;
    if (hits.length < SHOWN) hits.push({ ...entry, from, to: from + wanted.length });
  }
  return { title, total, hits };
}

/** Where a word begins with what is wanted; -1 where none does. */
function startIn(text: string, wanted: string): number {
  if (text.startsWith(wanted)) return 0;
  const at = text.indexOf(` ${wanted}`);
  return at < 0 ? -1 : at + 1;
}
