// A source line: its state, what it became, what it moves.

import { bytes, microseconds, plural } from "../format";
import { numberOf } from "../ids";
import { Prose, Tag } from "../ui/basics";
import { Python } from "../ui/highlight";
import { wordOf } from "../ui/words";
import { Belongings, OpenCode, relatedOf, type CardProps } from "../inspector/parts";

export function LineCard({ store, id }: CardProps) {
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
      {state !== "plain" && state !== "outside" && <Tag tone={state}>{wordOf(state)}</Tag>}
      {state === "outside" && <p>It runs in Python, outside the compiled graphs.</p>}
      {state === "folded" && (
        <p>It was worked out while compiling; nothing of it is left to run.</p>
      )}
      {kernels.length > 0 && (
        <p>
          {nodes.length > 0
            ? `${plural(nodes.length, "node")} ${nodes.length === 1 ? "ends" : "end"} in `
            : "It ends in "}
          {plural(kernels.length, "kernel")}
          {mark?.bytes
            ? ` that ${kernels.length === 1 ? "moves" : "move"} about ${bytes(mark.bytes)} for this line (estimate)`
            : ""}
          .
        </p>
      )}
      {mark?.time_us != null && <p>{`Measured: ${microseconds(mark.time_us)}.`}</p>}
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
