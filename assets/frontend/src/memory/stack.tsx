// The peak by call stack, as a flame graph: callers above what they call.

import { bytes, percent } from "../format";
import type { Store } from "../store";
import type { MemoryFrame } from "../wire";

const ROW = 23;
/** The least share of the width that can be seen. */
const LEAST = 0.004;
/** The share from which the name is written, and that from which the size is beside it. */
const NAMED = 0.05;
const WIDE = 0.3;

export function Stack({ store, frames }: { store: Store; frames: readonly MemoryFrame[] }) {
  const whole = Math.max(1, ...frames.map(({ start, bytes }) => start + bytes));
  const seen = frames.filter((frame) => frame.bytes >= LEAST * whole);
  const deepest = Math.max(0, ...seen.map(({ depth }) => depth));
  return (
    <div
      class="memory-stack"
      role="group"
      aria-label="The peak by call stack"
      style={{ height: `${(deepest + 1) * ROW}px` }}
    >
      {seen.map((frame) => (
        <Frame
          key={`${frame.depth} ${frame.start} ${frame.name}`}
          store={store}
          frame={frame}
          whole={whole}
        />
      ))}
    </div>
  );
}

interface FrameProps {
  store: Store;
  frame: MemoryFrame;
  whole: number;
}

function Frame({ store, frame: { id, kind, name, start, depth, ...frame }, whole }: FrameProps) {
  const share = frame.bytes / whole;
  const words = `${name}: ${bytes(frame.bytes)}, ${percent(share)} of the peak`;
  const look = { left: `${(start / whole) * 100}%`, width: `${share * 100}%` };
  const isSelected = id !== "" && id === store.selected.value;
  return (
    <button
      type="button"
      class={`bar-f ${kind} ${isSelected ? "sel" : ""}`}
      aria-label={words}
      data-tip={words}
      disabled={!id}
      style={{ ...look, top: `${depth * ROW}px` }}
      onClick={() => store.select(id)}
    >
      {share >= WIDE ? `${name} ${bytes(frame.bytes)}` : share >= NAMED && name}
    </button>
  );
}
