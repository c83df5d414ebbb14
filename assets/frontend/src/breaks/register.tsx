// The pane of breaks and guards, and its things.

import { Head, relatedOf, type RowCardProps, rowThing } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Chips, Facts, Prose, Tag } from "../ui/basics";
import type { Break, Document as Report, Guard } from "../wire";
import { BreaksPane } from "./breaks";
import { guardName } from "./tree";

export const breaks: Registration<Store> = {
  id: "breaks",
  Pane: BreaksPane,
  things: {
    break: rowThing((store, id) => store.row("breaks", id), {
      Card: BreakCard,
      label: (item) => `break on line ${item.line}`,
      through: "line",
    }),
    guard: rowThing((store, id) => store.row("guards", id), { Card: GuardCard, label: guardName }),
  },
  ties(report: Report, { both, one }) {
    for (const item of report.breaks) if (item.line_id) both(item.id, item.line_id);
    for (const item of report.guards) if (item.line_id) one(item.id, item.line_id);
  },
};

function BreakCard({ store, row: item }: RowCardProps<Break>) {
  return (
    <>
      <Head kind={`Graph break · ${item.file}:${item.line}`} title={item.text.trim()} />
      <Tag tone="break">Graph break</Tag>
      <p>
        <Prose text={item.explanation || item.reason} />
      </p>
      <Facts
        of="break"
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

function GuardCard({ store, row: guard }: RowCardProps<Guard>) {
  return (
    <>
      <Head kind={`Guard · ${guard.kind}`} title={guardName(guard)} />
      <Tag tone={guard.kept ? "captured" : "plain"} icon={guard.kept ? "captured" : "cross"}>
        {guard.kept ? "Kept" : "Dropped"}
      </Tag>
      <p>
        {guard.kept
          ? "It is checked on every call."
          : `Not in the artifact: ${guard.why_dropped ?? "no reason was recorded"}.`}
      </p>
      {guard.text && <pre class="mono wrap">{guard.text}</pre>}
      <Chips store={store} title="Source" ids={relatedOf(store, "line")} />
    </>
  );
}
