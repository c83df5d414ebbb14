// The bar of the graph pane: stage, grouping, search, table; and what stands below its canvas.

import { plural, whole } from "../format";
import { stageGraph } from "../ids";
import type { Store } from "../store";
import { Button, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { ofPass, PassFilter } from "../ui/pass";
import type { GraphHead } from "../wire";
import type { Handle } from "./canvas";
import { comparable, isCode, isStep } from "./compare";
import type { Grouping } from "./layout/groups";
import { labelOf, type Model } from "./layout/model";
import { changedBy, isDrawn, showPass } from "./passes";
import { type GraphState, openAll, setGrouping } from "./state";

interface Props {
  store: Store;
  state: GraphState;
  graphs: readonly GraphHead[];
  head: GraphHead;
  shown?: ShownProps;
}

export function Bar({ store, state, graphs, head, shown }: Props) {
  const own = ofPass(store, graphs).filter((graph) => !isStep(graph.id));
  const listed = own.includes(head) ? own : [head, ...own];
  const isListing = state.listsPasses.value;
  const isComparing = state.other.value !== null && !isListing;
  const choose = (id: string) => {
    if (store.selected.peek()?.startsWith("g")) store.select(null);
    state.graph.value = id;
  };
  const changed = changedBy(store);
  const list = () => {
    if (!changed.length) return;
    state.listsPasses.value = !isListing;
    state.other.value = null;
    const first = changed.find(isDrawn);
    if (isListing) choose(stageGraph(head.id));
    else if (first) showPass(store, state, first);
  };
  const isAlone = comparable(graphs, head.id).length < 2;
  const compare = () => {
    if (isAlone && !isComparing) return;
    state.other.value = isComparing ? null : partner(graphs, head.id);
    state.listsPasses.value = false;
  };
  return (
    <div class="bar graph-bar">
      <Select label="Stage" of={listed.map(stageOption)} value={head.id} set={choose} />
      <Button
        tip={isAlone ? "This graph has only one stage" : "Changes by the passes between two stages"}
        isPressed={isComparing}
        isOff={isAlone}
        press={compare}
      >
        Compare<span class="wide"> stages</span>
      </Button>
      <Button
        tip={changed.length ? "Step through what each pass changed" : "No pass changed anything"}
        isPressed={isListing}
        isOff={!changed.length}
        press={list}
      >
        Passes
      </Button>
      <PassFilter store={store} />
      {shown && !state.isTable.value && <Grouped state={state} {...shown} />}
      <span class="push" />
      {shown && <Find store={store} {...shown} />}
      {!isCode(head) && (
        <Button
          tip="Show the nodes as a table"
          isPressed={state.isTable.value}
          press={() => (state.isTable.value = !state.isTable.value)}
        >
          Table
        </Button>
      )}
    </div>
  );
}

function stageOption(graph: GraphHead) {
  const { id, title, node_count: count } = graph;
  return isCode(graph) ? ([id, title] as const) : ([id, `${title} · ${count}`, !count] as const);
}

/** The nearest earlier stage that is not the same graph, else the next one; see `comparable`. */
export function partner(all: readonly GraphHead[], id: string): string | null {
  const graphs = comparable(all, stageGraph(id)).filter((graph) => !isStep(graph.id));
  const at = graphs.findIndex((graph) => graph.id === stageGraph(id));
  const count = graphs[at]?.node_count;
  const isChanged = (id: string) => all.some((g) => isStep(g.id) && stageGraph(g.id) === id);
  const earlier = graphs.slice(0, at).reverse();
  const different =
    earlier.find((graph) => graph.node_count !== count || isChanged(graph.id)) ??
    earlier[0] ??
    graphs[at + 1];
  return different?.id ?? null;
}

interface ShownProps {
  model: Model;
  grouping: Grouping;
  canvas: Pick<Handle, "reveal" | "fitAll" | "fitSelection" | "save">;
  isLit: boolean;
}

const GROUPINGS: [Grouping, string][] = [
  ["kernel", "by kernel"],
  ["module", "by module"],
  ["line", "by line"],
  ["none", "ungrouped"],
  ["layers", "in layers"],
];
const MOST_UNGROUPED = 5000;

function Grouped({ state, model, grouping }: ShownProps & { state: GraphState }) {
  const { part } = model;
  const isThere: Record<Grouping, boolean> = {
    kernel: part.kernels.length > 0,
    module: part.modules.length > 0,
    line: part.lines.some((line) => line !== null),
    none: model.count <= MOST_UNGROUPED,
    layers: true,
  };
  return (
    <Select
      label="Boxes"
      tip="Choose how nodes are grouped into boxes"
      of={GROUPINGS.map(([id, title]) => [id, title, !isThere[id]] as const)}
      value={grouping}
      set={(id) => setGrouping(state, part.id, id as Grouping)}
    />
  );
}

function Find({ store, model, canvas }: ShownProps & { store: Store }) {
  const [query, setQuery] = usePaneState(store, "find", "");
  const [at, setAt] = usePaneState(store, "found", -1);
  const found = findNodes(model, query);
  const go = (by: number) => {
    if (found.length === 0) return;
    const next = (at + by + found.length) % found.length;
    setAt(next);
    store.select(model.ids[found[next]!]!);
    canvas.reveal(found[next]!);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === "ArrowDown") go(event.shiftKey ? -1 : 1);
    else if (event.key === "ArrowUp") go(-1);
    else if (event.key === "Escape" && query) setQuery("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <label class="graph-find">
      <span class="sr">Find in this graph</span>
      <input
        type="search"
        placeholder="Find in graph"
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(-1);
        }}
        onKeyDown={key}
      />
      {query && (
        <span class="graph-count" role="status">
          {found.length === 0
            ? "none"
            : at < 0
              ? `${found.length}`
              : `${at + 1} of ${found.length}`}
        </span>
      )}
    </label>
  );
}

export function findNodes(model: Model, query: string, most = 2000): number[] {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const { part } = model;
  const line = /^line (\d+)$/.exec(wanted);
  const found: number[] = [];
  for (let node = 0; node < model.count && found.length < most; node++) {
    const texts = line
      ? [part.lines[node] ?? ""]
      : [
          part.names[node]!,
          labelOf(part, node),
          part.targets[node]!,
          part.shapes[node]!,
          part.modules[part.module[node]!] ?? "",
          part.kernels[part.kernel[node]!] ?? "",
        ];
    const isHit = line
      ? texts[0]!.endsWith(`:${line[1]}`)
      : texts.some((text) => text.toLowerCase().includes(wanted));
    if (isHit) found.push(node);
  }
  return found;
}

interface FootProps extends ShownProps {
  state: GraphState;
  hidden: number;
}

/** Below the canvas, what acts on it alone: what is hidden and open, how large it is, as a file. */
export function Foot({ state, model, hidden, grouping, canvas, isLit }: FootProps) {
  const { part, count } = model;
  const canFold = grouping !== "none" && grouping !== "layers";
  const hasQuiet = part.is_quiet.includes(true) && grouping !== "layers";
  const all = (isOpen: boolean) => openAll(state, part.id, grouping, isOpen);
  return (
    <>
      <span class="mut">
        {whole(count - hidden)} of {plural(count, "node")}
        {hidden > 0 && <span class="wide"> · views, casts, weights hidden</span>}
      </span>
      {hasQuiet && (
        <Button
          look="link"
          isPressed={state.showsQuiet.value}
          press={() => (state.showsQuiet.value = !state.showsQuiet.value)}
        >
          {state.showsQuiet.value ? "Hide views and weights" : "Show all"}
        </Button>
      )}
      {canFold && (
        <>
          <Button look="link" tip="Open every box" press={() => all(true)}>
            Open all
          </Button>
          <Button look="link" tip="Collapse every box" press={() => all(false)}>
            Collapse all
          </Button>
        </>
      )}
      <Button
        look="link"
        tip={isLit ? "Zoom to the selection (End)" : "Nothing in this graph is selected"}
        isOff={!isLit}
        press={() => isLit && canvas.fitSelection()}
      >
        Fit selection
      </Button>
      <Button look="link" tip="Show the whole graph (Home)" press={() => canvas.fitAll()}>
        Fit all
      </Button>
      {(["svg", "png"] as const).map((kind) => (
        <Button
          key={kind}
          look="link"
          tip={`Save the whole graph as ${kind.toUpperCase()}`}
          press={() => canvas.save(kind)}
        >
          {kind.toUpperCase()}
        </Button>
      ))}
    </>
  );
}
