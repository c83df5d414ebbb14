// The pane of breaks and guards, and its things.

import type { Registration } from "../registration";
import type { Store } from "../store";
import type { Document as Report } from "../wire";
import { BreaksPane } from "./breaks";
import { BreakCard, GuardCard } from "./cards";
import { guardName } from "./names";

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
