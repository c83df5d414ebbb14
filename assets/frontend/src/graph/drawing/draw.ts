// Draws a scene on a canvas: only what is seen, and no text that could not be read.

import { grouped } from "../../lists";
import { isEnd } from "../layout/model";
import { NODE_H, NODE_W } from "../layout/pack";
import { rectOf } from "../layout/plan";
import type { PlacedBox } from "../layout/scene";
import { seen } from "../layout/viewport";
import { drawEdges } from "./edges";
import { CHANGE_SIGN, type Looks } from "./looks";
import { type Caption, markColour, type Picture } from "./picture";

const READABLE = 0.6; // below, node texts would fall under 9 px on screen
const NODE_VISIBLE = 0.09; // below, a node is under 2 px high

export function draw(picture: Picture): void {
  const { context, ratio, view, width, height, plan } = picture;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width * ratio, height * ratio);
  const { zoom } = view;
  context.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * view.x, ratio * view.y);
  const rect = seen(view, width, height);
  const boxes = plan.boxes.near(rect).map((at) => plan.scene.boxes[at]!);
  drawBoxes(picture, boxes);
  drawHeat(picture, boxes);
  drawEdges(picture, rect);
  if (zoom > NODE_VISIBLE) {
    const nodes = plan.nodes.near(rect);
    drawNodes(picture, nodes);
    if (zoom >= READABLE) drawNodeTexts(picture, nodes);
  }
  for (const box of boxes) drawCaption(picture, box);
}

/** Boxes of one look in one path each: changing the style is what costs. */
function drawBoxes(picture: Picture, boxes: PlacedBox[]): void {
  const { context, colours, looks, view } = picture;
  const keyOf = (box: PlacedBox) => {
    const state = stateOf(looks, box);
    return `${picture.caption(box).mark ?? ""}|${state}|${box.isOpen || state < 2 ? "" : "full"}`;
  };
  const framed = boxes.filter((box) => !box.isBare);
  for (const [key, members] of grouped(framed, keyOf)) {
    const [mark, state, full] = key.split("|") as [string, string, string];
    const colour = markColour(colours, mark);
    const isPlain = !/^g\d$/.test(mark);
    context.beginPath();
    for (const box of members)
      if (view.zoom < 0.2) context.rect(box.x, box.y, box.width, box.height);
      else context.roundRect(box.x, box.y, box.width, box.height, 5);
    context.fillStyle = full ? colours.selBg : colour;
    context.globalAlpha = full ? 1 : isPlain ? 0.06 : 0.12;
    context.fill();
    context.globalAlpha = state === "0" ? 0.65 : 1;
    context.lineWidth = WEIGHTS[Number(state)]! / Math.min(1, view.zoom * 1.2);
    context.strokeStyle = state === "0" ? colour : colours.sel;
    if (mark === "fb") context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
}

/** What a box costs, as a bar behind its second line: as long as its part of the largest. */
function drawHeat({ context, colours, caption }: Picture, boxes: PlacedBox[]): void {
  context.beginPath();
  for (const box of boxes) {
    const { heat } = box.isBare ? NO_HEAT : caption(box);
    if (heat > 0) context.rect(box.x + 5, box.y + 22, Math.max(2, (box.width - 10) * heat), 16);
  }
  context.fillStyle = colours.heat;
  context.globalAlpha = 0.4;
  context.fill();
  context.globalAlpha = 1;
}

const NO_HEAT = { heat: 0 };
const WEIGHTS = [1, 1.5, 2];

/** 2 for a selected box, 1 for a related one; a collapsed one shows what it holds. */
function stateOf(looks: Looks, box: PlacedBox): number {
  if (box.id !== null && looks.selected === box.id) return 2;
  if (box.id !== null && looks.related.has(box.id)) return 1;
  if (box.isOpen || !looks.isAny) return 0;
  let state = 0;
  for (const node of box.nodes) state = Math.max(state, looks.nodes[node]!);
  return state;
}

function drawNodes(picture: Picture, nodes: number[]): void {
  const { context, colours, looks, plan, view } = picture;
  const { scene, model } = plan;
  const line = 1 / Math.min(1, view.zoom * 1.4);
  const groups = grouped(nodes, (node) => styleOf(picture, node));
  // One path per look: changing the style is what costs, not the rectangles.
  for (const [key, members] of groups) {
    const [stroke, fill, weight] = key.split("|") as [string, string, string];
    context.beginPath();
    for (const node of members) {
      const x = scene.x[node]!;
      const y = scene.y[node]!;
      if (view.zoom < 0.3) context.rect(x, y, NODE_W, NODE_H);
      else context.roundRect(x, y, NODE_W, NODE_H, isEnd(model.part, node) ? NODE_H / 2 : 3);
    }
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = stroke;
    context.lineWidth = Number(weight) * line;
    context.stroke();
  }
  const { hovered } = looks;
  if (hovered >= 0 && !Number.isNaN(scene.x[hovered]!)) {
    context.beginPath();
    context.roundRect(scene.x[hovered]!, scene.y[hovered]!, NODE_W, NODE_H, 3);
    context.strokeStyle = colours.sel;
    context.lineWidth = 1.6 * line;
    context.stroke();
  }
  drawPicked(picture, line);
}

/** An outline around each of two things that are asked about together. */
function drawPicked({ context, colours, looks, plan }: Picture, line: number): void {
  if (!looks.picked.length) return;
  const gap = 3 * line;
  context.beginPath();
  for (const id of looks.picked) {
    const node = plan.model.index.get(id);
    const own = node === undefined ? undefined : rectOf(plan, node);
    const rect = own ?? plan.scene.boxes.find((box) => box.id === id);
    if (rect) context.rect(rect.x - gap, rect.y - gap, rect.width + 2 * gap, rect.height + 2 * gap);
  }
  context.strokeStyle = colours.sel;
  context.lineWidth = 1.5 * line;
  context.stroke();
}

function styleOf({ colours, looks, plan, caption, markOf }: Picture, node: number): string {
  const state = looks.nodes[node]!;
  const change = looks.changes?.get(node);
  if (state === 2) return `${colours.sel}|${colours.selBg}|2.2`;
  if (state === 1) return `${colours.sel}|${colours.relBg}|1`;
  if (change) return `${colours[change]}|${colours[`${change}Bg`]}|1.2`;
  const box = plan.scene.boxes[plan.scene.boxOf[node]!];
  const mark = (box && !box.isBare && caption(box).mark) || markOf(node);
  return `${markColour(colours, mark)}|${colours.bg}|1`;
}

function drawNodeTexts(picture: Picture, nodes: number[]): void {
  const { context, colours, looks, plan, view } = picture;
  const size = Math.min(12, Math.max(11, 9.5 / view.zoom));
  const most = Math.floor((NODE_W - 8) / (size * 0.602));
  context.font = `500 ${size}px ${colours.mono}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillStyle = colours.fg;
  for (const node of nodes) {
    const change = looks.changes?.get(node);
    const text = change ? `${CHANGE_SIGN[change]} ${plan.labels[node]!}` : plan.labels[node]!;
    context.globalAlpha = looks.isAny && !looks.nodes[node] ? 0.75 : 1;
    context.fillText(
      cutMiddle(text, most),
      plan.scene.x[node]! + NODE_W / 2,
      plan.scene.y[node]! + NODE_H / 2 + 0.5,
    );
  }
  context.globalAlpha = 1;
}

const CAPTION_FROM = 26; // a box narrower than this on screen has no room for its name
const STEP_NAMES = 0.6;

function drawCaption(picture: Picture, box: PlacedBox): void {
  const { context, colours, view } = picture;
  const { zoom } = view;
  if (box.isBare) {
    if (zoom < READABLE) drawEndName(picture, box);
    return;
  }
  const onScreen = box.width * zoom;
  if (onScreen < CAPTION_FROM) return;
  const caption = picture.caption(box);
  const { title } = caption;
  context.textAlign = "left";
  if (zoom >= STEP_NAMES) {
    drawTitle(picture, box, caption);
    return;
  }
  // Names alone, at one size on the screen, with a halo that keeps lines out of them.
  const size = 12 / zoom;
  // Beside an open box there is room above its neighbours, in a collapsed one there is none.
  const most = Math.max(2, Math.floor((onScreen + (box.isOpen ? 20 : -8)) / 7.3));
  const text = isPath(box) ? cutHead(title, most) : cut(title, most);
  context.font = `600 ${size}px ${colours.mono}`;
  context.lineJoin = "round";
  context.lineWidth = 4 / zoom;
  context.strokeStyle = colours.bg;
  context.fillStyle = colours.fg;
  context.textBaseline = box.isOpen ? "bottom" : "middle";
  const y = box.isOpen ? box.y - 2 / zoom : box.y + box.height / 2;
  const x = box.x + (box.isOpen ? 2 : 6) / zoom;
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}

function drawTitle(picture: Picture, box: PlacedBox, { title, note, facts }: Caption): void {
  const { context, colours, view } = picture;
  const size = Math.max(11, 9.5 / view.zoom);
  const most = Math.floor((box.width - 36) / (size * 0.602));
  context.textBaseline = "middle";
  context.fillStyle = box.isOpen ? colours.fg2 : colours.fg;
  context.font = `600 ${size}px ${colours.mono}`;
  const fits = !box.isOpen || title.length + note.length < most;
  const words = note && fits ? `${title} ${note}` : title;
  context.fillText(isPath(box) ? cutHead(words, most) : cut(words, most), box.x + 10, box.y + 13);
  context.fillStyle = colours.fg;
  context.font = `400 ${size}px ${colours.ui}`;
  const room = Math.floor((box.width - 18) / (size * 0.53));
  context.fillText(cutParts(facts, room), box.x + 10, box.y + 30);
  drawSign(picture, box);
}

/** A plus or minus in the corner: opens or closes the box. */
function drawSign({ context, colours }: Picture, box: PlacedBox): void {
  const x = box.x + box.width - 12;
  const y = box.y + 12;
  context.beginPath();
  context.moveTo(x - 4, y);
  context.lineTo(x + 4, y);
  if (!box.isOpen) {
    context.moveTo(x, y - 4);
    context.lineTo(x, y + 4);
  }
  context.strokeStyle = colours.fg2;
  context.lineWidth = 1.4;
  context.stroke();
}

function drawEndName({ context, colours, plan, view }: Picture, box: PlacedBox): void {
  const node = box.nodes[0]!;
  if (!isEnd(plan.model.part, node) || NODE_W * view.zoom < CAPTION_FROM) return;
  context.font = `500 ${12 / view.zoom}px ${colours.mono}`;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillStyle = colours.fg2;
  context.lineWidth = 4 / view.zoom;
  context.strokeStyle = colours.bg;
  const most = Math.max(4, Math.floor((NODE_W * view.zoom + 30) / 7.3));
  const text = cut(plan.labels[node]!, most);
  context.strokeText(text, box.x + NODE_W / 2, box.y - 2 / view.zoom);
  context.fillText(text, box.x + NODE_W / 2, box.y - 2 / view.zoom);
}

/** Of a module path the end says most. */
function isPath(box: PlacedBox): boolean {
  return box.id === null;
}

/** As many of the last steps of a path as fit. */
export function cutHead(text: string, most: number): string {
  if (text.length <= most) return text;
  let short = text;
  while (short.length >= most && short.includes(".")) short = short.slice(short.indexOf(".") + 1);
  return `…${short.length < most ? short : text.slice(1 - Math.max(2, most))}`;
}

/** As many of the parts of a note, from its start, as fit. */
function cutParts(text: string, most: number): string {
  let short = text;
  while (short.length > most && short.includes(" · "))
    short = short.slice(0, short.lastIndexOf(" · "));
  return cut(short, most);
}

/** A name without its middle: the number at its end tells it from its like. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = /_\d+$/.exec(text)?.[0] ?? "";
  return `${text.slice(0, Math.max(1, most - 1 - end.length))}…${end}`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}
