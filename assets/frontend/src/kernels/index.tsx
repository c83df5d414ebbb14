// The Kernels pane: the user's Python, the FX nodes, the kernel and the wrapper, linked line by line.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { graphOf, kindOf } from "../ids";
import { roomOf } from "../shell/size";
import type { Store } from "../store";
import { Empty, Mark } from "../ui/basics";
import { Icon } from "../ui/icons";
import { languageOf } from "../ui/words";
import type { CodePart, GraphPart, Kernel, WrapperPart } from "../wire";
import { CodeColumn } from "./column";
import { Divider } from "./divider";
import { Facts } from "./facts";
import "./kernels.css";
import {
  codeRows,
  coloursOf,
  inOrder,
  nodeRows,
  pythonRows,
  wrapperRows,
  type Rows,
} from "./rows";
import { COLUMNS, kernelFor, kernelState, switched, visible, type ColumnId, type KernelState } from "./state";

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
        note={{ title: "No kernel was generated.", text: "The record holds no kernels.", tone: "plain" }}
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
  const columns = useColumns(store, kernel);
  const shown = COLUMNS.filter((id) => visible(state.columns.value, most).includes(id));
  const shares = state.shares.value;
  const own = lineOfSelection(store);
  const home = own ? [own, ...kernel.lines] : kernel.lines;
  const move = (left: ColumnId, right: ColumnId, by: number) => {
    const total = shown.reduce((sum, id) => sum + shares[id], 0);
    const now = state.shares.peek();
    const delta = Math.max(0.15 * total - now[left], Math.min(now[right] - 0.15 * total, by * total));
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
            <>
              {before && (
                <Divider
                  key={`${before} ${id}`}
                  label={`Border between ${columns[before].title} and ${title}`}
                  value={(100 * shares[before]) / (shares[before] + shares[id])}
                  move={(by) => move(before, id, by)}
                />
              )}
              <CodeColumn
                key={id}
                store={store}
                title={title}
                note={note}
                rows={rows}
                missing={missing}
                share={shares[id]}
                home={id === "python" ? home : NOWHERE}
                prefersLast={id === "wrapper"}
              />
            </>
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
      if (element.clientWidth) setMost(roomOf(element.clientWidth) === "narrow" ? 2 : COLUMNS.length);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return most;
}

interface ChooserProps {
  store: Store;
  kernels: readonly Kernel[];
  kernel: Kernel;
}

function Chooser({ store, kernels, kernel }: ChooserProps) {
  const at = kernels.indexOf(kernel);
  const go = (by: number) => {
    const next = kernels[at + by];
    if (next) store.select(next.id);
  };
  return (
    <>
      <Mark store={store} kernel={kernel.id} />
      <select
        class="btn code-chooser"
        aria-label="Kernel"
        value={kernel.id}
        onChange={(event) => store.select(event.currentTarget.value)}
      >
        {kernels.map((each) => (
          <option key={each.id} value={each.id}>
            {`${each.id} ${each.kind}: ${each.label}${each.is_backward ? " (backward)" : ""}`}
          </option>
        ))}
      </select>
      <span class="seg">
        <button type="button" class="btn icon" title="Kernel before" aria-label="Kernel before" disabled={at <= 0} onClick={() => go(-1)}>
          <Icon name="left" />
        </button>
        <button type="button" class="btn icon" title="Next kernel" aria-label="Next kernel" disabled={at >= kernels.length - 1} onClick={() => go(1)}>
          <Icon name="right" />
        </button>
      </span>
    </>
  );
}

interface SwitchProps {
  state: KernelState;
  most: number;
  titles: Record<ColumnId, Content>;
}

function Switch({ state, most, titles }: SwitchProps) {
  const shown = visible(state.columns.value, most);
  return (
    <span class="seg" role="group" aria-label="Columns">
      {COLUMNS.map((id) => (
        <button
          key={id}
          type="button"
          class="btn"
          aria-pressed={shown.includes(id)}
          onClick={() => (state.columns.value = switched(state.columns.peek(), id, most))}
        >
          {titles[id].title}
        </button>
      ))}
    </span>
  );
}

interface Content {
  title: string;
  note: string;
  rows: Rows | null;
  missing: string | null;
}

function useColumns(store: Store, kernel: Kernel): Record<ColumnId, Content> {
  const sources = store.doc.value?.sources ?? [];
  const graphName = kernel.nodes[0] ? `graph:${graphOf(kernel.nodes[0])}` : null;
  const graph = usePart<GraphPart>(store, graphName);
  const code = usePart<CodePart>(store, kernel.code);
  const wrapper = usePart<WrapperPart>(store, kernel.wrapper && wrapperName(kernel.wrapper));
  const python = useMemo(() => (sources.length ? pythonRows(sources) : null), [sources]);
  const nodes = useMemo(() => (kernel.nodes.length ? nodeRows(kernel, graph.part) : null), [kernel, graph.part]);
  const codeText = useMemo(() => {
    const colours = coloursOf(inOrder(kernel.nodes, graph.part));
    return code.part && code.part.id === kernel.id ? codeRows(code.part, colours) : null;
  }, [code.part, graph.part, kernel]);
  const wrapperText = useMemo(() => wrapper.part && wrapperRows(wrapper.part), [wrapper.part]);
  const language = languageOf(store, kernel.id);
  return {
    python: {
      title: "Python",
      note: pythonNote(store, kernel, sources.length),
      rows: python,
      missing: "The source of the functions was not kept.",
    },
    nodes: {
      title: "FX",
      note: kernel.nodes.length === 1 ? "1 node" : `${kernel.nodes.length} nodes`,
      rows: nodes,
      missing: "The record does not say which nodes this kernel computes.",
    },
    code: {
      title: kernel.code ? language : "Kernel",
      note: codeText ? `${codeText.ids.length} lines` : "",
      rows: codeText,
      missing: code.failed ?? (kernel.code ? null : libraryCall(kernel)),
    },
    wrapper: {
      title: "Wrapper",
      note: wrapperText ? `${wrapperText.ids.length} lines` : "",
      rows: wrapperText,
      missing: wrapper.failed ?? (kernel.wrapper ? null : "No wrapper was kept for this kernel."),
    },
  };
}

function libraryCall(kernel: Kernel): string {
  return `${kernel.name} is a call of a library: it has no generated source. The wrapper shows the call.`;
}

function pythonNote(store: Store, kernel: Kernel, functions: number): string {
  const line = kernel.lines.map((id) => store.line(id)).find((each) => each !== null);
  if (line) return line.source.file.slice(line.source.file.lastIndexOf("/") + 1);
  return functions === 1 ? "1 function" : `${functions} functions`;
}

function wrapperName(wrapper: string): string {
  return wrapper.startsWith("wrapper:") ? wrapper : `wrapper:${wrapper}`;
}

interface Asked<T> {
  part: T | null;
  failed: string | null;
}

/** A part by name; the one before stays out of sight while the next is on its way. */
function usePart<T extends GraphPart | CodePart | WrapperPart>(
  store: Store,
  name: string | null,
): Asked<T> {
  const [asked, setAsked] = useState<Asked<T> & { name: string | null }>({ name: null, part: null, failed: null });
  useEffect(() => {
    if (name === null) return;
    let isCurrent = true;
    store.need<T>(name).then(
      (part) => isCurrent && setAsked({ name, part, failed: null }),
      (error: Error) => isCurrent && setAsked({ name, part: null, failed: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, name]);
  if (asked.name === name) return asked;
  const known = name === null ? null : ((store.parts.get(name) as T | undefined) ?? null);
  return { part: known, failed: null };
}
