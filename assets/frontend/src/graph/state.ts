// What the reader has chosen in the graph pane.

import { signal } from "@preact/signals";
import { toggled } from "../lists";
import type { Store } from "../store";
import type { GraphHead, GraphPart } from "../wire";
import type { Grouping, IsOpen } from "./layout/groups";
import { firstOpen, moduleTree } from "./layout/modules";
import type { View } from "./layout/viewport";

const LARGE = 2000; // nodes: from here on a graph starts collapsed
const ALL_MODULES = 400; // nodes: up to here every module stands open
const MOST_BOXES = 64;

export type GraphState = ReturnType<typeof graphState>;

export interface Opened {
  base: "first" | "all" | "none";
  flipped: ReadonlySet<string>;
}

const UNTOUCHED: Opened = { base: "first", flipped: new Set() };

export function graphState({ paneStates }: Store) {
  return paneStates.keep("graphs", "state", () => ({
    graph: signal<string | null>(null),
    /** The stage to compare with, or null. */
    other: signal<string | null>(null),
    /** Whether the passes are listed, to step through. */
    listsPasses: signal(false),
    showsQuiet: signal(false),
    isTable: signal(false),
    /** By graph id; a graph without an entry is grouped as suits it. */
    grouping: signal<ReadonlyMap<string, Grouping>>(new Map()),
    /** By graph id and grouping: what stands open, as far as the reader decided. */
    opened: signal<ReadonlyMap<string, Opened>>(new Map()),
    views: new Map<string, View>(),
  }));
}

/** The stage to show first: the one whose nodes the kernels name, else the last with nodes. */
export function firstGraph(
  graphs: readonly GraphHead[],
  ofKernels: ReadonlySet<string>,
): string | null {
  const filled = graphs.filter((graph) => graph.node_count > 0);
  const lowered = filled.find((graph) => ofKernels.has(graph.id));
  return (lowered ?? filled[filled.length - 1])?.id ?? null;
}

export function firstGrouping(part: GraphPart): Grouping {
  const hasKernels = part.kernels.length > 0;
  if (part.names.length <= LARGE && hasKernels) return "kernel";
  const inModules = part.module.filter((module) => module >= 0).length;
  if (inModules > part.names.length / 3) return "module";
  if (hasKernels) return "kernel";
  return part.lines.some((line) => line !== null)
    ? "line"
    : part.names.length <= LARGE
      ? "none"
      : "layers";
}

export function openedOf(state: GraphState, graph: string, grouping: Grouping): Opened {
  return state.opened.value.get(`${graph} ${grouping}`) ?? UNTOUCHED;
}

/** Whether a box stands open, from what suits the graph and what the reader changed. */
export function isOpenOf(part: GraphPart, grouping: Grouping, opened: Opened): IsOpen {
  const first = firstOpenOf(part, grouping);
  const base = (key: string) => opened.base === "all" || (opened.base === "first" && first(key));
  return (key) => base(key) !== opened.flipped.has(key);
}

function firstOpenOf(part: GraphPart, grouping: Grouping): IsOpen {
  if (grouping === "module") {
    if (part.names.length <= ALL_MODULES) return () => true;
    const open = firstOpen(moduleTree(part.modules), MOST_BOXES);
    return (key) => open.has(key);
  }
  return () => part.names.length <= LARGE;
}

export function flip(state: GraphState, graph: string, grouping: Grouping, key: string): void {
  const { base, flipped } = openedOf(state, graph, grouping);
  setOpened(state, graph, grouping, { base, flipped: toggled(flipped, key) });
}

export function openAll(
  state: GraphState,
  graph: string,
  grouping: Grouping,
  isOpen: boolean,
): void {
  setOpened(state, graph, grouping, { base: isOpen ? "all" : "none", flipped: new Set() });
}

function setOpened(state: GraphState, graph: string, grouping: Grouping, opened: Opened): void {
  state.opened.value = new Map(state.opened.value).set(`${graph} ${grouping}`, opened);
}

export function setGrouping(state: GraphState, graph: string, grouping: Grouping): void {
  state.grouping.value = new Map(state.grouping.value).set(graph, grouping);
}
