// A graph break and a guard in the inspector.

import { relatedOf, type CardProps } from "../inspector/parts";
import { Chips, Facts, Prose, Tag } from "../ui/basics";
import { guardName } from "./names";

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
