// The overview map in the corner: every box as a patch, the seen part as a frame.

import { NODE_H, NODE_W } from "../layout/pack";
import type { Plan } from "../layout/plan";
import type { PlacedBox } from "../layout/scene";
import type { Rect, View } from "../layout/viewport";
import { type Colours, markColour } from "./picture";
import { type Size } from "../layout/flow";

interface MapPlace {
  scale: number;
  x: number;
  y: number;
}

export function mapPlace(plan: Plan, width: number, height: number): MapPlace {
  const { scene } = plan;
  const scale = Math.min(
    (width - 8) / Math.max(1, scene.width),
    (height - 8) / Math.max(1, scene.height),
  );
  return { scale, x: (width - scene.width * scale) / 2, y: (height - scene.height * scale) / 2 };
}

export function drawPatches(
  context: CanvasRenderingContext2D,
  plan: Plan,
  place: MapPlace,
  colours: Colours,
  mark: (box: PlacedBox) => string | undefined,
): void {
  const { scene } = plan;
  const put = (x: number, y: number, width: number, height: number) =>
    context.fillRect(
      place.x + x * place.scale,
      place.y + y * place.scale,
      Math.max(1.5, width * place.scale),
      Math.max(1.5, height * place.scale),
    );
  context.globalAlpha = 0.75;
  for (const box of scene.boxes) {
    context.fillStyle = box.isBare ? colours.control : markColour(colours, mark(box));
    put(box.x, box.y, box.width, box.height);
  }
  if (scene.boxes.length === 0) {
    context.fillStyle = colours.control;
    scene.x.forEach((x, node) => put(x, scene.y[node]!, NODE_W, NODE_H));
  }
  context.globalAlpha = 1;
}

export function drawFrame(
  context: CanvasRenderingContext2D,
  place: MapPlace,
  rect: Rect,
  size: Size,
  colour: string,
): void {
  const left = Math.max(1, place.x + rect.x * place.scale);
  const top = Math.max(1, place.y + rect.y * place.scale);
  const right = Math.min(size.width - 1, place.x + (rect.x + rect.width) * place.scale);
  const bottom = Math.min(size.height - 1, place.y + (rect.y + rect.height) * place.scale);
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(left, top, Math.max(3, right - left), Math.max(3, bottom - top));
}

/** The view whose middle is what was pointed at on the map. */
export function centred(
  place: MapPlace,
  view: View,
  at: { x: number; y: number },
  size: Size,
): View {
  const x = (at.x - place.x) / place.scale;
  const y = (at.y - place.y) / place.scale;
  return { zoom: view.zoom, x: size.width / 2 - x * view.zoom, y: size.height / 2 - y * view.zoom };
}
