// Fusion: the groups that became kernels, why each rejected pair stayed apart, CUDA graphs.

import { useMemo } from "preact/hooks";
import { bytes, percent, plural } from "../format";
import type { Store } from "../store";
import { Table, type Column } from "../table/table";
import { Frame, Mark } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { Group, Rejected } from "../wire";
import { CudaGraphs } from "./cudagraphs";

export function FusionPane({ store }: { store: Store }) {
  const report = store.doc.value;
  if (!report) return null;
  return (
    <>
      <Groups store={store} groups={report.groups} />
      <NotFused store={store} pairs={report.rejected} omitted={report.omitted["fusion"] ?? 0} />
      <CudaGraphs store={store} />
    </>
  );
}

function Groups({ store, groups }: { store: Store; groups: Group[] }) {
  const columns = useMemo(() => groupColumns(store, groups), [store, groups]);
  return (
    <section class="half first" aria-label="Fused groups">
      <div class="bar">
        <h2>Groups</h2>
        <span class="faint cut">{`${plural(groups.length, "group")}; bytes are Inductor's estimate of DRAM traffic`}</span>
        <span class="grow" />
        <Frame store={store} name="traffic" />
      </div>
      <Table
        store={store}
        label="Fused groups"
        columns={columns}
        rows={groups}
        id={(group) => group.id}
        none="Nothing was lowered, so there are no groups."
        open={(group) => store.select(group.kernel ?? group.id, { pane: "kernels" })}
      />
    </section>
  );
}

function groupColumns(store: Store, groups: Group[]): Column<Group>[] {
  const most = Math.max(1, ...groups.map((group) => group.before));
  const opsOf = (group: Group) => (group.kernel && store.kernel(group.kernel)?.label) || group.name;
  const kindOf = (group: Group) => (group.kernel ? (store.kernel(group.kernel)?.kind ?? "") : "");
  return [
    {
      key: "kernel",
      title: "Kernel",
      width: "72px",
      value: (group) => group.kernel ?? "–",
      draw: (group) => (group.kernel ? <Mark store={store} kernel={group.kernel} /> : "–"),
    },
    {
      key: "kind",
      title: "Kind",
      width: "minmax(76px, 0.6fr)",
      value: kindOf,
      look: "mut",
      wide: true,
    },
    { key: "name", title: "Ops in it", width: "minmax(90px, 1.6fr)", value: opsOf, look: "mono" },
    {
      key: "parts",
      title: "Parts",
      width: "56px",
      value: (g) => g.parts.length,
      number: true,
      wide: true,
    },
    {
      key: "before",
      title: "Unfused",
      width: "76px",
      value: (g) => g.before,
      draw: (g) => bytes(g.before),
      number: true,
    },
    {
      key: "after",
      title: "Fused",
      width: "76px",
      value: (g) => g.after,
      draw: (g) => bytes(g.after),
      number: true,
    },
    {
      key: "saved",
      title: "Saved",
      width: "60px",
      value: savedBy,
      draw: (group) => (savedBy(group) > 0.005 ? percent(savedBy(group)) : "–"),
      number: true,
    },
    {
      key: "traffic",
      title: "Traffic",
      width: "minmax(60px, 0.9fr)",
      value: (group) => group.before,
      full: (group) => `grey: ${bytes(group.before)} unfused, blue: ${bytes(group.after)} fused`,
      draw: (group) => (
        <span class="meter">
          <b style={{ width: `${(group.before / most) * 100}%` }} />
          <b style={{ width: `${(group.after / most) * 100}%` }} />
        </span>
      ),
    },
  ];
}

function savedBy(group: Group): number {
  return group.before > group.after ? 1 - group.after / group.before : 0;
}

function NotFused({ store, pairs, omitted }: { store: Store; pairs: Rejected[]; omitted: number }) {
  const [reason, setReason] = usePaneState(store, "reason", "");
  const counts = useMemo(() => reasonsOf(pairs), [pairs]);
  const rows = useMemo(
    () => (reason ? pairs.filter((pair) => pair.reason === reason) : pairs),
    [pairs, reason],
  );
  const columns = useMemo(() => pairColumns(store), [store]);
  const count = omitted
    ? `${pairs.length} of ${pairs.length + omitted} pairs`
    : plural(pairs.length, "pair");
  return (
    <section class="half" aria-label="Not fused">
      <div class="bar edge">
        <h2>Not fused</h2>
        <span class="faint">{count}</span>
        <select
          class="btn"
          aria-label="Reason"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        >
          <option value="">{`Every reason (${pairs.length})`}</option>
          {counts.map(([name, many]) => (
            <option key={name} value={name}>
              {`${name} (${many})`}
            </option>
          ))}
        </select>
        <span class="grow" />
        <Frame store={store} name="not_fused" />
      </div>
      <Table
        store={store}
        label="Rejected fusions"
        columns={columns}
        rows={rows}
        id={(pair) => pair.id}
        order={{ key: "shared", direction: "desc" }}
        none="No pair was rejected."
        open={(pair) => store.select(pair.id, { pane: "kernels" })}
      />
    </section>
  );
}

/** Reasons with their counts, the most frequent first. */
export function reasonsOf(pairs: readonly { reason: string }[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const pair of pairs) counts.set(pair.reason, (counts.get(pair.reason) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function pairColumns(store: Store): Column<Rejected>[] {
  const side = (kernel: string | null, op: string) =>
    kernel ? <Mark store={store} kernel={kernel} /> : <span class="mono">{op}</span>;
  return [
    {
      key: "pair",
      title: "Pair",
      width: "124px",
      value: (pair) => `${pair.a_kernel ?? pair.a} with ${pair.b_kernel ?? pair.b}`,
      draw: (pair) => (
        <>
          {side(pair.a_kernel, pair.a)} <span class="faint">with</span>{" "}
          {side(pair.b_kernel, pair.b)}
        </>
      ),
    },
    {
      key: "ops",
      title: "Operations",
      width: "minmax(80px, 0.8fr)",
      value: (pair) => `${pair.a}, ${pair.b}`,
      look: "mono",
      wide: true,
    },
    {
      key: "reason",
      title: "Reason",
      width: "minmax(120px, 1.5fr)",
      value: (p) => p.reason,
      full: (p) => p.why,
    },
    {
      key: "shared",
      title: "Shared",
      width: "80px",
      value: (pair) => pair.shared_bytes,
      draw: (pair) => bytes(pair.shared_bytes),
      number: true,
    },
    { key: "rounds", title: "Rounds", width: "70px", value: (pair) => pair.rounds, number: true },
  ];
}
