// What decides how a thing is drawn: selection, relation, changes between stages; where it is lit.

import type { ChangesPart } from "../../wire";
import type { Model } from "../layout/model";
import { type Plan, rectOf } from "../layout/plan";
import type { PlacedBox } from "../layout/scene";
import { type Rect, union } from "../layout/viewport";

export type Change = "added" | "removed" | "replaced";

export interface Looks {
  /** By node: 0 plain, 1 related, 2 selected. */
  nodes: Uint8Array;
  /** Kernel and line ids of boxes that are selected or related. */
  selected: string | null;
  related: ReadonlySet<string>;
  hovered: number;
  /** Two things that are asked about together. */
  picked: readonly string[];
  changes: Map<number, Change> | null;
  /** Whether any node of this graph is selected or related. */
  isAny: boolean;
}

export function looksOf(
  model: Model,
  selected: string | null,
  related: ReadonlySet<string>,
  hovered: number,
  changes: Map<number, Change> | null,
  picked: readonly string[] = [],
): Looks {
  const nodes = new Uint8Array(model.count);
  let isAny = false;
  for (const id of related) {
    const node = model.index.get(id);
    if (node === undefined) continue;
    nodes[node] = 1;
    isAny = true;
  }
  const own = selected === null ? undefined : model.index.get(selected);
  if (own !== undefined) {
    nodes[own] = 2;
    isAny = true;
  }
  return { nodes, selected, related, hovered, picked, changes, isAny };
}

/** The changes that can be seen in this graph: of the earlier stage what went, of the later what came. */
export function changesIn(model: Model, part: ChangesPart): Map<number, Change> {
  const found = new Map<number, Change>();
  const put = (id: string, change: Change) => {
    const node = model.index.get(id);
    if (node !== undefined) found.set(node, change);
  };
  part.removed.forEach((id) => put(id, "removed"));
  part.added.forEach((id) => put(id, "added"));
  for (const [before, after] of part.replaced)
    for (const id of [...before, ...after]) put(id, "replaced");
  return found;
}

export const CHANGE_SIGN: Record<Change, string> = { added: "+", removed: "−", replaced: "~" };

/** What is selected with its box, else everything that belongs to the selection, as one rectangle. */
export function litRect(plan: Plan, looks: Looks): Rect | null {
  const selected = looks.selected === null ? undefined : plan.model.index.get(looks.selected);
  if (selected !== undefined) {
    const own = rectOf(plan, selected);
    const box = plan.scene.boxes[plan.scene.boxOf[selected]!];
    if (own) return union(box ? [own, frameOf(box)] : [own]);
  }
  const box = selectedBox(plan, looks.selected, null);
  if (box) return frameOf(box);
  const rects: Rect[] = [];
  looks.nodes.forEach((state, node) => {
    const rect = state ? rectOf(plan, node) : null;
    if (rect) rects.push(rect);
  });
  return union(rects);
}

/** The box of the selected node, or the selected box. */
export function selectedBox(
  plan: Plan,
  selected: string | null,
  node: number | null,
): PlacedBox | null {
  const { scene } = plan;
  if (node !== null) return scene.boxes[scene.boxOf[node]!] ?? null;
  return scene.boxes.find((box) => box.id !== null && box.id === selected) ?? null;
}

function frameOf({ x, y, width, height }: PlacedBox): Rect {
  return { x, y, width, height };
}
