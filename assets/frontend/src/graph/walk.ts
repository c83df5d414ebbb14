// Walking through the graph by arrow keys: along edges, and between siblings of a row.

import { NODE_H } from "./pack";
import type { Plan } from "./plan";

export type Direction = "up" | "down" | "left" | "right";

/** The node that an arrow leads to from `node` (or where to begin), or null at the end. */
export function step(plan: Plan, node: number | null, direction: Direction): number | null {
  if (node === null || !isPlaced(plan, node)) return first(plan);
  const along = neighbours(plan, node, direction === "up" || direction === "left");
  const side = siblings(plan, node);
  const at = side.indexOf(node);
  if (direction === "left" || direction === "right") {
    const beside = side[at + (direction === "left" ? -1 : 1)];
    return beside ?? outside(plan, node, along) ?? null;
  }
  return inside(plan, node, along) ?? along[0] ?? null;
}

function isPlaced(plan: Plan, node: number): boolean {
  return plan.scene.boxOf[node]! >= 0 || !Number.isNaN(plan.scene.x[node]!);
}

function first(plan: Plan): number | null {
  for (let node = 0; node < plan.model.count; node++) if (isPlaced(plan, node)) return node;
  return null;
}

/** Who it reads, or who reads it, through hidden nodes; nearest first. */
function neighbours(plan: Plan, node: number, isUp: boolean): number[] {
  const { model } = plan;
  const next = (each: number) => (isUp ? model.part.inputs[each]! : model.outputs[each]!);
  const found: number[] = [];
  const seen = new Set<number>([node]);
  const open = [...next(node)];
  while (open.length > 0) {
    const each = open.shift()!;
    if (seen.has(each)) continue;
    seen.add(each);
    if (isPlaced(plan, each)) found.push(each);
    else open.push(...next(each));
  }
  return found;
}

function inside(plan: Plan, node: number, list: number[]): number | undefined {
  const box = plan.scene.boxOf[node]!;
  return list.find((each) => box >= 0 && plan.scene.boxOf[each] === box);
}

function outside(plan: Plan, node: number, list: number[]): number | undefined {
  const box = plan.scene.boxOf[node]!;
  return list.find((each) => box < 0 || plan.scene.boxOf[each] !== box);
}

/** The nodes of the same box at the same height, from left to right. */
function siblings(plan: Plan, node: number): number[] {
  const { scene } = plan;
  const box = scene.boxes[scene.boxOf[node]!];
  const y = scene.y[node]!;
  const near =
    box?.nodes ??
    plan.nodes
      .near({ x: scene.x[node]! - 2000, y, width: 4000, height: NODE_H })
      .filter((each) => scene.boxOf[each]! < 0);
  return near
    .filter((each) => Math.abs(scene.y[each]! - y) < NODE_H / 2)
    .sort((a, b) => scene.x[a]! - scene.x[b]!);
}
