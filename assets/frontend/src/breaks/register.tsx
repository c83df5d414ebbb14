// The pane of breaks and guards, and its things.

import type { Registration } from "../registration";
import type { Store } from "../store";
import type { Document as Report } from "../wire";
import { BreaksPane } from "./breaks";
import { guardName } from "./tree";
import { type CardProps, relatedOf } from "../inspector/parts";
import { Chips, Facts, Prose, Tag } from "../ui/basics";

export const breaks: Registration<Store> = {
  id: "breaks",
  Pane: BreaksPane,
  things: {
    break: { Card: BreakCard, label: breakName, through: "line" },
    guard: {
      Card: GuardCard,
      label: (id, store) =>
        guardName(
          store.doc.value?.guards.find((each) => each.id === id),
          id,
        ),
    },
  },
  ties(report: Report, { both, one }) {
    for (const item of report.breaks) if (item.line_id) both(item.id, item.line_id);
    for (const item of report.guards) if (item.line_id) one(item.id, item.line_id);
  },
};

function breakName(id: string, store: Store): string {
  const item = store.doc.value?.breaks.find((each) => each.id === id);
  return item ? `break on line ${item.line}` : id;
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
