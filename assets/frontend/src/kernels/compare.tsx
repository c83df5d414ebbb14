// A stage of a kernel in two configurations, or for two GPUs, side by side.

import { useMemo } from "preact/hooks";
import { plural } from "../format";
import type { Store } from "../store";
import { type Asked, useAnswer, usePart } from "../ui/asked";
import { Check, CompareBar } from "../ui/comparing";
import { usePaneState } from "../ui/kept";
import { configLabel, stageName } from "../ui/words";
import type { ComparePart, Config, StagePart } from "../wire";
import { aligned, type Aligned, nextDifference, turned } from "./code/aligning";
import { CodeColumn, Twin } from "./code/column";
import type { Rows } from "./code/rows";
import { stageRows } from "./code/stages";
import { type Painted } from "./contents";
import type { KernelState } from "./state";

interface Props {
  store: Store;
  state: KernelState;
  before: Config;
  after: Config;
  /** Whether the left one comes after the right one among the configurations. */
  isTurned: boolean;
  stage: string;
  painted: Painted;
}

const NOWHERE: readonly string[] = [];

export function Compare({ store, state, before, after, isTurned, stage, painted }: Props) {
  const texts = [useRows(store, before, stage, painted), useRows(store, after, stage, painted)];
  const [left, right] = texts.map(({ rows }) => rows);
  // Asked for in the order of the configurations: a page keeps only that.
  const name = `${stage}${state.isLoose.value ? ":loose" : ""}`;
  const pair = isTurned ? [after.id, before.id] : [before.id, after.id];
  const asked = useComparison(store, `compare:${pair.join(":")}:${name}`, isTurned);
  const [open, setOpen] = usePaneState<ReadonlySet<number> | null>(
    store,
    `open ${pair.join()} ${name}`,
    new Set(),
  );
  const { part } = asked;
  const both = useMemo(
    () => (part && left && right ? aligned(part, left, right, open) : null),
    [part, left, right, open],
  );
  const twin = useMemo(() => new Twin(), [part]);
  const jump = (by: 1 | -1) => both && goTo(store, both, by);
  const unfold = (line: number) => {
    const block = both?.folds.get(line);
    if (block !== undefined && open) setOpen(new Set(open).add(block));
  };
  const missing = asked.failed ?? texts[0]!.failed ?? texts[1]!.failed;
  return (
    <>
      <CompareBar
        words={both ? changesOf(both) : missing ? "Not compared" : "Comparing…"}
        count={both?.differences.length ?? 0}
        isFolded={open !== null}
        fold={(isFolded) => setOpen(isFolded ? new Set() : null)}
        jump={jump}
      >
        <Check
          words="Ignore numbers of registers"
          is={state.isLoose.value}
          set={(is) => (state.isLoose.value = is)}
        />
      </CompareBar>
      <div class="code-columns compared">
        {[before, after].map((config, at) => (
          <CodeColumn
            key={at}
            store={store}
            title={`${stageName(stage)}, ${at ? "right" : "left"}`}
            note={inShort(config, store.doc.value?.target)}
            rows={at ? (both?.right ?? null) : (both?.left ?? null)}
            missing={missing}
            share={1}
            home={NOWHERE}
            twin={twin}
            onJump={jump}
            onLine={unfold}
          />
        ))}
      </div>
    </>
  );
}

function changesOf({ differences, counts: { changed, added, removed } }: Aligned): string {
  const lines = `${plural(changed, "line")} changed, ${added} added, ${removed} removed`;
  return `${plural(differences.length, "difference")}: ${lines}`;
}

/** A configuration with what it takes. */
function inShort(config: Config, target: string | undefined): string {
  const facts = config.facts.map(([name, value]) => `${name.toLowerCase()} ${value}`);
  return [configLabel(config, target), ...facts].join(" · ");
}

function useRows(store: Store, config: Config, stage: string, { code, colours }: Painted) {
  const { part, failed } = usePart<StagePart>(store, `asm:${config.id}:${stage}`);
  const rows: Rows | null = useMemo(
    () => part && stageRows(part, code, colours),
    [part, code, colours],
  );
  return { rows, failed };
}

/** Which lines differ. */
function useComparison(store: Store, name: string, isTurned: boolean): Asked<ComparePart> {
  const { part, failed } = useAnswer<ComparePart>(store, name);
  return {
    part: useMemo(() => part && (isTurned ? turned(part) : part), [part, isTurned]),
    failed,
  };
}

/** Selects the first line of the next difference, seen from the selected line. */
function goTo(store: Store, both: Aligned, by: 1 | -1): void {
  const id = store.selected.peek();
  const sides = [both.left, both.right];
  const at = id === null ? -1 : Math.max(...sides.map(({ ids }) => ids.indexOf(id)));
  const row = nextDifference(both.differences, at, by);
  const to = row === null ? null : (both.right.ids[row] ?? both.left.ids[row]);
  if (to) store.select(to);
}
