// Fusion: the groups that became kernels, why each rejected pair stayed apart, CUDA graphs.

import { useMemo } from "preact/hooks";
import { bytes, percent, plural } from "../format";
import { counted } from "../lists";
import type { Store } from "../store";
import { Bars, type Cells, RecordTable, shareOf } from "../table/columns";
import { Frame, Mark, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { PassFilter, ofPass } from "../ui/pass";
import type { Group, Rejected } from "../wire";
import { CudaGraphs } from "./cudagraphs";

export function FusionPane({ store }: { store: Store }) {
  const report = store.doc.value;
  const side = store.side.value;
  const groups = useMemo(() => ofPass(store, report?.groups ?? []), [report, side]);
  const pairs = useMemo(() => ofPass(store, report?.rejected ?? []), [report, side]);
  if (!report) return null;
  return (
    <>
      <Groups store={store} groups={groups} />
      <NotFused store={store} pairs={pairs} omitted={report.omitted["fusion"] ?? 0} />
      <CudaGraphs store={store} />
    </>
  );
}

function Groups({ store, groups }: { store: Store; groups: Group[] }) {
  const cells = useMemo(() => groupCells(groups), [groups]);
  return (
    <section class="half first" role="group" aria-label="Fused groups">
      <div class="bar">
        <h2>Groups</h2>
        <span class="faint cut">{`${plural(groups.length, "group")}; bytes are Inductor's estimate of DRAM traffic`}</span>
        <span class="grow" />
        <PassFilter store={store} />
        <Frame store={store} name="traffic" />
      </div>
      <RecordTable
        store={store}
        label="Fused groups"
        table="groups"
        cells={cells}
        rows={groups}
        none="Nothing was lowered, so there are no groups."
        open={(group) => store.select(group.kernel ?? group.id, { pane: "kernels" })}
      />
    </section>
  );
}

/** Two bars: what is moved before fusion, and after it. */
function groupCells(groups: readonly Group[]): Cells<Group> {
  const share = shareOf(groups, ({ before, after }) => Math.max(before, after));
  return {
    saved: {
      draw: ({ saved, why_more }) =>
        why_more ? <span class="tag fallback">{percent(saved)}</span> : percent(saved),
      full: ({ saved, why_more }) => why_more ?? percent(saved),
    },
    traffic: {
      full: (group) => `grey: ${bytes(group.before)} before, blue: ${bytes(group.after)} fused`,
      draw: (group) => {
        const { before, after } = group;
        const scale = share(group) / (Math.max(before, after) || 1);
        return <Bars parts={[{ share: before * scale }, { share: after * scale }]} />;
      },
    },
  };
}

function NotFused({ store, pairs, omitted }: { store: Store; pairs: Rejected[]; omitted: number }) {
  const [reason, setReason] = usePaneState(store, "reason", "");
  const counts = useMemo(() => reasonsOf(pairs), [pairs]);
  const rows = useMemo(
    () => (reason ? pairs.filter((pair) => pair.reason === reason) : pairs),
    [pairs, reason],
  );
  const cells = useMemo(() => pairCells(store), [store]);
  const count = omitted
    ? `${pairs.length} of ${plural(pairs.length + omitted, "pair")}`
    : plural(pairs.length, "pair");
  return (
    <section class="half" role="group" aria-label="Not fused">
      <div class="bar edge">
        <h2>Not fused</h2>
        <span class="faint">{count}</span>
        <Select
          label="Reason"
          of={[
            ["", `Every reason (${pairs.length})`],
            ...counts.map(([name, many]) => [name, `${name} (${many})`] as const),
          ]}
          value={reason}
          set={setReason}
        />
        <span class="grow" />
        <Frame store={store} name="not_fused" />
      </div>
      <RecordTable
        store={store}
        label="Rejected fusions"
        table="rejected"
        cells={cells}
        rows={rows}
        order={{ key: "shared", direction: "desc" }}
        none="No pair was rejected."
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
      draw: (pair) =>
        isOneKernel(pair) ? (
          <>
            {word("both in")} {side(pair.a_kernel, pair.a)}
          </>
        ) : (
          <>
            {side(pair.a_kernel, pair.a)} {word("with")} {side(pair.b_kernel, pair.b)}
          </>
        ),
    },
    ops: { value: (pair) => `${pair.a}, ${pair.b}` },
  };
}
