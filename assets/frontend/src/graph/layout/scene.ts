// What there is to draw, in pixels of the graph: boxes, nodes and edges with their places.

import type { GraphPart } from "../../wire";
import { columns } from "./columns";
import { flow, type Room, type Size, wrap } from "./flow";
import { type Box, boxes, type Calls, type Grouping, type IsOpen } from "./groups";
import { isEnd, type Model, visible, type Visible } from "./model";
import { type Inside, NODE_H, NODE_W, pack } from "./pack";
import { route, type Wire } from "./routes";

export interface PlacedBox extends Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  /** Nodes; of a collapsed box the node inside that it really joins. */
  from: number;
  to: number;
  points: number[];
  shape: "curve" | "down" | "corners";
  isRail: boolean;
}

export interface Scene {
  boxes: PlacedBox[];
  boxOf: Int32Array;
  /** Left top corners; NaN where a node is hidden or inside of a collapsed box. */
  x: Float64Array;
  y: Float64Array;
  edges: Edge[];
  hidden: number;
  width: number;
  height: number;
}

interface Wish {
  grouping: Grouping;
  showsQuiet: boolean;
  /** Quiet nodes that are shown all the same: what is selected, what a pass changed. */
  also?: ReadonlySet<number>;
  isOpen: IsOpen;
  calls?: Calls;
  /** Width by height of the pane. */
  aspect: number;
}

const CLOSED: Size = { width: 168, height: 44 };

export function sceneOf(model: Model, wish: Wish): Scene {
  if (wish.grouping === "layers") return layers(model);
  const view = visible(model, wish.showsQuiet, wish.also);
  const { boxes: list, boxOf } = boxes(model, view, wish.grouping, wish.isOpen, wish.calls);
  const place = new Int32Array(model.count);
  for (const box of list) box.nodes.forEach((node, at) => (place[node] = at));
  const { inner, outer } = split(view, list, boxOf, place);
  const insides = list.map((box, at) => insideOf(model, box, inner[at]!));
  const sizes = list.map((box, at) => (box.isOpen && insides[at]) || CLOSED);
  const between = [...new Set(outer.map(([from, to]) => boxOf[from]! * list.length + boxOf[to]!))];
  const boxEdges = between.map(
    (pair) => [Math.floor(pair / list.length), pair % list.length] as const,
  );
  const isLeaf = (box: number) => list[box]!.isBare && isEnd(model.part, list[box]!.nodes[0]!);
  const arranged = columns(list.length, boxEdges, isLeaf);
  const breaks = wrap(arranged, sizes, wish.aspect);
  const none: Room = { lanes: [], tracks: [], margin: 0 };
  const attempt = (room: Room) => {
    const placed = flow(arranged, sizes, breaks, room);
    const wires = outer.map((pair) => wireOf(pair, list, boxOf, place, insides, placed));
    return { placed, wires, ...route(wires, placed, arranged.list, sizes) };
  };
  // The first attempt finds how much room the edges want, the second gives it to them.
  const { placed, wires, ways } = attempt(attempt(none).room);
  const scene = emptyScene(model, view, boxOf, placed.width, placed.height);
  list.forEach((box, at) =>
    putBox(scene, box, insides[at]!, placed.x[at]!, placed.y[at]!, sizes[at]!),
  );
  ways.forEach((way, at) => {
    const [from, to] = outer[at]!;
    const points = [...wires[at]!.start, ...way.points, ...wires[at]!.finish];
    scene.edges.push({
      from,
      to,
      points,
      shape: way.isCurve ? "curve" : "corners",
      isRail: way.isRail,
    });
  });
  return scene;
}

function emptyScene(
  model: Model,
  view: Visible,
  boxOf: Int32Array,
  width: number,
  height: number,
): Scene {
  return {
    boxes: [],
    boxOf,
    x: new Float64Array(model.count).fill(NaN),
    y: new Float64Array(model.count).fill(NaN),
    edges: [],
    hidden: view.hidden,
    width,
    height,
  };
}

/** Edges inside of each open box, and those between boxes (each pair of nodes or boxes once). */
function split(view: Visible, list: Box[], boxOf: Int32Array, place: Int32Array) {
  const inner: [number, number][][] = list.map(() => []);
  const outer: (readonly [number, number])[] = [];
  const seen = new Set<string>();
  for (let at = 0; at < view.edges.length; at += 2) {
    const from = view.edges[at]!;
    const to = view.edges[at + 1]!;
    const a = boxOf[from]!;
    const b = boxOf[to]!;
    if (a === b) {
      if (list[a]!.isOpen) inner[a]!.push([place[from]!, place[to]!]);
      continue;
    }
    const left = list[a]!.isOpen ? `n${from}` : `b${a}`;
    const key = `${left} ${list[b]!.isOpen ? `n${to}` : `b${b}`}`;
    if (seen.has(key)) continue;
    seen.add(key);
    outer.push([from, to]);
  }
  return { inner, outer };
}

function insideOf(
  model: Model,
  box: Box,
  edges: readonly (readonly [number, number])[],
): Inside | null {
  if (!box.isOpen) return null;
  const order = box.nodes.map((node) => model.part.x[node]!);
  return pack(order, edges, !box.isBare);
}

interface Joint extends Wire {
  /** The way from the node to the edge of its box, and from the edge to the reading node. */
  start: number[];
  finish: number[];
}

function wireOf(
  [from, to]: readonly [number, number],
  list: Box[],
  boxOf: Int32Array,
  place: Int32Array,
  insides: readonly (Inside | null)[],
  placed: { x: Float64Array; y: Float64Array },
): Joint {
  const a = boxOf[from]!;
  const b = boxOf[to]!;
  const net = list[a]!.isOpen ? from : -1 - a;
  const out = exit(insides[a]!, place[from]!, placed.x[a]!, placed.y[a]!);
  const into = entry(insides[b]!, place[to]!, placed.x[b]!, placed.y[b]!);
  return {
    net,
    from: { box: a, y: out.y },
    to: { box: b, y: into.y },
    start: out.points,
    finish: into.points,
  };
}

/** Nodes at the right end of their row are left sideways, others through the gap below. */
function exit(inside: Inside | null, node: number, x: number, y: number) {
  if (!inside) return { y: y + CLOSED.height / 2, points: [] };
  const left = x + inside.x[node]!;
  const top = y + inside.y[node]!;
  if (inside.isLast[node]) {
    return { y: top + NODE_H / 2, points: [left + NODE_W, top + NODE_H / 2] };
  }
  const below = top + NODE_H + 7;
  return { y: below, points: [left + NODE_W / 2, top + NODE_H, left + NODE_W / 2, below] };
}

function entry(inside: Inside | null, node: number, x: number, y: number) {
  if (!inside) return { y: y + CLOSED.height / 2, points: [] };
  const left = x + inside.x[node]!;
  const top = y + inside.y[node]!;
  if (inside.isFirst[node]) return { y: top + NODE_H / 2, points: [left, top + NODE_H / 2] };
  const above = top - 5;
  return { y: above, points: [left + NODE_W / 2, above, left + NODE_W / 2, top] };
}

function putBox(
  scene: Scene,
  box: Box,
  inside: Inside | null,
  x: number,
  y: number,
  size: Size,
): void {
  scene.boxes.push({ ...box, x, y, width: size.width, height: size.height });
  if (!inside) return;
  box.nodes.forEach((node, at) => {
    scene.x[node] = x + inside.x[at]!;
    scene.y[node] = y + inside.y[at]!;
  });
  for (const edge of inside.edges) {
    const points = edge.points.map((value, at) => value + (at % 2 ? y : x));
    const shape = points.length === 4 ? "down" : "corners";
    const [from, to] = [box.nodes[edge.from]!, box.nodes[edge.to]!];
    scene.edges.push({ from, to, points, shape, isRail: false });
  }
}

/** The layout as Python made it: every node, from top to bottom. */
function layers(model: Model): Scene {
  const { part, count } = model;
  const view = visible(model, true);
  const boxOf = new Int32Array(count).fill(-1);
  const scene = emptyScene(model, view, boxOf, part.width, part.height);
  for (let node = 0; node < count; node++) {
    scene.x[node] = part.x[node]! - NODE_W / 2;
    scene.y[node] = part.y[node]! - NODE_H / 2;
  }
  const routed = new Set<number>();
  for (const [from, to, ...points] of part.routes) {
    routed.add(from! * count + to!);
    scene.edges.push({ from: from!, to: to!, points, shape: "corners", isRail: false });
  }
  part.inputs.forEach((inputs, to) => {
    for (const from of inputs)
      if (!routed.has(from * count + to)) scene.edges.push(unrouted(part, from, to));
  });
  return scene;
}

/** An edge to the next layer is a straight line, a longer one that Python left out a rail. */
function unrouted({ x, y, level, width }: GraphPart, from: number, to: number): Edge {
  if (level[to]! - level[from]! > 1)
    return { from, to, points: rail(x, y, from, to, width), shape: "corners", isRail: true };
  const points = [x[from]!, y[from]! + NODE_H / 2, x[to]!, y[to]! - NODE_H / 2];
  return { from, to, points, shape: "down", isRail: false };
}

function rail(x: number[], y: number[], from: number, to: number, width: number): number[] {
  const [x1, y1, x2, y2] = [x[from]!, y[from]! + NODE_H / 2, x[to]!, y[to]! - NODE_H / 2];
  const side = width + 20;
  return [x1, y1, x1, y1 + 8, side, y1 + 8, side, y2 - 8, x2, y2 - 8, x2, y2];
}
