// A scene made ready for drawing and for hit tests: spatial indexes, and texts that never change.

import { labelOf, type Model } from "./model";
import { NODE_H, NODE_W } from "./pack";
import type { PlacedBox, Scene } from "./scene";
import type { Rect } from "./viewport";

const CELL = 512;

/** Items by number; an item may lie in many cells and is still reported once. */
export class Grid {
  private readonly cells = new Map<number, number[]>();
  private readonly stamp: Int32Array;
  private turn = 0;

  constructor(count: number) {
    this.stamp = new Int32Array(count);
  }

  add(item: number, x: number, y: number, width: number, height: number): void {
    for (const cell of cellsOf(x, y, width, height)) {
      const known = this.cells.get(cell);
      if (!known) this.cells.set(cell, [item]);
      else if (known[known.length - 1] !== item) known.push(item);
    }
  }

  /** Items whose cells touch the rectangle, without order. */
  near(rect: Rect): number[] {
    const turn = ++this.turn;
    const found: number[] = [];
    for (const cell of cellsOf(rect.x, rect.y, rect.width, rect.height))
      for (const item of this.cells.get(cell) ?? [])
        if (this.stamp[item] !== turn) {
          this.stamp[item] = turn;
          found.push(item);
        }
    return found;
  }
}

function* cellsOf(x: number, y: number, width: number, height: number): Generator<number> {
  const right = Math.floor((x + width) / CELL);
  const bottom = Math.floor((y + height) / CELL);
  for (let row = Math.floor(y / CELL); row <= bottom; row++)
    for (let column = Math.floor(x / CELL); column <= right; column++) yield row * 65_536 + column;
}

/** Adds a polyline segment by segment: its bounding box may cover half of the graph. */
function addLine(grid: Grid, item: number, points: readonly number[]): void {
  for (let at = 0; at + 3 < points.length; at += 2) {
    const [x1, y1, x2, y2] = [points[at]!, points[at + 1]!, points[at + 2]!, points[at + 3]!];
    grid.add(item, Math.min(x1, x2), Math.min(y1, y2), Math.abs(x2 - x1), Math.abs(y2 - y1));
  }
}

export interface Plan {
  model: Model;
  scene: Scene;
  boxes: Grid;
  nodes: Grid;
  edges: Grid;
  labels: string[];
}

export function planOf(model: Model, scene: Scene): Plan {
  const boxes = new Grid(scene.boxes.length);
  const nodes = new Grid(model.count);
  const edges = new Grid(scene.edges.length);
  scene.boxes.forEach((box, at) => boxes.add(at, box.x, box.y, box.width, box.height));
  for (let node = 0; node < model.count; node++)
    if (!Number.isNaN(scene.x[node]!))
      nodes.add(node, scene.x[node]!, scene.y[node]!, NODE_W, NODE_H);
  scene.edges.forEach((edge, at) => {
    if (!edge.isRail) addLine(edges, at, edge.points);
  });
  const labels = model.part.names.map((_, node) => labelOf(model.part, node));
  return { model, scene, boxes, nodes, edges, labels };
}

export type Hit =
  { kind: "node"; node: number } | { kind: "box"; box: number; isToggle: boolean } | null;

const TOGGLE = 20; // the sign that opens or closes a box, at its right upper corner

/** What lies under a point of the graph. */
export function hitAt(plan: Plan, x: number, y: number): Hit {
  const { scene } = plan;
  const point: Rect = { x, y, width: 0, height: 0 };
  for (const node of plan.nodes.near(point)) {
    const left = scene.x[node]!;
    const top = scene.y[node]!;
    if (x >= left && x <= left + NODE_W && y >= top && y <= top + NODE_H)
      return { kind: "node", node };
  }
  for (const at of plan.boxes.near(point)) {
    const box = scene.boxes[at]!;
    if (box.isBare || !contains(box, x, y)) continue;
    const isToggle = x > box.x + box.width - TOGGLE && y < box.y + TOGGLE;
    return { kind: "box", box: at, isToggle };
  }
  return null;
}

function contains(box: PlacedBox, x: number, y: number): boolean {
  return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
}

/** Where a node is to be found: itself, or the collapsed box that it is in. */
export function rectOf(plan: Plan, node: number): Rect | null {
  const { scene } = plan;
  const x = scene.x[node]!;
  if (!Number.isNaN(x)) return { x, y: scene.y[node]!, width: NODE_W, height: NODE_H };
  const box = scene.boxes[scene.boxOf[node]!];
  return box ? { x: box.x, y: box.y, width: box.width, height: box.height } : null;
}
