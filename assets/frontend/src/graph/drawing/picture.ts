// What is drawn on the canvas: a scene, how it is lit, in which colours, where the reader looks.

import type { Plan } from "../layout/plan";
import type { PlacedBox } from "../layout/scene";
import type { View } from "../layout/viewport";
import type { Looks } from "./looks";
import { type Size } from "../layout/flow";

export interface Picture extends Subject, Size {
  context: CanvasRenderingContext2D;
  ratio: number;
  colours: Colours;
  view: View;
}

/** What of it does not change with the place that it is drawn in. */
export interface Subject {
  plan: Plan;
  looks: Looks;
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

export type Colours = Record<keyof typeof NAMES, string> & { palette: string[] };

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
