// The whole graph as it is grouped and lit, as a file: SVG or PNG.

import { saveFile } from "../ui/savefile";
import { readColours } from "./colours";
import { draw } from "./draw";
import type { Picture } from "./picture";
import { SvgContext } from "./svg";

export type FileKind = "svg" | "png";

const MARGIN = 12;
const LARGEST = 8192; // pixels along a side that every browser draws

/** Saves what is drawn on a canvas, but all of it, in the colours of the theme. */
export function saveGraph(
  kind: FileKind,
  subject: Pick<Picture, "plan" | "looks" | "caption" | "markOf">,
  canvas: HTMLCanvasElement,
): void {
  const { scene, model } = subject.plan;
  const [width, height] = [scene.width + 2 * MARGIN, scene.height + 2 * MARGIN];
  const colours = readColours(canvas);
  const view = { zoom: 1, x: MARGIN, y: MARGIN };
  const name = `graph-${model.part.id}.${kind}`;
  const whole = { ...subject, colours, view, width, height };
  if (kind === "svg") {
    const svg = new SvgContext();
    draw({ ...whole, ratio: 1, context: svg as unknown as CanvasRenderingContext2D });
    return saveFile(svg.file(width, height, MARGIN, colours.bg), name, "image/svg+xml");
  }
  const ratio = Math.min(2, LARGEST / Math.max(width, height));
  const sheet = document.createElement("canvas");
  sheet.width = width * ratio;
  sheet.height = height * ratio;
  const context = sheet.getContext("2d")!;
  draw({ ...whole, ratio, context });
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = colours.bg;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillRect(0, 0, sheet.width, sheet.height);
  sheet.toBlob((blob) => blob && saveFile(blob, name, "image/png"));
}
