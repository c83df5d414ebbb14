// The whole graph as it is grouped and lit, as a file: PNG, or SVG by as much of a context as it uses.

import { saveFile } from "../../ui/savefile";
import { draw } from "./draw";
import { readColours, type Subject } from "./picture";

export type FileKind = "svg" | "png";

const MARGIN = 12;
const LARGEST = 8192; // pixels along a side that every browser draws

/** Saves what is drawn on a canvas, but all of it, in the colours of the theme. */
export function saveGraph(kind: FileKind, subject: Subject, canvas: HTMLCanvasElement): void {
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

type Point = number;

const ANCHOR: Record<string, string> = { left: "start", center: "middle" };
const BASELINE: Record<string, string> = { middle: "central", bottom: "text-after-edge" };

class SvgContext {
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  globalAlpha = 1;
  font = "";
  lineJoin = "";
  textAlign = "left";
  textBaseline = "middle";
  private path = "";
  private last: [Point, Point] = [0, 0];
  private dash = "";
  private readonly parts: string[] = [];

  setTransform(): void {}
  clearRect(): void {}
  beginPath(): void {
    this.path = "";
  }
  moveTo(x: Point, y: Point): void {
    this.go(`M${xy(x, y)}`, x, y);
  }
  lineTo(x: Point, y: Point): void {
    this.go(`L${xy(x, y)}`, x, y);
  }
  bezierCurveTo(a: Point, b: Point, c: Point, d: Point, x: Point, y: Point): void {
    this.go(`C${xy(a, b)} ${xy(c, d)} ${xy(x, y)}`, x, y);
  }
  arcTo(a: Point, b: Point, c: Point, d: Point, r: number): void {
    const near = (x: Point, y: Point): [Point, Point] => {
      const part = r / (Math.hypot(x - a, y - b) || 1);
      return [a + (x - a) * part, b + (y - b) * part];
    };
    const end = near(c, d);
    this.go(`L${xy(...near(...this.last))}Q${xy(a, b)} ${xy(...end)}`, ...end);
  }
  rect(x: Point, y: Point, width: number, height: number): void {
    this.path += `M${xy(x, y)}h${n(width)}v${n(height)}h${n(-width)}z`;
  }
  roundRect(x: Point, y: Point, width: number, height: number, r: number): void {
    const arc = (dx: number, dy: number) => `a${r} ${r} 0 0 1 ${n(dx)} ${n(dy)}`;
    const [w, h] = [width - 2 * r, height - 2 * r];
    this.path += `M${xy(x + r, y)}h${n(w)}${arc(r, r)}v${n(h)}${arc(-r, r)}h${n(-w)}${arc(-r, -r)}v${n(-h)}${arc(r, -r)}z`;
  }
  setLineDash(dash: number[]): void {
    this.dash = dash.join(" ");
  }
  fill(): void {
    this.add(`path d="${this.path}" fill="${this.fillStyle}"`);
  }
  stroke(): void {
    this.add(`path d="${this.path}" fill="none" ${this.pen()}`);
  }
  fillText(text: string, x: Point, y: Point): void {
    this.write(text, x, y, `fill="${this.fillStyle}"`);
  }
  strokeText(text: string, x: Point, y: Point): void {
    this.write(text, x, y, `fill="none" ${this.pen()}`);
  }

  /** The whole as a file. */
  file(width: number, height: number, margin: number, ground: string): string {
    const size = `width="${n(width)}" height="${n(height)}"`;
    const box = `viewBox="0 0 ${n(width)} ${n(height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box}><rect ${size} fill="${ground}"/><g transform="translate(${margin} ${margin})">${this.parts.join("")}</g></svg>`;
  }

  private go(step: string, x: Point, y: Point): void {
    this.path += step;
    this.last = [x, y];
  }
  private pen(): string {
    const dash = this.dash && ` stroke-dasharray="${this.dash}"`;
    return `stroke="${this.strokeStyle}" stroke-width="${n(this.lineWidth)}"${dash}`;
  }
  private write(text: string, x: Point, y: Point, how: string): void {
    const place = `x="${n(x)}" y="${n(y)}" text-anchor="${ANCHOR[this.textAlign]}"`;
    const base = `dominant-baseline="${BASELINE[this.textBaseline]}"`;
    this.add(`text ${place} ${base} ${how} style="font:${escaped(this.font)}"`, escaped(text));
  }
  private add(head: string, text?: string): void {
    const alpha = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
    this.parts.push(`<${head}${alpha}${text === undefined ? "/>" : `>${text}</text>`}`);
  }
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function xy(x: number, y: number): string {
  return `${n(x)} ${n(y)}`;
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (sign) => names[sign]!);
}
