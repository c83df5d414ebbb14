// The columns of a kernel beside each other, with borders that can be moved.

import { Fragment } from "preact";
import { useRef } from "preact/hooks";
import { kindOf } from "../ids";
import { toggled } from "../lists";
import type { Store } from "../store";
import { Border } from "../ui/dragging";
import { share, useShared } from "../ui/kept";
import type { Kernel } from "../wire";
import { CodeColumn } from "./code/column";
import { type Filter, filtersFrom, filtersOf, HIDES } from "./code/filters";
import type { Content } from "./contents";
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
    const most = shares[right] - LEAST * total;
    const delta = Math.max(LEAST * total - shares[left], Math.min(most, by * total));
    state.shares.value = {
      ...shares,
      [left]: shares[left] + delta,
      [right]: shares[right] - delta,
    };
  };
  return (
    <div class="code-columns">
      {shown.map((id, at) => {
        const before = shown[at - 1];
        const { title, note, rows, missing, stage } = contents[id];
        return (
          <Fragment key={id}>
            {before && (
              <Border
                label={`Border between ${contents[before].title} and ${title}`}
                value={(100 * shares[before]) / (shares[before] + shares[id])}
                least={0}
                most={100}
                move={(by, room) => move(before, id, by / room)}
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

interface FilterProps {
  state: KernelState;
  stage: string;
  title: string;
}

export function Filters({ state, stage, title }: FilterProps) {
  const root = useRef<HTMLDetailsElement>(null);
  useShared("filters", state.filters, filtersFrom);
  const on = state.filters.value;
  const close = () => root.current?.removeAttribute("open");
  const turn = (filter: Filter) => share("filters", [...toggled(on, filter)].join());
  const leave = (event: FocusEvent) => {
    if (!root.current?.contains(event.relatedTarget as Node | null)) close();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !root.current?.open) return;
    event.stopPropagation();
    close();
    root.current.querySelector("summary")?.focus();
  };
  return (
    <details class="code-filters" ref={root} onFocusOut={leave} onKeyDown={press}>
      <summary class="btn quiet" aria-label={`Filter ${title}`}>
        Filter
      </summary>
      <fieldset>
        <legend>Hide in all columns</legend>
        {filtersOf(stage).map((filter) => (
          <label key={filter} data-tip={HIDES[filter][1]}>
            <input type="checkbox" checked={on.has(filter)} onChange={() => turn(filter)} />
            {HIDES[filter][0]}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
