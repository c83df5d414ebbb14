// What is drawn on the canvas: a scene, how it is lit, what stands on it, where the reader looks.

import type { Colours } from "./colours";
import type { Looks } from "./looks";
import type { Plan } from "./plan";
import type { PlacedBox } from "./scene";
import type { View } from "./viewport";

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
