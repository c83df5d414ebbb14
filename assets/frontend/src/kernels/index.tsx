// The Kernels pane: the user's Python, the FX nodes, the kernel and the wrapper, linked line by line.

import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { kindOf } from "../ids";
import { roomOf } from "../shell/size";
import type { Store } from "../store";
import { Empty } from "../ui/basics";
import type { Kernel } from "../wire";
import { Chooser, Switch } from "./chooser";
import { CodeColumn } from "./column";
import { Divider } from "./divider";
import { Facts } from "./facts";
import "./kernels.css";
import { useContents } from "./contents";
import { COLUMNS, kernelFor, kernelState, visible, type ColumnId, type KernelState } from "./state";

const NOWHERE: readonly string[] = [];

export function KernelsPane({ store }: { store: Store }) {
  const state = kernelState(store);
  const kernels = store.doc.value?.kernels ?? [];
  const ids = useMemo(() => kernels.map((kernel) => kernel.id), [kernels]);
  const wanted = kernelFor(store.selected.value, store.related.value, state.kernel.value, ids);
  if (state.kernel.peek() !== wanted) state.kernel.value = wanted;
  const kernel = wanted === null ? undefined : store.kernel(wanted);
  if (!kernel)
    return (
      <Empty
        store={store}
        note={{
          title: "No kernel was generated.",
          text: "The record holds no kernels.",
          tone: "plain",
        }}
      />
    );
  return <Opened store={store} state={state} kernels={kernels} kernel={kernel} />;
}

interface OpenedProps {
  store: Store;
  state: KernelState;
  kernels: readonly Kernel[];
  kernel: Kernel;
}

function Opened({ store, state, kernels, kernel }: OpenedProps) {
  const root = useRef<HTMLDivElement>(null);
  const most = useMost(root);
  const columns = useContents(store, kernel);
  const shown = COLUMNS.filter((id) => visible(state.columns.value, most).includes(id));
  const shares = state.shares.value;
  const own = lineOfSelection(store);
  const home = own ? [own, ...kernel.lines] : kernel.lines;
  const move = (left: ColumnId, right: ColumnId, by: number) => {
    const total = shown.reduce((sum, id) => sum + shares[id], 0);
    const now = state.shares.peek();
    const delta = Math.max(
      0.15 * total - now[left],
      Math.min(now[right] - 0.15 * total, by * total),
    );
    state.shares.value = { ...now, [left]: now[left] + delta, [right]: now[right] - delta };
  };
  return (
    <div class="kernels" ref={root}>
      <div class="bar">
        <Chooser store={store} kernels={kernels} kernel={kernel} />
        <span class="grow" />
        <Switch state={state} most={most} titles={columns} />
      </div>
      <Facts kernel={kernel} />
      <div class="code-columns">
        {shown.map((id, at) => {
          const before = shown[at - 1];
          const { title, note, rows, missing } = columns[id];
          return (
            <Fragment key={id}>
              {before && (
                <Divider
                  label={`Border between ${columns[before].title} and ${title}`}
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
                home={id === "python" ? home : NOWHERE}
                prefersLast={id === "wrapper"}
              />
            </Fragment>
          );
        })}
      </div>
    </div>
  );
}

/** The line that a selected node or kernel line was written on, rather than a call that led to it. */
function lineOfSelection(store: Store): string | null {
  const selected = store.selected.value;
  const links = store.links.value;
  void store.learned.value;
  if (selected === null || !links) return null;
  if (kindOf(selected) === "node") return links.lineOf(selected);
  if (kindOf(selected) !== "kernel-line") return null;
  for (const id of store.related.value) {
    const line = kindOf(id) === "node" ? links.lineOf(id) : null;
    if (line) return line;
  }
  return null;
}

/** Two columns in a narrow view, as many as there are elsewhere. */
function useMost(root: { current: HTMLElement | null }): number {
  const [most, setMost] = useState(COLUMNS.length);
  useEffect(() => {
    const element = root.current;
    if (!element) return;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth)
        setMost(roomOf(element.clientWidth) === "narrow" ? 2 : COLUMNS.length);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return most;
}
