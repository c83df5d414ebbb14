// A rejected pair and a group in the inspector.

import { bytes, percent } from "../format";
import { Belongings, OpenCode, type CardProps } from "../inspector/parts";
import { Chips, Facts, Prose, Tag } from "../ui/basics";

export function RejectedCard({ store, id }: CardProps) {
  const pair = store.doc.value?.rejected.find((each) => each.id === id);
  if (!pair) return <h2>{id}</h2>;
  const rows: [string, string][] = [
    ["Shared", bytes(pair.shared_bytes)],
    ["Rounds tried", String(pair.rounds)],
    ["Operations", `${pair.a}, ${pair.b}`],
  ];
  const buffers = pair.shared.map((id) => (id.includes(":") ? id : `${pair.graph}:${id}`));
  return (
    <>
      <div class="kind">Rejected fusion</div>
      <h2>{`${pair.a_kernel ?? pair.a} with ${pair.b_kernel ?? pair.b}`}</h2>
      <p>
        <Prose text={pair.why} />
      </p>
      {pair.help && (
        <section>
          <h3>What would help</h3>
          <p>
            <Prose text={pair.help} />
          </p>
        </section>
      )}
      <Facts rows={rows} />
      <Chips store={store} title={`Nodes of ${pair.a}`} ids={pair.a_nodes} />
      <Chips store={store} title={`Nodes of ${pair.b}`} ids={pair.b_nodes} />
      <Chips store={store} title="Buffers in common" ids={buffers} />
      <Belongings store={store} without={["node"]} />
    </>
  );
}

export function GroupCard({ store, id }: CardProps) {
  const group = store.doc.value?.groups.find((each) => each.id === id);
  if (!group) return <h2>{id}</h2>;
  const saved = group.before > group.after ? percent(1 - group.after / group.before) : "–";
  const rows: [string, string][] = [
    ["Before", bytes(group.before)],
    ["Lowered, each alone", bytes(group.alone)],
    ["Fused", bytes(group.after)],
    ["Saved", saved],
    ["Parts", String(group.parts.length)],
  ];
  return (
    <>
      <div class="kind">Fused group</div>
      <h2>{group.name}</h2>
      <Facts rows={rows} />
      {group.why_more && (
        <p>
          <Tag tone="fallback">worse by fusion</Tag> {group.why_more}
        </p>
      )}
      <p class="mut">Bytes are Inductor's estimate of the traffic to DRAM.</p>
      {group.kernel && <OpenCode store={store} id={group.kernel} />}
      <Belongings store={store} />
    </>
  );
}
