// Paints a canvas at most once a frame, and again when its size or the theme changes.

import type { Plan } from "../layout/plan";
import { seen } from "../layout/viewport";
import { Frames } from "./frames";
import { drawFrame, drawPatches, mapPlace } from "./minimap";
import { type Colours, type Picture, readColours, type Subject } from "./picture";
import { type Size } from "../layout/flow";

type Seen = Subject & Pick<Picture, "view">;

export class Painter {
  private frame = 0;
  private readonly frames = new Frames(() => this.request());
  private patches: { canvas: HTMLCanvasElement; plan: Plan; key: string } | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly map: HTMLCanvasElement,
    private readonly subject: () => Seen | null,
  ) {}

  request(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frames.stop();
    this.frame = 0;
  }

  private paint(): void {
    const subject = this.subject();
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const context = this.canvas.getContext("2d");
    if (!subject || !context || !width || !height) return;
    const ratio = devicePixelRatio || 1;
    fitCanvas(this.canvas, width, height, ratio);
    const colours = readColours(this.canvas);
    this.frames.paint({ context, width, height, ratio, colours, ...subject });
    this.paintMap(subject, colours, ratio, width, height);
  }

  private paintMap(
    subject: Seen,
    colours: Colours,
    ratio: number,
    width: number,
    height: number,
  ): void {
    const size = { width: this.map.clientWidth, height: this.map.clientHeight };
    const context = this.map.getContext("2d");
    if (!context || !size.width) return;
    fitCanvas(this.map, size.width, size.height, ratio);
    const place = mapPlace(subject.plan, size.width, size.height);
    const patches = this.patchesOf(subject, colours, ratio, size);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.map.width, this.map.height);
    context.drawImage(patches, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawFrame(context, place, seen(subject.view, width, height), size, colours.sel);
  }

  /** The patches change with the scene and the theme only, not with every pan. */
  private patchesOf(subject: Seen, colours: Colours, ratio: number, size: Size): HTMLCanvasElement {
    const key = `${size.width} ${size.height} ${ratio} ${colours.bg} ${colours.control}`;
    if (this.patches?.plan === subject.plan && this.patches.key === key) return this.patches.canvas;
    const canvas = document.createElement("canvas");
    fitCanvas(canvas, size.width, size.height, ratio);
    const context = canvas.getContext("2d");
    if (context) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const place = mapPlace(subject.plan, size.width, size.height);
      drawPatches(context, subject.plan, place, colours, (box) => subject.caption(box).mark);
    }
    this.patches = { canvas, plan: subject.plan, key };
    return canvas;
  }
}

function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
}
