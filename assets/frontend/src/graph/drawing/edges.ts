// Edges: quiet until they belong to the selection, rounded at corners, long ones on demand only.

import type { Edge } from "../layout/scene";
import type { Rect } from "../layout/viewport";
import type { Looks } from "./looks";
import type { Picture } from "./picture";

const ROUND = 7;
const CROWDED = 0.12; // below, lines lie so close that full strength would be a grey mass
const FINE = 0.05; // below, the inner edges of boxes are left out: they would be a grey smear

export function drawEdges(picture: Picture, rect: Rect): void {
  const { context, colours, looks, plan, view } = picture;
  const { edges } = plan.scene;
  const isFine = view.zoom > FINE;
  const lit: Edge[] = [];
  const plain: Edge[] = [];
  context.beginPath();
  for (const at of plan.edges.near(rect)) {
    const edge = edges[at]!;
    if (isLit(looks, edge)) lit.push(edge);
    else if (isFine || edge.shape !== "down") {
      trace(context, edge, view.zoom);
      plain.push(edge);
    }
  }
  context.strokeStyle = colours.control;
  context.lineWidth = 1 / Math.min(1, view.zoom * 1.3);
  context.globalAlpha = view.zoom < CROWDED ? 0.25 : 1;
  context.stroke();
  drawHeads(picture, plain, colours.control);
  context.globalAlpha = 1;
  if (!looks.isAny) return;
  for (const edge of edges) if (edge.isRail && isLit(looks, edge)) lit.push(edge);
  context.beginPath();
  for (const edge of lit) trace(context, edge, 1);
  context.strokeStyle = colours.sel;
  context.lineWidth = 1.8 / Math.min(1, view.zoom * 1.3);
  context.stroke();
  drawHeads(picture, lit, colours.sel);
}

/** A head where each edge ends, in the direction of its last piece. */
function drawHeads({ context, view }: Picture, edges: readonly Edge[], colour: string): void {
  if (view.zoom < HEADS) return;
  context.beginPath();
  for (const edge of edges) {
    const [x, y] = edge.points.slice(-2) as [number, number];
    const [dx, dy] = endOf(edge);
    context.moveTo(x, y);
    context.lineTo(x - dx * HEAD - dy * HALF, y - dy * HEAD + dx * HALF);
    context.lineTo(x - dx * HEAD + dy * HALF, y - dy * HEAD - dx * HALF);
  }
  context.fillStyle = colour;
  context.fill();
}

/** Where an edge points at its end, as a step of length 1. */
export function endOf({ shape, points }: Edge): [number, number] {
  if (shape === "down") return [0, 1];
  const [x1, y1, x2, y2] = points.slice(-4) as [number, number, number, number];
  const length = Math.hypot(x2 - x1, y2 - y1);
  return shape === "curve" || !length ? [1, 0] : [(x2 - x1) / length, (y2 - y1) / length];
}

const HEADS = 0.3; // below, a head would be under 2 px long
const HEAD = 6;
const HALF = 3.5;

/** An edge belongs to the selection when it touches the selected node or joins two related ones. */
function isLit(looks: Looks, edge: Edge): boolean {
  if (!looks.isAny) return false;
  const a = looks.nodes[edge.from]!;
  const b = looks.nodes[edge.to]!;
  return a === 2 || b === 2 || (a > 0 && b > 0);
}

function trace(context: CanvasRenderingContext2D, edge: Edge, zoom: number): void {
  const { points } = edge;
  const [x1, y1] = [points[0]!, points[1]!];
  context.moveTo(x1, y1);
  if (edge.shape === "down") {
    const [x2, y2] = [points[2]!, points[3]!];
    if (x1 === x2 || zoom < 0.3) context.lineTo(x2, y2);
    else context.bezierCurveTo(x1, y1 + 8, x2, y2 - 8, x2, y2);
  } else if (edge.shape === "curve") traceCurve(context, points, zoom);
  else traceCorners(context, points, zoom);
}

/** Straight pieces with one S where the way crosses the gap between two columns. */
function traceCurve(context: CanvasRenderingContext2D, points: number[], zoom: number): void {
  for (let at = 2; at + 1 < points.length; at += 2) {
    const [x0, y0] = [points[at - 2]!, points[at - 1]!];
    const [x, y] = [points[at]!, points[at + 1]!];
    if (y0 === y || x0 === x || zoom < 0.12) context.lineTo(x, y);
    else context.bezierCurveTo((x0 + x) / 2, y0, (x0 + x) / 2, y, x, y);
  }
}

function traceCorners(context: CanvasRenderingContext2D, points: number[], zoom: number): void {
  const last = points.length - 2;
  for (let at = 2; at < last; at += 2) {
    const [x, y] = [points[at]!, points[at + 1]!];
    if (zoom < 0.2) {
      context.lineTo(x, y);
      continue;
    }
    const before = Math.abs(x - points[at - 2]!) + Math.abs(y - points[at - 1]!);
    const after = Math.abs(x - points[at + 2]!) + Math.abs(y - points[at + 3]!);
    context.arcTo(x, y, points[at + 2]!, points[at + 3]!, Math.min(ROUND, before / 2, after / 2));
  }
  context.lineTo(points[last]!, points[last + 1]!);
}
