// The keys of the canvas.

import type { Store } from "../store";
import type { Camera } from "./camera";
import { litRect, selectedBox } from "./lit";
import type { Looks } from "./looks";
import { rectOf, type Plan } from "./plan";
import type { PlacedBox } from "./scene";
import { step, type Direction } from "./walk";

export interface Hands {
  store: Store;
  camera: Camera;
  plan: Plan;
  looks: Looks;
  toggle(box: PlacedBox): void;
}

const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const PAN = 60;
const SHIFTS: Record<Direction, [number, number]> = {
  up: [0, PAN],
  down: [0, -PAN],
  left: [PAN, 0],
  right: [-PAN, 0],
};

/** Answers a key; the rest is left to the view and the notebook. */
export function press(event: KeyboardEvent, hands: Hands): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const { camera, plan, store } = hands;
  const direction = ARROWS[event.key];
  if (direction && event.shiftKey) camera.pan(...SHIFTS[direction]);
  else if (direction) walk(direction, hands);
  else if (event.key === "PageUp") camera.zoom(1.25);
  else if (event.key === "PageDown") camera.zoom(0.8);
  else if (event.key === "Home") camera.fitAll(plan.scene);
  else if (event.key === "End") fitSelection(hands);
  else if (event.key === " ") fold(hands);
  else if (event.key === "Enter") store.openCode();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

export function fitSelection({
  camera,
  plan,
  looks,
}: Pick<Hands, "camera" | "plan" | "looks">): void {
  const rect = litRect(plan, looks);
  if (rect) camera.fit(rect, 1.1);
}

function nodeOf({ store, plan }: Hands): number | null {
  return plan.model.index.get(store.selected.peek() ?? "") ?? null;
}

function walk(direction: Direction, hands: Hands): void {
  const { camera, plan, store } = hands;
  const next = step(plan, nodeOf(hands), direction);
  if (next === null) return;
  store.select(plan.model.ids[next]!);
  const rect = rectOf(plan, next);
  if (rect) camera.reveal(rect);
}

function fold(hands: Hands): void {
  const box = selectedBox(hands.plan, hands.store.selected.peek(), nodeOf(hands));
  if (box && !box.isBare) hands.toggle(box);
}
