// The Overview pane and its things: source lines.

import { numberOf } from "../ids";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import type { Store } from "../store";
import { baseName } from "../ui/words";
import type { Document as Report } from "../wire";
import { LineCard } from "./card";
import { Overview } from "./overview";

export const overview: Registration<Store> = {
  id: "overview",
  Pane: Overview,
  isHome: true,
  things: { line: { Card: LineCard, label: lineName, isFollowed: true }, source: {} },
  entries: (report) => [{ title: "Source", entries: sourceLines(report) }],
};

function lineName(id: string, store: Store): string {
  const line = store.line(id);
  const several = (store.doc.value?.sources.length ?? 0) > 1 && line;
  return several ? `${baseName(line.source.file)}:${numberOf(id)}` : `line ${numberOf(id)}`;
}

function* sourceLines(report: Report): Iterable<Entry> {
  for (const source of report.sources)
    for (const [i, text] of source.lines.entries()) {
      const number = source.first + i;
      yield { id: `L:${source.id}:${number}`, label: String(number), text: text.trim() };
    }
}
