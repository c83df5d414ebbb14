// Frames while the view moves: what is slow to draw is drawn once, then shifted and scaled.

import type { View } from "../layout/viewport";
import { draw } from "./draw";
import type { Picture } from "./picture";

const SLOW = 8; // ms: what takes longer is not drawn anew in each frame
const MARGIN = 0.2; // of the pane, drawn beyond each edge so that a shift need not draw
const MOST_PIXELS = 16_000_000;
const BLUR = 4; // the most that a drawn picture is scaled before it is drawn anew
const STROKES = 60; // px around the graph that captions and edges may take
const STILL = 120; // ms after the last move until a scaled picture is drawn sharp

interface Drawn {
  canvas: HTMLCanvasElement;
  picture: Picture;
  /** View and size of what was drawn, with the margin. */
  view: View;
  width: number;
  height: number;
}

export class Frames {
  private last: { picture: Picture; took: number } | null = null;
  private drawn: Drawn | null = null;
  private timer = 0;

  constructor(private readonly sharpen: () => void) {}

  paint(picture: Picture): void {
    clearTimeout(this.timer);
    const { drawn, last } = this;
    const isMoved = last !== null && isSame(last.picture, picture) && last.took > SLOW;
    if (isMoved && drawn && covers(drawn, picture)) {
      show(drawn, picture);
      if (drawn.view.zoom !== picture.view.zoom) this.timer = this.soon();
      return;
    }
    const start = performance.now();
    if (isMoved) show((this.drawn = drawWide(picture, drawn?.canvas)), picture);
    else {
      draw(picture);
      this.drawn = null;
    }
    this.last = { picture, took: performance.now() - start };
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private soon(): number {
    return window.setTimeout(() => {
      this.drawn = null;
      this.sharpen();
    }, STILL);
  }
}

/** Whether two pictures differ in nothing but the view. */
function isSame(a: Picture, b: Picture): boolean {
  const { colours } = a;
  return (
    a.plan === b.plan &&
    a.looks === b.looks &&
    a.caption === b.caption &&
    a.markOf === b.markOf &&
    a.width === b.width &&
    a.height === b.height &&
    a.ratio === b.ratio &&
    colours.bg === b.colours.bg &&
    colours.fg === b.colours.fg &&
    colours.control === b.colours.control
  );
}

/** Whether all of the graph that is to be seen was drawn, at a zoom that is near enough. */
function covers(drawn: Drawn, picture: Picture): boolean {
  if (!isSame(drawn.picture, picture)) return false;
  const { view, plan } = picture;
  const scale = view.zoom / drawn.view.zoom;
  if (scale > BLUR || scale < 1 / BLUR) return false;
  const left = view.x - drawn.view.x * scale;
  const top = view.y - drawn.view.y * scale;
  const { width, height } = plan.scene;
  const reach = (origin: number, size: number, least: number, most: number) =>
    [
      Math.max(least, origin - STROKES),
      Math.min(most, origin + size * view.zoom + STROKES),
    ] as const;
  const [x1, x2] = reach(view.x, width, 0, picture.width);
  const [y1, y2] = reach(view.y, height, 0, picture.height);
  const [right, bottom] = [left + drawn.width * scale, top + drawn.height * scale];
  return (x1 >= left && x2 <= right && y1 >= top && y2 <= bottom) || x1 >= x2 || y1 >= y2;
}

function drawWide(picture: Picture, old: HTMLCanvasElement | undefined): Drawn {
  const { ratio, view } = picture;
  const isBig =
    picture.width * picture.height * ratio * ratio * (1 + 2 * MARGIN) ** 2 > MOST_PIXELS;
  const margin = isBig ? 0 : MARGIN;
  const [x, y] = [Math.round(picture.width * margin), Math.round(picture.height * margin)];
  const [width, height] = [picture.width + 2 * x, picture.height + 2 * y];
  const canvas = old ?? document.createElement("canvas");
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const wide = { zoom: view.zoom, x: view.x + x, y: view.y + y };
  const context = canvas.getContext("2d");
  if (context) draw({ ...picture, context, width, height, view: wide });
  return { canvas, picture, view: wide, width, height };
}

function show(drawn: Drawn, { context, ratio, width, height, view }: Picture): void {
  const scale = view.zoom / drawn.view.zoom;
  // Between pixels of the screen a picture of the same size would be blurred.
  const onPixel = (at: number) => (scale === 1 ? Math.round(at * ratio) / ratio : at);
  const left = onPixel(view.x - drawn.view.x * scale);
  const top = onPixel(view.y - drawn.view.y * scale);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.drawImage(drawn.canvas, left, top, drawn.width * scale, drawn.height * scale);
}
