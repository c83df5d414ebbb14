// Where the selection is in a scene.

import type { Looks } from "./looks";
import { rectOf, type Plan } from "./plan";
import type { PlacedBox } from "./scene";
import { union, type Rect } from "./viewport";

/** What is selected with its box, else everything that belongs to the selection, as one rectangle. */
export function litRect(plan: Plan, looks: Looks): Rect | null {
  const selected = looks.selected === null ? undefined : plan.model.index.get(looks.selected);
  if (selected !== undefined) {
    const own = rectOf(plan, selected);
    const box = plan.scene.boxes[plan.scene.boxOf[selected]!];
    if (own) return union(box ? [own, frameOf(box)] : [own]);
  }
  const box = selectedBox(plan, looks.selected, null);
  if (box) return frameOf(box);
  const rects: Rect[] = [];
  looks.nodes.forEach((state, node) => {
    const rect = state ? rectOf(plan, node) : null;
    if (rect) rects.push(rect);
  });
  return union(rects);
}

/** The box of the selected node, or the selected box. */
export function selectedBox(
  plan: Plan,
  selected: string | null,
  node: number | null,
): PlacedBox | null {
  const { scene } = plan;
  if (node !== null) return scene.boxes[scene.boxOf[node]!] ?? null;
  return scene.boxes.find((box) => box.id !== null && box.id === selected) ?? null;
}

function frameOf({ x, y, width, height }: PlacedBox): Rect {
  return { x, y, width, height };
}
