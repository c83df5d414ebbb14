// The selection in words, as the status bar spells it: k9:13 → 1 line → 1 node → 1 kernel.

import { graphOf, kindOf } from "./ids";
import { plural } from "./format";

const STEPS: [string, string][] = [
  ["line", "line"],
  ["node", "node"],
  ["kernel", "kernel"],
  ["kernel-line", "kernel line"],
  ["wrapper-line", "wrapper line"],
];

/** How many of each kind belong to `id`; nodes only of the graphs that are counted. */
export function chainOf(related: Iterable<string>, graphs: ReadonlySet<string>): string[] {
  const counts = new Map<string, number>();
  for (const id of related) {
    const kind = kindOf(id);
    if (kind === "node" && graphs.size && !graphs.has(graphOf(id))) continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return STEPS.flatMap(([kind, word]) => {
    const count = counts.get(kind);
    return count ? [plural(count, word)] : [];
  });
}
