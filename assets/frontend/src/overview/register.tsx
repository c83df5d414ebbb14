// The Overview pane and its things: source lines and modules.

import { numberOf } from "../ids";
import { LineCard } from "../inspector/line";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import { linesOf, type Store } from "../store";
import { baseName } from "../ui/words";
import type { Document as Report } from "../wire";
import { ModuleCard, moduleName } from "./module";
import { Overview } from "./overview";
import { pressWhere } from "./where";

export const overview: Registration<Store> = {
  id: "overview",
  Pane: Overview,
  isHome: true,
  things: {
    line: { Card: LineCard, label: lineName, isFollowed: true },
    source: {},
    module: { Card: ModuleCard, label: moduleName },
  },
  ties: (report, { one }) => {
    for (const { id, kernels = [], lines = [] } of report.modules ?? [])
      for (const other of [...lines, ...kernels]) one(id, other);
  },
  press: pressWhere,
  entries: (report) => [{ title: "Source", entries: sourceLines(report) }],
};

function lineName(id: string, store: Store): string {
  const line = store.line(id);
  const several = (store.doc.value?.sources.length ?? 0) > 1 && line;
  return several ? `${baseName(line.source.file)}:${numberOf(id)}` : `line ${numberOf(id)}`;
}

function* sourceLines(report: Report): Iterable<Entry> {
  for (const { id, number, text } of report.sources.flatMap(linesOf))
    yield { id, label: String(number), text: text.trim() };
}
