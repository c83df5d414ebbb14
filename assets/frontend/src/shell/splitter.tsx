// The bar between the pane and the inspector: dragged, or moved with the arrow keys.

interface Props {
  width: number;
  set(width: number): void;
}

const LEAST = 200;
const MOST = 460;
const STEP = 16;

function within(width: number): number {
  return Math.min(MOST, Math.max(LEAST, width));
}

export function Splitter({ width, set }: Props) {
  const drag = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement;
    const start = event.clientX;
    bar.setPointerCapture(event.pointerId);
    const move = (at: PointerEvent) => set(within(width + start - at.clientX));
    const stop = () => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", stop);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", stop);
  };
  const key = (event: KeyboardEvent) => {
    if (event.altKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    set(within(width + (event.key === "ArrowLeft" ? STEP : -STEP)));
  };
  return (
    <div
      class="split"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label="Width of the inspector"
      aria-valuenow={width}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      onPointerDown={drag}
      onKeyDown={key}
    />
  );
}
