// How nodes are put into boxes: by kernel, nn.Module or source line, open or collapsed.

import { grouped } from "../../lists";
import { isEnd, type Model, type Visible } from "./model";
import { moduleTree, type Step } from "./modules";

export type Grouping = "kernel" | "module" | "line" | "none" | "layers";

export interface Box {
  /** Names the box for collapsing; several boxes may share it (a line that runs twice). */
  key: string;
  /** What selecting the box selects, or null. */
  id: string | null;
  title: string;
  isOpen: boolean;
  /** One of several calls of its kernel. */
  isCall?: boolean;
  /** A single node without a frame. */
  isBare: boolean;
  nodes: number[];
}

export interface Boxes {
  boxes: Box[];
  /** The box of each node, or -1. */
  boxOf: Int32Array;
}

/** Whether the box of this key stands open. */
export type IsOpen = (key: string) => boolean;

interface Place {
  key: string;
  id: string | null;
  title: string;
  isOpen: boolean;
  /** Whether all nodes of the key share one box, or only those that follow each other. */
  isOne: boolean;
  isCall?: boolean;
  /** Tells boxes of one key apart: the calls of a kernel that runs several times. */
  part?: number;
}

/** How often a kernel is called. */
export type Calls = (kernel: string) => number;

export function boxes(
  model: Model,
  view: Visible,
  grouping: Grouping,
  isOpen: IsOpen,
  calls: Calls = () => 1,
): Boxes {
  const place = placer(model, view, grouping, isOpen, calls);
  const placeEnd = grouping === "module" ? endPlacer(model, place, isOpen) : () => null;
  const list: Box[] = [];
  const boxOf = new Int32Array(model.count).fill(-1);
  const byKey = new Map<string, number>();
  let last = "";
  for (let node = 0; node < model.count; node++) {
    if (!view.isShown[node]) continue;
    const found = isEnd(model.part, node) ? placeEnd(node) : place(node);
    const slot = found ? `${found.key} ${found.part ?? ""}` : "";
    let at = found ? byKey.get(slot) : undefined;
    if (found && at !== undefined && !found.isOne && last !== slot) at = undefined;
    if (at === undefined) {
      at = list.length;
      list.push(found ? { ...found, isBare: false, nodes: [] } : bare(model, node));
      if (found) byKey.set(slot, at);
    }
    // Weights and constants stand between the nodes of a run without ending it.
    if (found) last = slot;
    list[at]!.nodes.push(node);
    boxOf[node] = at;
  }
  return { boxes: list, boxOf };
}

function bare(model: Model, node: number): Box {
  return { key: model.ids[node]!, id: null, title: "", isOpen: true, isBare: true, nodes: [] };
}

function placer(
  model: Model,
  view: Visible,
  grouping: Grouping,
  isOpen: IsOpen,
  calls: Calls,
): (node: number) => Place | null {
  const { part } = model;
  if (grouping === "kernel") {
    const homes = kernelHomes(model, view);
    const call = callOf(model, homes, calls);
    return (node) => {
      const kernel = part.kernels[homes[node]!];
      if (kernel === undefined) return null;
      const place = { key: kernel, id: kernel, isOpen: isOpen(kernel), isOne: true };
      const at = call.get(node);
      if (at === undefined) return { ...place, title: kernel };
      const title = `${kernel} ${at + 1}/${calls(kernel)}`; // a box may be one node wide
      return { ...place, title, isCall: true, part: at };
    };
  }
  if (grouping === "module") {
    const places = moduleTree(part.modules).steps.map((steps) => modulePlace(steps, isOpen));
    return (node) => places[part.module[node]!] ?? null;
  }
  if (grouping === "line")
    return (node) => {
      const line = part.lines[node];
      if (!line) return null;
      const title = `line ${line.slice(line.lastIndexOf(":") + 1)}`;
      return { key: line, id: line, title, isOpen: isOpen(line), isOne: false };
    };
  return () => null;
}

/** A view or cast that is in no kernel is shown where its value is used, else where it is made. */
function kernelHomes(model: Model, view: Visible): number[] {
  const { part } = model;
  const homes = part.kernel.slice();
  for (let node = model.count - 1; node >= 0; node--) {
    if (homes[node]! >= 0 || !part.is_quiet[node] || !view.isShown[node]) continue;
    const readers = new Set(model.outputs[node]!.map((reader) => homes[reader]!));
    if (readers.size === 1) homes[node] = [...readers][0]!;
  }
  for (let node = 0; node < model.count; node++) {
    if (homes[node]! >= 0 || !part.is_quiet[node] || !view.isShown[node]) continue;
    const input = part.inputs[node]![0];
    if (input !== undefined) homes[node] = homes[input]!;
  }
  return homes;
}

/**
 * Which call of its kernel a node belongs to, for kernels that run several times: each call is a
 * piece of the graph of its own, and they come in the order of the graph.
 */
function callOf(model: Model, homes: number[], calls: Calls): Map<number, number> {
  const { part } = model;
  const many = new Set(part.kernels.flatMap((kernel, at) => (calls(kernel) > 1 ? [at] : [])));
  const found = new Map<number, number>();
  if (many.size === 0) return found;
  const root = new Map<number, number>();
  const find = (node: number): number => {
    let at = node;
    while (root.get(at)! !== at) at = root.get(at)!;
    root.set(node, at);
    return at;
  };
  for (let node = 0; node < model.count; node++) {
    if (!many.has(homes[node]!)) continue;
    root.set(node, node);
    for (const input of part.inputs[node]!) {
      if (homes[input] !== homes[node]) continue;
      const [a, b] = [find(input), find(node)];
      root.set(Math.max(a, b), Math.min(a, b));
    }
  }
  const pieces = grouped(root.keys(), find).values();
  for (const [kernel, list] of grouped(pieces, ([first]) => homes[first!]!)) {
    const starts = widestGaps(list, calls(part.kernels[kernel]!) - 1);
    let call = 0;
    list.forEach((nodes, at) => {
      if (starts.has(at)) call++;
      for (const node of nodes) found.set(node, call);
    });
  }
  return found;
}

/** The pieces that begin a new call: those after the widest gaps in the order of the graph. */
function widestGaps(list: number[][], most: number): Set<number> {
  const gaps = list
    .slice(1)
    .map((nodes, at) => ({ at: at + 1, gap: nodes[0]! - list[at]!.at(-1)! }));
  gaps.sort((a, b) => b.gap - a.gap || a.at - b.at);
  return new Set(gaps.slice(0, most).map(({ at }) => at));
}

/** The outermost box on the way to a module that is not open, else the module itself. */
function modulePlace(steps: readonly Step[], isOpen: IsOpen): Place {
  const own = steps.at(-1)!;
  for (const step of steps)
    if (step !== own && !isOpen(step.key)) return { ...step, id: null, isOpen: false, isOne: true };
  const opened = isOpen(own.key);
  return { ...own, id: null, isOpen: opened, isOne: !opened };
}

const UNREAD = "unused inputs";
const FEW_UNREAD = 6;

/**
 * Where inputs and weights go when modules are the boxes: into the closed box of all their readers,
 * what nobody reads into a closed box of its own; null for those that stand alone.
 */
function endPlacer(
  model: Model,
  place: (node: number) => Place | null,
  isOpen: IsOpen,
): (node: number) => Place | null {
  const { part, outputs } = model;
  const isUnread = (node: number) => part.ops[node] !== "output" && outputs[node]!.length === 0;
  const unread = part.names.filter((_, node) => isEnd(part, node) && isUnread(node)).length;
  const together = unread > FEW_UNREAD && !isOpen(UNREAD);
  const box = { key: UNREAD, title: UNREAD, id: null, isOpen: false, isOne: true };
  return (node) => {
    if (isUnread(node)) return together ? box : null;
    const [first, ...others] = outputs[node]!;
    const home = first === undefined || isEnd(part, first) ? null : place(first);
    if (!home || home.isOpen) return null;
    const isShared = others.some(
      (reader) => isEnd(part, reader) || place(reader)?.key !== home.key,
    );
    return isShared ? null : home;
  };
}
