// The columns of a kernel beside each other, with borders that can be moved.

import { Fragment } from "preact";
import { kindOf } from "../ids";
import type { Store } from "../store";
import type { Kernel } from "../wire";
import { CodeColumn } from "./column";
import type { Content } from "./content";
import { Divider } from "./divider";
import { Filters } from "./filtering";
import type { ColumnId, KernelState } from "./state";

interface Props {
  store: Store;
  state: KernelState;
  kernel: Kernel;
  shown: readonly ColumnId[];
  contents: Record<ColumnId, Content>;
}

const NOWHERE: readonly string[] = [];
const LEAST = 0.15; // of the width

export function Columns({ store, state, kernel, shown, contents }: Props) {
  const shares = state.shares.value;
  const own = lineOfSelection(store);
  const home = own ? [own, ...kernel.lines] : kernel.lines;
  const move = (left: ColumnId, right: ColumnId, by: number) => {
    const total = shown.reduce((sum, id) => sum + shares[id], 0);
    const now = state.shares.peek();
    const most = now[right] - LEAST * total;
    const delta = Math.max(LEAST * total - now[left], Math.min(most, by * total));
    state.shares.value = { ...now, [left]: now[left] + delta, [right]: now[right] - delta };
  };
  return (
    <div class="code-columns">
      {shown.map((id, at) => {
        const before = shown[at - 1];
        const { title, note, rows, missing, stage } = contents[id];
        return (
          <Fragment key={id}>
            {before && (
              <Divider
                label={`Border between ${contents[before].title} and ${title}`}
                value={(100 * shares[before]) / (shares[before] + shares[id])}
                move={(by) => move(before, id, by)}
              />
            )}
            <CodeColumn
              store={store}
              title={title}
              note={note}
              rows={rows}
              missing={missing}
              share={shares[id]}
              filters={stage && <Filters state={state} stage={stage} title={title} />}
              home={id === "python" ? home : NOWHERE}
              prefersLast={id === "wrapper"}
            />
          </Fragment>
        );
      })}
    </div>
  );
}

/** The line that a selection was written on, rather than a call that led to it. */
function lineOfSelection(store: Store): string | null {
  const selected = store.selected.value;
  const links = store.links.value;
  void store.learned.value;
  if (selected === null || !links) return null;
  const kind = kindOf(selected);
  if (kind === "node") return links.lineOf(selected);
  if (kind !== "kernel-line" && kind !== "asm-line") return null;
  for (const id of store.related.value) {
    const line = kindOf(id) === "node" ? links.lineOf(id) : null;
    if (line) return line;
  }
  return null;
}
