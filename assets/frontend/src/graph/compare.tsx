// Two stages side by side: which nodes the passes between them added, removed and replaced.

import { Fragment } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { plural } from "../format";
import { nameOf, stageGraph } from "../ids";
import type { Store } from "../store";
import { type Asked, useAnswer } from "../ui/asked";
import { Button, Select } from "../ui/basics";
import type { ChangesPart, GraphHead, GraphPart } from "../wire";
import { type Change, changesIn } from "./drawing/looks";
import type { Model } from "./layout/model";
import { PassList } from "./passes";
import type { GraphState } from "./state";

export interface Compared extends Asked<ChangesPart> {
  byNode: Map<number, Change>;
}

/**
 * What can stand beside this graph: of its compilation, not a backward beside a forward, nor
 * bytecode; what passes left of a stage only beside that.
 */
export function comparable(graphs: readonly GraphHead[], id: string): GraphHead[] {
  const own = graphs.find((graph) => graph.id === id);
  if (!own || isCode(own)) return [];
  const isNear = (other: string) =>
    stageGraph(other) === stageGraph(id) || !(isStep(other) || isStep(id));
  return graphs.filter(
    (graph) =>
      graph.is_backward === own.is_backward &&
      graph.compile_id === own.compile_id &&
      isNear(graph.id) &&
      !isCode(graph),
  );
}

/** Whether a graph is one that a pass left. */
export const isStep = (id: string) => id.includes(".");

/** Bytecode stands among the stages as a text. */
export const isCode = (head: GraphHead) => head.stage === "bytecode";

/** Earlier and later of the stage shown and the one compared with. */
function inOrder(graphs: readonly GraphHead[], a: string, b: string): [string, string] {
  const at = (id: string) => graphs.findIndex((graph) => graph.id === id);
  return at(a) <= at(b) ? [a, b] : [b, a];
}

export function useChanges(
  store: Store,
  state: GraphState,
  graphs: readonly GraphHead[],
  model: Model,
): Compared | null {
  const other = state.other.value;
  const isStale = state.graph.value !== model.part.id;
  const isThere = !isStale && comparable(graphs, model.part.id).some(({ id }) => id === other);
  useEffect(() => {
    if (!isThere && !isStale) state.other.value = null; // the stage that is drawn changed sides
  }, [other, isThere]);
  const pair = isThere && other !== null ? inOrder(graphs, other, model.part.id) : null;
  const { part, failed } = useAnswer<ChangesPart>(store, pair && `changes:${pair.join(":")}`);
  return useMemo(() => {
    if (!part && !failed) return null;
    return { part, failed, byNode: part ? changesIn(model, part) : new Map<number, Change>() };
  }, [part, failed, model]);
}

interface Props {
  store: Store;
  state: GraphState;
  graphs: readonly GraphHead[];
  part: GraphPart;
  loaded: Compared | null;
}

const MOST = 500;

export function Compare({ store, state, graphs, part, loaded }: Props) {
  return (
    <section class="graph-compare" role="group" aria-label="Changes between two stages">
      {state.listsPasses.value && <PassList store={store} state={state} />}
      {state.other.value && (
        <div class="graph-compare-head">
          <Stages state={state} graphs={graphs} id={part.id} />
        </div>
      )}
      {loaded?.failed && <p class="graph-pad">{loaded.failed}</p>}
      {loaded?.part && <Lists store={store} state={state} changes={loaded.part} />}
    </section>
  );
}

interface StagesProps {
  state: GraphState;
  graphs: readonly GraphHead[];
  /** The stage that is drawn. */
  id: string;
}

/** The stage to compare with, and which of the two is drawn. */
function Stages({ state, graphs, id }: StagesProps) {
  const other = state.other.value ?? id;
  const [before, after] = inOrder(graphs, other, id);
  const stages = comparable(graphs, id).map(
    ({ id: stage, title, node_count: count }) =>
      [stage, `${title} · ${count}`, stage === id || !count] as const,
  );
  const side = (words: string, stage: string) => (
    <Button
      tip={graphs.find((graph) => graph.id === stage)?.title ?? stage}
      isPressed={id === stage}
      press={() => {
        if (id === stage) return;
        state.other.value = id;
        state.graph.value = other;
      }}
    >
      {words}
    </Button>
  );
  return (
    <>
      {!state.listsPasses.value && (
        <label>
          <span class="mut">Compared with</span>
          <Select of={stages} value={other} set={(stage) => (state.other.value = stage)} />
        </label>
      )}
      <div class="seg" role="group" aria-label="Stage to draw">
        {side("Before", before)}
        {side("After", after)}
      </div>
    </>
  );
}

function Lists({
  store,
  state,
  changes,
}: {
  store: Store;
  state: GraphState;
  changes: ChangesPart;
}) {
  const { added, removed, replaced, kept } = changes;
  const go = (id: string) => {
    const graph = id.slice(0, id.indexOf(":"));
    if (graph !== state.graph.peek()) {
      state.other.value = state.graph.peek();
      state.graph.value = graph;
    }
    store.select(id);
  };
  const isSame = added.length + removed.length + replaced.length === 0;
  return (
    <div class="scroll graph-pad">
      <p class="mut">
        {isSame && "Nothing changed. "}
        {plural(kept, "node")} unchanged.
      </p>
      <List
        title="Added"
        change="added"
        rows={added.map((id) => [[], [id]])}
        go={go}
        store={store}
      />
      <List
        title="Removed"
        change="removed"
        rows={removed.map((id) => [[id], []])}
        go={go}
        store={store}
      />
      <List title="Replaced" change="replaced" rows={replaced} go={go} store={store} />
    </div>
  );
}

interface ListProps {
  store: Store;
  title: string;
  change: Change;
  rows: readonly (readonly [readonly string[], readonly string[]])[];
  go(id: string): void;
}

function List({ store, title, change, rows, go }: ListProps) {
  if (rows.length === 0) return null;
  const selected = store.selected.value;
  return (
    <>
      <h2 class={`graph-change ${change}`}>{`${title} (${rows.length})`}</h2>
      <ul>
        {rows.slice(0, MOST).map(([before, after]) => {
          const isSelected = [...before, ...after].some((id) => id === selected);
          const isRewritten = before.map(nameOf).join() === after.map(nameOf).join();
          const old = isRewritten ? [] : before;
          return (
            <li key={`${before[0]} ${after[0]}`} class={isSelected ? "sel" : ""}>
              <Names ids={old} go={go} />
              {old.length > 0 && after.length > 0 && <span class="mut"> → </span>}
              <Names ids={after} go={go} />
            </li>
          );
        })}
      </ul>
      {rows.length > MOST && <p class="mut">and {rows.length - MOST} more</p>}
    </>
  );
}

function Names({ ids, go }: { ids: readonly string[]; go(id: string): void }) {
  return (
    <>
      {ids.map((id, at) => (
        <Fragment key={id}>
          {at > 0 && ", "}
          <Button look="link mono" press={() => go(id)}>
            {nameOf(id)}
          </Button>
        </Fragment>
      ))}
    </>
  );
}
