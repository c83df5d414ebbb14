// The keys of the canvas: arrows walk along edges, and between siblings of a row.

import type { Store } from "../store";
import type { Camera } from "./camera";
import { litRect, type Looks, selectedBox } from "./drawing/looks";
import { NODE_H } from "./layout/pack";
import { type Plan, rectOf } from "./layout/plan";
import type { PlacedBox } from "./layout/scene";

interface Hands {
  store: Store;
  camera: Camera;
  plan: Plan;
  looks: Looks;
  toggle(box: PlacedBox): void;
}

const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const PAN = 60;
const SHIFTS: Record<Direction, [number, number]> = {
  up: [0, PAN],
  down: [0, -PAN],
  left: [PAN, 0],
  right: [-PAN, 0],
};

/** Answers a key; the rest is left to the view and the notebook. */
export function press(event: KeyboardEvent, hands: Hands): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const { camera, plan, store } = hands;
  const direction = ARROWS[event.key];
  if (direction && event.shiftKey) camera.pan(...SHIFTS[direction]);
  else if (direction) walk(direction, hands);
  else if (event.key === "PageUp") camera.zoom(1.25);
  else if (event.key === "PageDown") camera.zoom(0.8);
  else if (event.key === "Home") camera.fitAll(plan.scene);
  else if (event.key === "End") fitSelection(hands);
  else if (event.key === " ") fold(hands);
  else if (event.key === "Enter") store.openCode();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

export function fitSelection({
  camera,
  plan,
  looks,
}: Pick<Hands, "camera" | "plan" | "looks">): void {
  const rect = litRect(plan, looks);
  if (rect) camera.fit(rect, 1.1);
}

function nodeOf({ store, plan }: Hands): number | null {
  return plan.model.index.get(store.selected.peek() ?? "") ?? null;
}

function walk(direction: Direction, hands: Hands): void {
  const { camera, plan, store } = hands;
  const next = step(plan, nodeOf(hands), direction);
  if (next === null) return;
  store.select(plan.model.ids[next]!);
  const rect = rectOf(plan, next);
  if (rect) camera.reveal(rect);
}

function fold(hands: Hands): void {
  const box = selectedBox(hands.plan, hands.store.selected.peek(), nodeOf(hands));
  if (box && !box.isBare) hands.toggle(box);
}

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
