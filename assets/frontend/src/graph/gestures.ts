// Pointer, fingers and wheel: dragging moves, pinching zooms, the map jumps.

import { follow } from "../ui/dragging";
import type { Camera } from "./camera";
import { centred, mapPlace } from "./drawing/minimap";
import type { Plan } from "./layout/plan";
import { type Size } from "./layout/flow";

const WHEEL = 0.0015;
const LINE = 16; // px of a wheel that counts in lines
const CLICK = 3; // px that a pointer may tremble in a click

/** Drags the graph; a press without a drag is a click. */
export function drag(event: PointerEvent, camera: Camera, click: (at: PointerEvent) => void): void {
  const element = event.currentTarget as HTMLElement;
  const start = camera.view;
  let hasMoved = false;
  const move = (at: PointerEvent) => {
    const [dx, dy] = [at.clientX - event.clientX, at.clientY - event.clientY];
    hasMoved ||= Math.abs(dx) + Math.abs(dy) > CLICK;
    if (hasMoved) camera.pan(dx, dy, start);
  };
  follow(element, event.pointerId, move, (at) => {
    if (!hasMoved && at.type === "pointerup") click(at);
  });
}

/** Zooms with Ctrl or ⌘, and where the graph has the focus; else the notebook scrolls. */
export function wheel(event: WheelEvent, camera: Camera): void {
  const element = event.currentTarget as HTMLElement;
  if (!event.ctrlKey && !event.metaKey && !element.matches(":focus")) return;
  event.preventDefault();
  const box = element.getBoundingClientRect();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
  const at = { x: event.clientX - box.left, y: event.clientY - box.top };
  if (event.shiftKey) camera.pan(-(event.deltaX || event.deltaY) * unit, 0);
  else camera.zoom(Math.exp(-event.deltaY * unit * WHEEL), at);
}

/** Zooms and moves with two fingers, which end a drag, until the signal. */
export function pinch(element: HTMLElement, camera: Camera, signal: AbortSignal): void {
  const fingers = new Map<number, Point>();
  const down = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size < 2) return;
    for (const pointerId of fingers.keys())
      element.dispatchEvent(new PointerEvent("pointercancel", { pointerId, pointerType: "pen" }));
  };
  const move = (event: PointerEvent) => {
    if (!fingers.has(event.pointerId)) return;
    const before = spread(fingers);
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const after = spread(fingers);
    if (fingers.size !== 2 || !before.length) return;
    const { left, top } = element.getBoundingClientRect();
    camera.zoom(after.length / before.length, { x: before.x - left, y: before.y - top });
    camera.pan(after.x - before.x, after.y - before.y);
  };
  const up = (event: PointerEvent) =>
    event.pointerType === "touch" && fingers.delete(event.pointerId);
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
}

interface Point {
  x: number;
  y: number;
}

/** The middle of the fingers, and how far the first two are apart. */
function spread(fingers: ReadonlyMap<number, Point>): Point & { length: number } {
  const [a, b = a] = [...fingers.values()] as [Point, Point?];
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, length: Math.hypot(a.x - b.x, a.y - b.y) };
}

/** Looks where the pointer is on the overview map, as long as it is pressed. */
export function jump(event: PointerEvent, camera: Camera, plan: Plan, screen: () => Size): void {
  const element = event.currentTarget as HTMLElement;
  const move = (at: PointerEvent) => {
    const box = element.getBoundingClientRect();
    const point = { x: at.clientX - box.left, y: at.clientY - box.top };
    camera.look(centred(mapPlace(plan, box.width, box.height), camera.view, point, screen()));
  };
  follow(element, event.pointerId, move);
  move(event);
}
