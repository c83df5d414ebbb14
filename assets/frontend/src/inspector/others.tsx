// Rejected pairs, groups, breaks, guards, phases and autotune choices.

import { bytes, percent, seconds } from "../format";
import { Chips, Facts, Prose, Tag } from "../ui/basics";
import { guardName } from "../ui/words";
import { Belongings, OpenCode, relatedOf, type CardProps } from "./parts";

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
    ["Parts alone", bytes(group.before)],
    ["Together", bytes(group.after)],
    ["Saved", saved],
    ["Parts", String(group.parts.length)],
  ];
  return (
    <>
      <div class="kind">Fused group</div>
      <h2>{group.name}</h2>
      <Facts rows={rows} />
      <p class="mut">Bytes are Inductor's estimate of the traffic to DRAM.</p>
      {group.kernel && <OpenCode store={store} id={group.kernel} />}
      <Belongings store={store} />
    </>
  );
}

export function BreakCard({ store, id }: CardProps) {
  const item = store.doc.value?.breaks.find((each) => each.id === id);
  if (!item) return <h2>{id}</h2>;
  return (
    <>
      <div class="kind">{`Graph break · ${item.file}:${item.line}`}</div>
      <h2>{item.text.trim()}</h2>
      <Tag tone="break">Graph break</Tag>
      <p>
        <Prose text={item.explanation || item.reason} />
      </p>
      <Facts
        rows={[
          ["Kind", item.kind],
          ["Id", item.gb_id ?? "–"],
          ["Function", item.function],
          ["Met", `${item.count} ×`],
        ]}
      />
      <Chips store={store} title="Source" ids={relatedOf(store, "line")} />
    </>
  );
}

export function GuardCard({ store, id }: CardProps) {
  const guard = store.doc.value?.guards.find((each) => each.id === id);
  if (!guard) return <h2>{id}</h2>;
  return (
    <>
      <div class="kind">{`Guard · ${guard.kind}`}</div>
      <h2>{guardName(guard, id)}</h2>
      <Tag tone={guard.kept ? "captured" : "plain"} icon={guard.kept ? "captured" : "cross"}>
        {guard.kept ? "Kept" : "Dropped"}
      </Tag>
      <p>
        {guard.kept
          ? "It is checked on every call."
          : `It is not in the artifact: ${guard.why_dropped ?? "no reason was recorded"}.`}
      </p>
      {guard.text && <pre class="mono wrap">{guard.text}</pre>}
      <Chips store={store} title="Source" ids={relatedOf(store, "line")} />
    </>
  );
}

export function PhaseCard({ store, id }: CardProps) {
  const phases = store.doc.value?.phases ?? [];
  const phase = phases.find((each) => each.id === id);
  if (!phase) return <h2>{id}</h2>;
  const start = Math.min(...phases.map((each) => each.start_s));
  const whole = Math.max(...phases.map((each) => each.start_s + each.duration_s)) - start;
  return (
    <>
      <div class="kind">Compile phase</div>
      <h2>{phase.name}</h2>
      <Facts
        rows={[
          ["Start", seconds(phase.start_s - start)],
          ["Total", seconds(phase.duration_s)],
          ["Self", seconds(phase.self_s)],
          ["Share", percent(whole ? phase.duration_s / whole : 0)],
          ["Thread", phase.thread],
        ]}
      />
      <p class="mut">Self is the time that none of its own phases accounts for.</p>
    </>
  );
}

export function ChoiceCard({ store, id }: CardProps) {
  const choice = store.doc.value?.choices.find((each) => each.id === id);
  if (!choice) return <h2>{id}</h2>;
  return (
    <>
      <div class="kind">{`Choice for ${choice.op}`}</div>
      <h2>{choice.choice}</h2>
      {choice.chosen && <Tag tone="captured">Chosen</Tag>}
      <Facts
        rows={[
          ["Kind", choice.kind],
          ["Time", choice.time_ms === null ? "not timed" : seconds(choice.time_ms / 1e3)],
        ]}
      />
      {choice.note && (
        <p>
          <Prose text={choice.note} />
        </p>
      )}
    </>
  );
}
