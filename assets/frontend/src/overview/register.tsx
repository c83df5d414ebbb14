// The Overview pane and its things: source lines.

import { costText, shownCost, valueOf } from "../cost/cost";
import { plural } from "../format";
import { numberOf } from "../ids";
import { Belongings, type CardProps, OpenCode, relatedOf } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import { linesOf, type Store } from "../store";
import { Prose, Tag } from "../ui/basics";
import { Python } from "../ui/highlight";
import { baseName, wordOf } from "../ui/words";
import type { Line, Document as Report } from "../wire";
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
  for (const { id, number, text } of report.sources.flatMap(linesOf))
    yield { id, label: String(number), text: text.trim() };
}

function LineCard({ store, id }: CardProps) {
  const line = store.line(id);
  const mark = line?.mark;
  const nodes = relatedOf(store, "node");
  const kernels = relatedOf(store, "kernel");
  const callers = mark?.called_in ?? [];
  const state = mark?.state ?? "plain";
  return (
    <>
      <div class="kind" data-tip="">
        {line ? `Line ${line.number} of ${line.source.file}` : `Source line ${numberOf(id)}`}
      </div>
      {line && (
        <h2>
          <Python text={line.text.trim()} />
        </h2>
      )}
      {state !== "plain" && <Tag tone={state}>{wordOf(state)}</Tag>}
      {mark?.said && <p>{mark.said}</p>}
      {kernels.length > 0 && (
        <p>
          {nodes.length > 0
            ? `${plural(nodes.length, "node")} ${nodes.length === 1 ? "ends" : "end"} in `
            : "It ends in "}
          {plural(kernels.length, "kernel")}.
        </p>
      )}
      {mark && <LineCost store={store} mark={mark} />}
      {mark?.notes.map((note) => (
        <p key={note.title}>
          <b>{note.title}</b> <Prose text={note.text} />
        </p>
      ))}
      {callers.length > 0 && (
        <p>{`Called in ${callers.map((caller) => store.labelOf(caller)).join(", ")}.`}</p>
      )}
      {kernels.length > 0 && <OpenCode store={store} id={id} />}
      <Belongings store={store} />
    </>
  );
}

/** Its share of what its kernels cost, and where that is from. */
function LineCost({ store, mark }: { store: Store; mark: Line }) {
  const cost = shownCost(store).value;
  const own = valueOf(cost, mark);
  if (!cost || !own) return null;
  return (
    <p>
      {`Its share of them: ${costText(cost, own)}`}{" "}
      <span class="mut">{`(${cost.source}; shared by the sizes of their values).`}</span>
    </p>
  );
}
