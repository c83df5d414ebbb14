// The Graphs pane: every stage on one canvas, collapsed and searched as the reader likes.

import { useMemo, useRef, useState } from "preact/hooks";
import { shownCost } from "../cost/cost";
import { plural } from "../format";
import { graphOf, kindOf, numberOf } from "../ids";
import type { Store } from "../store";
import { RecordTable } from "../table/columns";
import { titleOf, useAsked } from "../ui/asked";
import { Empty, Message, plain } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { BytecodePart, GraphHead, GraphPart } from "../wire";
import { Bar, Foot } from "./bar";
import { GraphCanvas, type Handle } from "./canvas";
import { captionOf, marksOf } from "./caption";
import { Compare, type Compared, isCode, useChanges } from "./compare";
import { looksOf } from "./drawing/looks";
import "./graph.css";
import { type Model, modelOf } from "./layout/model";
import { planOf } from "./layout/plan";
import { sceneOf } from "./layout/scene";
import {
  firstGraph,
  firstGrouping,
  flip,
  graphState,
  type GraphState,
  isOpenOf,
  openedOf,
} from "./state";

export function GraphPane({ store }: { store: Store }) {
  const state = graphState(store);
  const graphs = store.doc.value?.graphs ?? [];
  followSelection(store, state, graphs);
  const head = store.row("graphs", state.graph.value ?? "");
  const { part, failed } = useAsked<GraphPart | BytecodePart>(store, head?.part ?? null, (name) =>
    head && isCode(head) ? store.host.part<BytecodePart>(name) : store.need<GraphPart>(name),
  );
  // While the next step is on its way the one before stands, with the list and what is focused.
  const report = store.doc.value;
  const last = useRef<{ of: typeof report; part: GraphPart } | null>(null);
  if (part?.kind === "graph") last.current = { of: report, part };
  else if (part || failed || !state.listsPasses.value || last.current?.of !== report)
    last.current = null;
  const drawn = last.current && store.row("graphs", last.current.part.id);
  if (!head)
    return (
      <Empty store={store} note={plain("No graph was kept.", "The report has no graph nodes.")} />
    );
  return (
    <div class="graph">
      {drawn ? (
        <Loaded
          store={store}
          state={state}
          head={drawn}
          graphs={graphs}
          part={last.current!.part}
        />
      ) : (
        <>
          <Bar store={store} state={state} graphs={graphs} head={head} />
          {part?.id === head.id && part.kind === "bytecode" && (
            <div class="bytecode" tabIndex={0}>
              <pre class="mono">{part.source ?? part.note}</pre>
              <details open={!part.source}>
                <summary>Disassembly, in execution order</summary>
                <pre class="mono">{part.text}</pre>
              </details>
            </div>
          )}
          {failed && <Message note={plain(titleOf(store, "Graph not available."), failed)} />}
        </>
      )}
    </div>
  );
}

/** A node or graph of another stage brings that stage; before any choice, the first one stands. */
function followSelection(store: Store, state: GraphState, graphs: readonly GraphHead[]): void {
  const last = useRef<string | null>(null);
  const selected = store.selected.value;
  const known = graphs.some((graph) => graph.id === state.graph.value);
  let wanted = known
    ? state.graph.value
    : firstGraph(graphs, store.links.value?.kernelGraphs ?? new Set());
  if (selected !== last.current) {
    last.current = selected;
    const kind = selected === null ? "unknown" : kindOf(selected);
    const graph = kind === "node" ? graphOf(selected!) : kind === "graph" ? selected : null;
    if (graph && graphs.some((each) => each.id === graph)) wanted = graph;
  }
  if (state.graph.peek() !== wanted) state.graph.value = wanted;
}

interface LoadedProps {
  store: Store;
  state: GraphState;
  head: GraphHead;
  graphs: readonly GraphHead[];
  part: GraphPart;
}

function Loaded({ store, state, head, graphs, part }: LoadedProps) {
  const handle = useRef<Handle | null>(null);
  const scene = useScene(store, state, graphs, part);
  const { model, grouping, plan, looks, changes, opened } = scene;
  const captions = useCaptions(store, model);
  const showsQuiet = state.showsQuiet.value;
  // The canvas makes its handle after this is drawn, so that it is looked up when it is used.
  const canvas: Handle = {
    reveal: (node) => handle.current?.reveal(node),
    fitAll: () => handle.current?.fitAll(),
    fitSelection: () => handle.current?.fitSelection(),
    save: (kind) => handle.current?.save(kind),
  };
  const shown = { model, grouping, canvas, isLit: looks.isAny };
  return (
    <>
      <Bar store={store} state={state} graphs={graphs} head={head} shown={shown} />
      <div class="graph-body">
        {(state.other.value || state.listsPasses.value) && (
          <Compare store={store} state={state} graphs={graphs} part={part} loaded={changes} />
        )}
        {state.isTable.value ? (
          <NodeTable store={store} model={model} showsQuiet={showsQuiet} />
        ) : (
          <GraphCanvas
            store={store}
            plan={plan}
            looks={looks}
            {...captions}
            label={labelFor(head, plan.scene.hidden)}
            views={state.views}
            viewKey={`${part.id} ${grouping} ${showsQuiet} ${opened.base}`}
            hover={scene.hover}
            toggle={(box) => flip(state, part.id, grouping, box.key)}
            resized={scene.resized}
            handle={(made) => (handle.current = made)}
          >
            <Foot state={state} hidden={plan.scene.hidden} {...shown} />
          </GraphCanvas>
        )}
      </div>
    </>
  );
}

/** What is drawn: the graph as it is grouped, opened, compared, and what is lit in it. */
function useScene(store: Store, state: GraphState, graphs: readonly GraphHead[], part: GraphPart) {
  const [aspect, setAspect] = usePaneState(store, "aspect", 1.8);
  const grouping = state.grouping.value.get(part.id) ?? firstGrouping(part);
  const opened = openedOf(state, part.id, grouping);
  const showsQuiet = state.showsQuiet.value;
  const model = useMemo(() => modelOf(part), [part]);
  const isOpen = useMemo(() => isOpenOf(part, grouping, opened), [part, grouping, opened]);
  const changes = useChanges(store, state, graphs, model);
  const selected = store.selected.value;
  const chosen = selected === null ? undefined : model.index.get(selected);
  const forced = chosen !== undefined && part.is_quiet[chosen] ? chosen : -1;
  const plan = useMemo(() => {
    // Of what was replaced, the quiet ones would drown the rest; the list still leads to them.
    const also = new Set<number>();
    changes?.byNode.forEach((change, node) => change !== "replaced" && also.add(node));
    if (forced >= 0) also.add(forced);
    const calls = (kernel: string) => store.kernel(kernel)?.calls ?? 1;
    return planOf(model, sceneOf(model, { grouping, showsQuiet, also, isOpen, aspect, calls }));
  }, [model, grouping, showsQuiet, isOpen, aspect, changes, forced]);
  const resized = (next: number) => {
    if (Math.abs(Math.log2(next / aspect)) > 0.3) setAspect(next);
  };
  return { model, grouping, opened, changes, plan, resized, ...useLooks(store, model, changes) };
}

/** What is selected, related, changed or under the pointer, and how to say what is. */
function useLooks(store: Store, model: Model, changes: Compared | null) {
  const [hovered, setHovered] = useState(-1);
  const selected = store.selected.value;
  const related = store.related.value;
  const picked = store.pair.picked.value;
  const hoverId = store.hovered.value;
  const elsewhere = hoverId === null ? undefined : model.index.get(hoverId);
  const at = hovered >= 0 ? hovered : (elsewhere ?? -1);
  const looks = useMemo(
    () => looksOf(model, selected, related, at, changes?.byNode ?? null, picked),
    [model, selected, related, at, changes, picked],
  );
  const hover = (node: number) => {
    setHovered(node);
    store.hovered.value = node < 0 ? null : model.ids[node]!;
  };
  return { looks, hover };
}

/** What stands on boxes and nodes; the same functions as long as the graph is the same. */
function useCaptions(store: Store, model: Model) {
  const report = store.doc.value;
  const cost = shownCost(store).value;
  const caption = useMemo(() => captionOf(store, model, cost), [store, model, report, cost]);
  const markOf = useMemo(() => marksOf(store, model), [store, model, report]);
  return { caption, markOf };
}

function labelFor(head: GraphHead, hidden: number): string {
  return (
    `${head.title}: ${head.node_count - hidden} of ${plural(head.node_count, "node")}. ` +
    "Arrows walk along edges and siblings, space opens and closes a box, Enter shows the code, " +
    "Home fits all, Page Up and Page Down zoom. The Table button shows the nodes as a table."
  );
}

interface TableProps {
  store: Store;
  model: Model;
  showsQuiet: boolean;
}

function NodeTable({ store, model, showsQuiet }: TableProps) {
  const { part } = model;
  const rows = useMemo(() => {
    const all = Array.from({ length: model.count }, (_, node) => node);
    const shown = showsQuiet ? all : all.filter((node) => !part.is_quiet[node]);
    return shown.map((node) => rowOf(model, node));
  }, [model, showsQuiet]);
  return (
    <RecordTable
      store={store}
      label={`Nodes of graph ${part.id}`}
      table="nodes"
      rows={rows}
      none="All nodes of this graph are hidden."
    />
  );
}

/** A node as a row: what its graph says of it, by column. */
function rowOf({ part, ids }: Model, node: number) {
  const line = part.lines[node];
  return {
    id: ids[node]!,
    names: part.names[node]!,
    targets: part.targets[node]!,
    shapes: part.shapes[node]!,
    dtypes: part.dtypes[node]!,
    bytes: part.bytes[node] ?? null,
    kernel: part.kernels[part.kernel[node]!] ?? null,
    lines: line ? numberOf(line) : null,
    module: part.modules[part.module[node]!] ?? "",
  };
}
