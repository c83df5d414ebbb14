// The selection spelt out, which is also what a screen reader is told: k9:13 → 1 line → 1 node.

import { plural, whole } from "../format";
import { configOf, graphOf, kindOf, numberOf, ownerOf, stageOf } from "../ids";
import { counted } from "../lists";
import type { StageLines } from "../stagelinks";
import type { Store } from "../store";
import { stageName } from "../ui/words";
import { Experts } from "./questions";

export function StatusBar({ store, panel }: { store: Store; panel: string }) {
  const id = store.selected.value;
  const graphs = store.links.value?.kernelGraphs ?? new Set<string>();
  const steps = id === null ? [] : chainOf(store.related.value, graphs, store.relatedLines.value);
  return (
    <div class="status">
      <Experts store={store} panel={panel} />
      <span class="path" role="status" aria-live="polite" data-tip="">
        {id !== null && <b data-tip="">{store.labelOf(id)}</b>}
        {steps.map((step) => (
          <>
            <span class="sep" aria-hidden="true">
              →
            </span>
            <span>{step}</span>
          </>
        ))}
      </span>
      <span class="grow" />
      {id !== null && (
        <span class="keys hint" aria-hidden="true">
          <kbd>Ctrl</kbd> click a second: why not fused
        </span>
      )}
      <span class="keys" aria-hidden="true">
        <kbd>?</kbd> keys
      </span>
    </div>
  );
}

const STEPS: [string, string][] = [
  ["line", "line"],
  ["node", "node"],
  ["kernel", "kernel"],
  ["kernel-line", "kernel line"],
  ["wrapper-line", "place in the wrapper"],
];

/** How many of each kind belong to `id`; nodes only of the graphs that are counted. */
export function chainOf(
  related: Iterable<string>,
  graphs: ReadonlySet<string>,
  stages: StageLines = new Map(),
): string[] {
  const all = new Set(related);
  const isCounted = (id: string) => {
    const kind = kindOf(id);
    // A kernel is defined over many lines of its wrapper: a run of lines is one place.
    if (kind === "wrapper-line") return !all.has(`W:${ownerOf(id)}:${numberOf(id) - 1}`);
    return kind !== "node" || graphs.has(graphOf(id));
  };
  const counts = counted<string>([...all].filter(isCounted).map(kindOf));
  const words = STEPS.flatMap(([kind, word]) => {
    const count = counts.get(kind);
    if (!count) return [];
    return kind === "wrapper-line" && count > 1
      ? [`${count} places in the wrapper`]
      : [plural(count, word)];
  });
  return [...words, ...codeWords(stages)];
}

/** Lines of IR and assembly of one configuration: others have about as many again. */
function codeWords(stages: StageLines): string[] {
  const configs = [...stages.keys()].map((owner) => owner.slice(0, owner.lastIndexOf(":")));
  const first = configs.sort()[0];
  return [...stages].flatMap(([owner, runs]) => {
    const [config, stage] = [configOf(`A:${owner}:1`), stageOf(`A:${owner}:1`)];
    const count = runs.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    return config === first && count ? [`${whole(count)} ${stageName(stage)}`] : [];
  });
}
