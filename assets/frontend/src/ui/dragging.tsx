// What is dragged: a pointer that is followed until it is let go, and borders between columns.

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

/**
 * Follows a pressed pointer from where it has moved by `least` pixels. Until then it is not
 * captured: whoever captures a pointer gets its click, and what was pressed does not.
 */
export function followDrag(
  element: HTMLElement,
  { pointerId, clientX: from }: PointerEvent,
  least: number,
  move: (event: PointerEvent) => void,
): void {
  const begin = (event: PointerEvent) => {
    if (!event.buttons) return end(); // it was let go where nobody heard of it
    if (Math.abs(event.clientX - from) < least) return;
    end();
    follow(element, pointerId, move);
    move(event);
  };
  const end = () => {
    element.removeEventListener("pointermove", begin);
    for (const name of ENDS) window.removeEventListener(name, end);
  };
  element.addEventListener("pointermove", begin);
  for (const name of ENDS) window.addEventListener(name, end);
}

const ENDS = ["pointerup", "pointercancel"] as const;

interface Props {
  label: string;
  value: number;
  least: number;
  most: number;
  /** Moves the border by some pixels from where it is drawn; `room` is the width of what it is in. */
  move(by: number, room: number): void;
}

const STEP = 16;

/** A border between two columns: dragged, or moved with the arrow keys. */
export function Border({ label, value, least, most, move }: Props) {
  const roomOf = (bar: HTMLElement) => bar.parentElement?.clientWidth || 1;
  const drag = ({ currentTarget: bar, clientX: start, pointerId }: BarEvent<PointerEvent>) => {
    const room = roomOf(bar);
    follow(bar, pointerId, (at) => move(at.clientX - start, room));
  };
  const key = (event: BarEvent<KeyboardEvent>) => {
    if (event.altKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    event.stopPropagation();
    move(event.key === "ArrowLeft" ? -STEP : STEP, roomOf(event.currentTarget));
  };
  return (
    <div
      class="split"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(value)}
      aria-valuemin={least}
      aria-valuemax={most}
      onPointerDown={drag}
      onKeyDown={key}
    />
  );
}

type BarEvent<T> = T & { currentTarget: HTMLElement };
