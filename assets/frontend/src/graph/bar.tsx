// The bar of the graph pane: stage, grouping, what is hidden, search, table.

import type { Store } from "../store";
import { usePaneState } from "../ui/kept";
import { ofPass, PassFilter } from "../ui/pass";
import type { GraphHead } from "../wire";
import type { Handle } from "./canvas";
import { comparable, isCode } from "./compare";
import type { Grouping } from "./layout/groups";
import { labelOf, type Model } from "./layout/model";
import { type GraphState, openAll, setGrouping } from "./state";
import { plural, whole } from "../format";

interface Props {
  store: Store;
  state: GraphState;
  graphs: readonly GraphHead[];
  head: GraphHead;
  shown?: ShownProps;
}

export function Bar({ store, state, graphs, head, shown }: Props) {
  const own = ofPass(store, graphs);
  const listed = own.includes(head) ? own : [head, ...own];
  const isComparing = state.other.value !== null;
  const choose = (id: string) => {
    if (store.selected.peek()?.startsWith("g")) store.select(null);
    state.graph.value = id;
  };
  const isAlone = comparable(graphs, head.id).length < 2;
  const compare = () => {
    if (isAlone && !isComparing) return;
    state.other.value = isComparing ? null : partner(graphs, head.id);
  };
  return (
    <div class="bar graph-bar">
      <select
        class="btn"
        aria-label="Stage"
        value={head.id}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {listed.map((graph) => (
          <option
            key={graph.id}
            value={graph.id}
            disabled={graph.node_count === 0 && !isCode(graph)}
          >
            {isCode(graph) ? graph.title : `${graph.title} · ${graph.node_count}`}
          </option>
        ))}
      </select>
      <button
        type="button"
        class="btn"
        aria-pressed={isComparing}
        aria-disabled={isAlone}
        data-tip={
          isAlone ? "There is no other stage of it" : "What the passes between two stages did"
        }
        onClick={compare}
      >
        Compare stages
      </button>
      <PassFilter store={store} />
      {shown && <Grouped state={state} {...shown} />}
      <span class="grow" />
      {shown && <Find store={store} {...shown} />}
      {shown && !state.isTable.value && <Fit {...shown} />}
      {shown && !state.isTable.value && <Save {...shown} />}
      {!isCode(head) && (
        <button
          type="button"
          class="btn"
          aria-pressed={state.isTable.value}
          data-tip="The same nodes as a table"
          onClick={() => (state.isTable.value = !state.isTable.value)}
        >
          Table
        </button>
      )}
    </div>
  );
}

/** The nearest earlier stage that is not the same graph, else the next one; see `comparable`. */
export function partner(all: readonly GraphHead[], id: string): string | null {
  const graphs = comparable(all, id);
  const at = graphs.findIndex((graph) => graph.id === id);
  const count = graphs[at]?.node_count;
  const earlier = graphs.slice(0, at).reverse();
  const different =
    earlier.find((graph) => graph.node_count !== count) ?? earlier[0] ?? graphs[at + 1];
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
    <select
      class="btn"
      aria-label="Boxes"
      data-tip="What the boxes stand for"
      value={grouping}
      onChange={(event) => setGrouping(state, part.id, event.currentTarget.value as Grouping)}
    >
      {GROUPINGS.map(([id, title]) => (
        <option key={id} value={id} disabled={!isThere[id]}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Fit({ canvas, isLit }: ShownProps) {
  return (
    <span class="seg">
      <button
        type="button"
        class="btn"
        aria-disabled={!isLit}
        data-tip={
          isLit
            ? "Show what is selected as large as fits (End)"
            : "Nothing of this graph is selected"
        }
        onClick={() => isLit && canvas.fitSelection()}
      >
        Fit selection
      </button>
      <button
        type="button"
        class="btn"
        data-tip="Show the whole graph (Home)"
        onClick={() => canvas.fitAll()}
      >
        Fit all
      </button>
    </span>
  );
}

function Save({ canvas }: ShownProps) {
  return (
    <span class="seg">
      {(["svg", "png"] as const).map((kind) => (
        <button
          key={kind}
          type="button"
          class="btn"
          data-tip={`Save the whole graph as ${kind.toUpperCase()}`}
          onClick={() => canvas.save(kind)}
        >
          {kind.toUpperCase()}
        </button>
      ))}
    </span>
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

interface FoldingProps {
  state: GraphState;
  model: Model;
  hidden: number;
  grouping: Grouping;
}

export function Folding({ state, model, hidden, grouping }: FoldingProps) {
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
        <button
          type="button"
          class="btn link"
          aria-pressed={state.showsQuiet.value}
          onClick={() => (state.showsQuiet.value = !state.showsQuiet.value)}
        >
          {state.showsQuiet.value ? "Hide views and weights" : "Show all"}
        </button>
      )}
      {canFold && (
        <>
          <button
            type="button"
            class="btn link"
            data-tip="Open every box"
            onClick={() => all(true)}
          >
            Open all
          </button>
          <button
            type="button"
            class="btn link"
            data-tip="Collapse every box"
            onClick={() => all(false)}
          >
            Collapse all
          </button>
        </>
      )}
    </>
  );
}
