// Pointer and wheel: dragging moves, the wheel zooms, the map jumps.

import type { Camera } from "./camera";
import { centred, mapPlace } from "./minimap";
import type { Plan } from "./plan";

const WHEEL = 0.0015;
const LINE = 16; // px of a wheel that counts in lines
const CLICK = 3; // px that a pointer may tremble in a click

/** Follows a pressed pointer until it is let go. */
export function follow(
  element: HTMLElement,
  pointer: number,
  move: (event: PointerEvent) => void,
  stop: (event: PointerEvent) => void = () => {},
): void {
  element.setPointerCapture(pointer);
  const end = (event: PointerEvent) => {
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", end);
    element.removeEventListener("pointercancel", end);
    stop(event);
  };
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}

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

export function wheel(event: WheelEvent, camera: Camera): void {
  event.preventDefault();
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
  const at = { x: event.clientX - box.left, y: event.clientY - box.top };
  if (event.shiftKey) camera.pan(-(event.deltaX || event.deltaY) * unit, 0);
  else camera.zoom(Math.exp(-event.deltaY * unit * WHEEL), at);
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

interface Size {
  width: number;
  height: number;
}
