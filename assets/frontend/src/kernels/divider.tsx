// The border between two columns: dragged, or moved with the arrow keys.

interface Props {
  label: string;
  /** The share of the left column of both, in percent. */
  value: number;
  /** Moves the border by a part of the width of all columns. */
  move(by: number): void;
}

const STEP = 0.02;

export function Divider({ label, value, move }: Props) {
  const drag = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement;
    const width = bar.parentElement?.clientWidth || 1;
    let last = event.clientX;
    bar.setPointerCapture(event.pointerId);
    const follow = (at: PointerEvent) => {
      move((at.clientX - last) / width);
      last = at.clientX;
    };
    const stop = () => {
      bar.removeEventListener("pointermove", follow);
      bar.removeEventListener("pointerup", stop);
      bar.removeEventListener("pointercancel", stop);
    };
    bar.addEventListener("pointermove", follow);
    bar.addEventListener("pointerup", stop);
    bar.addEventListener("pointercancel", stop);
  };
  const key = (event: KeyboardEvent) => {
    if (event.altKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    event.stopPropagation();
    move(event.key === "ArrowLeft" ? -STEP : STEP);
  };
  return (
    <div
      class="split"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(value)}
      aria-valuemin={0}
      aria-valuemax={100}
      onPointerDown={drag}
      onKeyDown={key}
    />
  );
}
