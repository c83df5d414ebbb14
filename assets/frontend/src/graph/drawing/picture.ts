// What is drawn on the canvas: a scene, how it is lit, in which colours, where the reader looks.

import type { Looks } from "./looks";
import type { Plan } from "../layout/plan";
import type { PlacedBox } from "../layout/scene";
import type { View } from "../layout/viewport";

export interface Picture {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  ratio: number;
  colours: Colours;
  plan: Plan;
  looks: Looks;
  view: View;
  /** Mark, name, facts and heat of a box. */
  caption(box: PlacedBox): Caption;
  /** The mark of a node's kernel. */
  markOf(node: number): string | undefined;
}

export interface Caption {
  mark: string | undefined;
  title: string;
  note: string;
  /** The second line: what it costs, the shape that it hands on. */
  facts: string;
  /** Its cost as a part of the largest, from 0 to 1. */
  heat: number;
}

export interface Colours {
  bg: string;
  fg: string;
  fg2: string;
  control: string;
  sel: string;
  selBg: string;
  relBg: string;
  fallback: string;
  heat: string;
  added: string;
  addedBg: string;
  removed: string;
  removedBg: string;
  replaced: string;
  replacedBg: string;
  palette: string[];
  mono: string;
  ui: string;
}

const NAMES = {
  bg: "--bg",
  fg: "--fg",
  fg2: "--fg-2",
  control: "--control",
  sel: "--sel",
  selBg: "--sel-bg",
  relBg: "--rel-bg",
  fallback: "--fallback",
  heat: "--heat",
  added: "--captured",
  addedBg: "--captured-bg",
  removed: "--break",
  removedBg: "--break-bg",
  replaced: "--folded",
  replacedBg: "--folded-bg",
  mono: "--mono",
  ui: "--ui",
} as const;

const PALETTE = 8;

export function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const named = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, read(name)]));
  const palette = Array.from({ length: PALETTE }, (_, at) => read(`--g${at}`));
  return { ...(named as Omit<Colours, "palette">), palette };
}

/** The colour of a kernel's mark: `g0` to `g7`, a library call or a fallback. */
export function markColour(colours: Colours, mark: string | undefined): string {
  if (mark === "fb") return colours.fallback;
  const index = mark && /^g\d$/.test(mark) ? Number(mark.slice(1)) : -1;
  return colours.palette[index] ?? colours.control;
}
