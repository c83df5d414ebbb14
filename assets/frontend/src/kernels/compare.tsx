// A stage of a kernel in two configurations, or for two GPUs, side by side.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../ui/basics";
import type { Store } from "../store";
import { usePaneState } from "../ui/kept";
import type { ComparePart, Config, StagePart } from "../wire";
import { aligned, type Aligned, nextDifference, turned } from "./code/aligning";
import { CodeColumn, Twin } from "./code/column";
import { type Painted, usePart } from "./contents";
import type { Rows } from "./code/rows";
import { stageRows } from "./code/stages";
import { configLabel, stageName } from "../ui/words";
import type { KernelState } from "./state";
import { plural } from "../format";

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
        state={state}
        both={both}
        isWaiting={!missing}
        jump={jump}
        isOpen={open === null}
        fold={setOpen}
      />
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

interface Compared {
  part: ComparePart | null;
  failed: string | null;
}

const NOTHING: Compared & { name: string } = { name: "", part: null, failed: null };

/** Which lines differ; kept by the host, not by the store, as it ties nothing together. */
function useComparison(store: Store, name: string, isTurned: boolean): Compared {
  const [asked, setAsked] = useState(NOTHING);
  useEffect(() => {
    let isCurrent = true;
    store.host.part<ComparePart>(name).then(
      (part) => isCurrent && setAsked({ name, part, failed: null }),
      (error: Error) => isCurrent && setAsked({ name, part: null, failed: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, name]);
  const part = useMemo(
    () => (asked.part && isTurned ? turned(asked.part) : asked.part),
    [asked.part, isTurned],
  );
  return asked.name === name ? { part, failed: asked.failed } : NOTHING;
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

interface BarProps {
  state: KernelState;
  both: Aligned | null;
  isWaiting: boolean;
  jump(by: 1 | -1): void;
  isOpen: boolean;
  fold(open: ReadonlySet<number> | null): void;
}

export function CompareBar({ state, both, isWaiting, jump, isOpen, fold }: BarProps) {
  const { changed, added, removed } = both?.counts ?? { changed: 0, added: 0, removed: 0 };
  const words = both
    ? `${plural(both.differences.length, "difference")}: ${plural(changed, "line")} changed, ${added} added, ${removed} removed`
    : isWaiting
      ? "Comparing…"
      : "Not compared";
  return (
    <div class="bar compare-bar">
      <span role="status">{words}</span>
      <span class="grow" />
      <label>
        <input
          type="checkbox"
          checked={state.isLoose.value}
          onChange={(event) => (state.isLoose.value = event.currentTarget.checked)}
        />
        Ignore numbers of registers
      </label>
      <label>
        <input
          type="checkbox"
          checked={!isOpen}
          onChange={(event) => fold(event.currentTarget.checked ? new Set() : null)}
        />
        Fold what is alike
      </label>
      <span class="seg">
        <Jump name="left" title="Difference before (p)" by={-1} both={both} jump={jump} />
        <Jump name="right" title="Next difference (n)" by={1} both={both} jump={jump} />
      </span>
    </div>
  );
}

interface JumpProps {
  name: "left" | "right";
  title: string;
  by: 1 | -1;
  both: Aligned | null;
  jump(by: 1 | -1): void;
}

function Jump({ name, title, by, both, jump }: JumpProps) {
  return (
    <Button
      look="icon"
      icon={name}
      label={title}
      disabled={!both?.differences.length}
      press={() => jump(by)}
    />
  );
}
