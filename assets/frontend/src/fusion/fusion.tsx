// Fusion: kernels and library calls in plain words, why pairs stayed apart.

import { useMemo } from "preact/hooks";
import { bytes, percent, plural } from "../format";
import { counted } from "../lists";
import type { Store } from "../store";
import { Bars, type Cells, columnsOf, shareOf } from "../table/columns";
import { Table } from "../table/table";
import { titleOf, usePart } from "../ui/asked";
import { Empty, Frame, Mark, plain, Prose, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { PassFilter, ofPass } from "../ui/pass";
import type { FusionPart, FusionStep, PairsPart, Rejected } from "../wire";
import { KERNELS, PAIRS } from "./parts";
import "./fusion.css";

export function FusionLists({ store }: { store: Store }) {
  const kernels = usePart<FusionPart>(store, KERNELS);
  const pairs = usePart<PairsPart>(store, PAIRS);
  if (kernels.failed && kernels.failed === pairs.failed)
    return <Waiting store={store} what="kernels" failed={kernels.failed} />;
  return (
    <>
      {kernels.part ? (
        <Kernels store={store} part={kernels.part} />
      ) : (
        <Waiting store={store} what="kernels" failed={kernels.failed} />
      )}
      {pairs.part ? (
        <NotFused store={store} part={pairs.part} />
      ) : (
        <Waiting store={store} what="pairs" failed={pairs.failed} />
      )}
    </>
  );
}

interface WaitingProps {
  store: Store;
  what: string;
  failed: string | null;
}

function Waiting({ store, what, failed }: WaitingProps) {
  const note = failed
    ? plain(titleOf(store, `No ${what}.`), failed)
    : plain("Reading", `Summarizing the fusion of ${what}.`);
  return <Empty store={store} note={note} />;
}

function Kernels({ store, part }: { store: Store; part: FusionPart }) {
  const side = store.side.value;
  const steps = useMemo(() => ofPass(store, part.steps), [part, side]);
  const columns = useMemo(
    () => columnsOf(store, "groups", part.columns, steps, stepCells(steps)),
    [store, part, steps],
  );
  return (
    <section class="half first" role="group" aria-label="Kernels in their order">
      <p class="pane-says">
        <Prose text={part.sentence} />
      </p>
      <div class="bar">
        <h2>In program order</h2>
        <span class="faint cut" data-tip="">
          bytes are Inductor's estimate of DRAM traffic
        </span>
        <span class="grow" />
        <PassFilter store={store} />
        <Frame store={store} name="traffic" />
      </div>
      <Table
        store={store}
        label="Kernels in program order"
        columns={columns}
        rows={steps}
        none="Nothing was lowered: no kernels."
        open={({ kernel }) => store.select(kernel, { pane: "kernels" })}
      />
    </section>
  );
}

/** What the words in place of a saving mean. */
const UNSAVED: Readonly<Record<string, string>> = {
  unknown: "The kernel's traffic without fusion is unknown, or counted with other kernels.",
  "moves more": "The kernel moves more than its operators in eager (estimates).",
};

/** Sentences, and two bars: what is moved before fusion, and after it. */
function stepCells(steps: readonly FusionStep[]): Cells<FusionStep> {
  const share = shareOf(steps, ({ before, after }) => Math.max(before ?? 0, after ?? 0));
  return {
    words: {
      value: ({ words }) => bare(words),
      draw: ({ words }) => <Prose text={words} />,
    },
    saved: {
      draw: ({ saved, unsaved, why_more }) => {
        if (!unsaved) return percent(saved);
        return <span class={why_more ? "tag fallback" : "mut"}>{unsaved}</span>;
      },
      full: (step) => step.why_more ?? (UNSAVED[step.unsaved] || percent(step.saved)),
    },
    traffic: {
      full: ({ before, after }) => `grey: ${bytes(before)} before, blue: ${bytes(after)} fused`,
      draw: (step) => {
        const [before, after] = [step.before ?? 0, step.after ?? 0];
        const scale = share(step) / (Math.max(before, after) || 1);
        return <Bars parts={[{ share: before * scale }, { share: after * scale }]} />;
      },
    },
  };
}

/** A sentence without its marks of code. */
function bare(text: string): string {
  return text.replaceAll("`", "");
}

/** What stands for all reasons but that nothing is shared, which most pairs have. */
const SHARING = "sharing";
const ALL = "";

function NotFused({ store, part }: { store: Store; part: PairsPart }) {
  const side = store.side.value;
  const pairs = useMemo(() => ofPass(store, part.rows), [part, side]);
  const [reason, setReason] = usePaneState(store, "reason", SHARING);
  const counts = useMemo(() => reasonsOf(pairs), [pairs]);
  const sharing = useMemo(() => pairs.filter((pair) => pair.shared_bytes), [pairs]);
  const wanted = reason === ALL || counts.some(([name]) => name === reason) ? reason : SHARING;
  const shown = wanted === SHARING && !sharing.length ? ALL : wanted;
  const rows = useMemo(() => {
    const all = shown === SHARING ? sharing : pairs;
    const known = shown && shown !== SHARING;
    return known ? all.filter((pair) => pair.reason === shown) : all;
  }, [pairs, sharing, shown]);
  const folded = rows.filter(({ id, times }) => times !== 0 || id === store.selected.value);
  const columns = useMemo(
    () => columnsOf(store, "rejected", part.columns, rows, pairCells(store)),
    [store, part, rows],
  );
  const all = pairs.length + part.omitted;
  return (
    <section class="half" role="group" aria-label="Not fused">
      <div class="bar edge">
        <h2>Apart</h2>
        <span class="faint">
          {rows.length === all ? plural(all, "pair") : `${rows.length} of ${plural(all, "pair")}`}
        </span>
        <Select
          label="Reason"
          of={[
            [SHARING, `Pairs that share data (${sharing.length})`, !sharing.length],
            [ALL, `Every pair (${pairs.length})`],
            ...counts.map(([name, many]) => [name, `${name} (${many})`] as const),
          ]}
          value={shown}
          set={setReason}
        />
        <span class="grow" />
        <Frame store={store} name="not_fused" />
      </div>
      <Table
        store={store}
        label="Rejected fusions"
        columns={columns}
        rows={folded}
        order={{ key: "shared", direction: "desc" }}
        none="No pair was rejected: everything that could be fused was fused."
        open={(pair) => store.select(pair.id, { pane: "kernels" })}
      />
    </section>
  );
}

/** Reasons with their counts, the most frequent first. */
function reasonsOf(pairs: readonly { reason: string }[]): [string, number][] {
  return [...counted(pairs.map(({ reason }) => reason))].sort((a, b) => b[1] - a[1]);
}

type Pair = Pick<Rejected, "a" | "b" | "a_kernel" | "b_kernel">;

/** Whether two calls of one kernel compute the pair: only the operations tell them apart. */
function isOneKernel(pair: Pair): boolean {
  return pair.a_kernel !== null && pair.a_kernel === pair.b_kernel;
}

export function sidesOf(pair: Pair): [string, string] {
  const isOne = isOneKernel(pair);
  const side = (kernel: string | null, op: string) => {
    if (kernel === null) return op;
    return isOne ? `${kernel} ${op}` : kernel;
  };
  return [side(pair.a_kernel, pair.a), side(pair.b_kernel, pair.b)];
}

function pairCells(store: Store): Cells<Rejected> {
  const side = (kernel: string | null, op: string) =>
    kernel ? <Mark store={store} kernel={kernel} /> : <span class="mono">{op}</span>;
  const word = (text: string) => <span class="faint">{text}</span>;
  return {
    pair: {
      value: (pair) => sidesOf(pair).join(" with "),
      draw: (pair) => (
        <>
          {isOneKernel(pair) ? word("both in") : side(pair.a_kernel, pair.a)}{" "}
          {!isOneKernel(pair) && word("with")} {side(pair.b_kernel, pair.b)}
          {pair.times > 1 && word(` × ${pair.times}`)}
        </>
      ),
    },
  };
}
