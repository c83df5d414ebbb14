// The selection in words, as the status bar spells it: k9:13 → 1 line → 1 node → 1 kernel.

import { configOf, graphOf, kindOf, numberOf, ownerOf, stageOf } from "./ids";
import { plural } from "./format";
import { stageName } from "./ui/words";

const STEPS: [string, string][] = [
  ["line", "line"],
  ["node", "node"],
  ["kernel", "kernel"],
  ["kernel-line", "kernel line"],
  ["wrapper-line", "place in the wrapper"],
];

/** How many of each kind belong to `id`; nodes only of the graphs that are counted. */
export function chainOf(related: Iterable<string>, graphs: ReadonlySet<string>): string[] {
  const counts = new Map<string, number>();
  const code = new Map<string, number>();
  const all = related instanceof Set ? related : new Set(related);
  for (const id of all) {
    const kind = kindOf(id);
    if (kind === "asm-line") {
      code.set(ownerOf(id), (code.get(ownerOf(id)) ?? 0) + 1);
      continue;
    }
    // A kernel is defined over many lines of its wrapper: a run of lines is one place.
    if (kind === "wrapper-line" && all.has(`W:${ownerOf(id)}:${numberOf(id) - 1}`)) continue;
    if (kind === "node" && graphs.size && !graphs.has(graphOf(id))) continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const words = STEPS.flatMap(([kind, word]) => {
    const count = counts.get(kind);
    if (!count) return [];
    return kind === "wrapper-line" && count > 1
      ? [`${count} places in the wrapper`]
      : [plural(count, word)];
  });
  return [...words, ...codeWords(code)];
}

/** Lines of IR and assembly of one configuration: others have about as many again. */
function codeWords(counts: ReadonlyMap<string, number>): string[] {
  const first = [...counts.keys()].map((owner) => owner.slice(0, owner.lastIndexOf(":"))).sort()[0];
  return [...counts].flatMap(([owner, count]) => {
    const line = `A:${owner}:1`;
    return configOf(line) === first ? [`${count} ${stageName(stageOf(line))}`] : [];
  });
}
