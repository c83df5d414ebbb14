// How nodes are put into boxes: by kernel, nn.Module or source line, open or collapsed.

import { isEnd, type Model } from "./model";
import type { Visible } from "./visible";

export type Grouping = "kernel" | "module" | "line" | "none" | "layers";

export interface Box {
  /** Names the box for collapsing; several boxes may share it (a line that runs twice). */
  key: string;
  /** What selecting the box selects, or null. */
  id: string | null;
  title: string;
  isOpen: boolean;
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
}

export function boxes(model: Model, view: Visible, grouping: Grouping, isOpen: IsOpen): Boxes {
  const place = placer(model, view, grouping, isOpen);
  const list: Box[] = [];
  const boxOf = new Int32Array(model.count).fill(-1);
  const byKey = new Map<string, number>();
  let last = "";
  for (let node = 0; node < model.count; node++) {
    if (!view.isShown[node]) continue;
    const found = isEnd(model.part, node) ? null : place(node);
    let at = found ? byKey.get(found.key) : undefined;
    if (found && at !== undefined && !found.isOne && last !== found.key) at = undefined;
    if (at === undefined) {
      at = list.length;
      list.push(found ? { ...found, isBare: false, nodes: [] } : bare(model, node));
      if (found) byKey.set(found.key, at);
    }
    // Weights and constants stand between the nodes of a run without ending it.
    if (found) last = found.key;
    list[at]!.nodes.push(node);
    boxOf[node] = at;
  }
  return { boxes: list, boxOf };
}

function bare(model: Model, node: number): Box {
  return { key: model.ids[node]!, id: null, title: "", isOpen: true, isBare: true, nodes: [node] };
}

function placer(
  model: Model,
  view: Visible,
  grouping: Grouping,
  isOpen: IsOpen,
): (node: number) => Place | null {
  const { part } = model;
  if (grouping === "kernel") {
    const homes = kernelHomes(model, view);
    return (node) => {
      const kernel = part.kernels[homes[node]!];
      if (kernel === undefined) return null;
      return { key: kernel, id: kernel, title: kernel, isOpen: isOpen(kernel), isOne: true };
    };
  }
  if (grouping === "module")
    return (node) => {
      const path = part.modules[part.module[node]!];
      return path === undefined ? null : modulePlace(path, isOpen);
    };
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

/** The outermost module on the way to `path` that is not open, else the module itself. */
function modulePlace(path: string, isOpen: IsOpen): Place {
  for (let end = path.indexOf("."); end >= 0; end = path.indexOf(".", end + 1)) {
    const outer = path.slice(0, end);
    if (!isOpen(outer)) return { key: outer, id: null, title: outer, isOpen: false, isOne: true };
  }
  const opened = isOpen(path);
  return { key: path, id: null, title: path, isOpen: opened, isOne: !opened };
}

/** Every module and the modules around it, outermost first. */
export function modulePaths(modules: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of modules) {
    for (let end = path.indexOf("."); end >= 0; end = path.indexOf(".", end + 1))
      found.add(path.slice(0, end));
    found.add(path);
  }
  return [...found].sort((a, b) => depth(a) - depth(b));
}

function depth(path: string): number {
  return path.split(".").length;
}

/** The modules to open at first: from outside in, as long as no more than `most` boxes show. */
export function firstOpen(modules: readonly string[], most: number): Set<string> {
  const children = new Map<string, string[]>();
  for (const path of modulePaths(modules)) {
    const outer = path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : "";
    const known = children.get(outer);
    if (known) known.push(path);
    else children.set(outer, [path]);
  }
  const open = new Set<string>();
  let shown = children.get("")?.length ?? 0;
  let level = children.get("") ?? [];
  while (level.length > 0) {
    const inner = level.flatMap((path) => children.get(path) ?? []);
    if (inner.length === 0 || shown + inner.length - level.length > most) break;
    shown += inner.length - level.length;
    for (const path of level) if (children.has(path)) open.add(path);
    level = inner;
  }
  return open;
}
