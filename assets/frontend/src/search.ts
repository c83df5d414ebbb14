// The search over what the panes offer: source lines, nodes, kernels, kernel lines.

/** What can be found, by its text. */
export interface Entry {
  id: string;
  label: string;
  text: string;
}

export interface EntryGroup {
  title: string;
  entries: Iterable<Entry>;
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
  return groups
    .map(({ title, entries }) => hitsIn(title, entries, wanted))
    .filter((found) => found.total > 0);
}

function hitsIn(title: string, entries: Iterable<Entry>, wanted: string): HitGroup {
  const hits: Hit[] = [];
  let total = 0;
  for (const entry of entries) {
    const from = entry.text.toLowerCase().indexOf(wanted);
    if (from < 0) continue;
    total += 1;
    if (hits.length < SHOWN) hits.push({ ...entry, from, to: from + wanted.length });
  }
  return { title, total, hits };
}
