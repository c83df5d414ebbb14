// Live bytes over the steps, stacked by kind, with the peak, the selection and the GPU's capacity.

import { useContext, useMemo } from "preact/hooks";
import { bytes } from "../format";
import type { Store } from "../store";
import { usePaneState } from "../ui/kept";
import { RoomContext } from "../ui/size";
import type { MemoryPart } from "../wire";
import { endOf, HIGH, outline, storageOf } from "./part";

const HEIGHTS = { narrow: 110, normal: 160, wide: 220 };
/** A capacity that is this much higher would leave nothing to be seen below it. */
const FAR = 3;
const PAGE = 10;

interface Props {
  store: Store;
  part: MemoryPart;
  /** Whether weights, constants and inputs are left out. */
  isBare: boolean;
}

export function MemoryChart({ store, part, isBare }: Props) {
  const count = part.kernels.length;
  const peak = part.peaks.at(-1)!;
  const [own, setStep] = usePaneState(store, `step ${store.doc.value?.target}`, peak[2]);
  const chosen = storageOf(part, store.selected.value ?? "");
  const lit = litSteps(store, part);
  // what was selected elsewhere leads here, to the first of its steps
  const step = lit.size && !lit.has(own) ? [...lit][0]! : Math.min(own, count - 1);
  const go = (to: number) => {
    const next = Math.max(0, Math.min(count - 1, to));
    setStep(next);
    const kernel = part.kernels[next] ?? null;
    if (kernel !== store.selected.peek()) store.select(kernel);
  };
  const { layers, top, live } = useMemo(() => stackOf(part, isBare), [part, isBare]);
  const height = HEIGHTS[useContext(RoomContext)];
  const x = (at: number) => `${((100 * at) / count).toFixed(3)}%`;
  const words = `Step ${step}: ${bytes(live[step]!)} live, ${part.kernels[step] ?? ""} ${part.names[step]}`;
  return (
    <div class="memory-chart">
      <div
        class="memory-plot"
        role="slider"
        tabIndex={0}
        aria-label="Live bytes by step"
        aria-valuemin={0}
        aria-valuemax={count - 1}
        aria-valuenow={step}
        aria-valuetext={words}
        style={{ height: `${height}px` }}
        onKeyDown={(event) => press(event, step, count, peak[2], go)}
        onClick={({ currentTarget, clientX }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          go(Math.floor(((clientX - left) / width) * count));
        }}
      >
        <svg viewBox={`0 0 ${count} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">
          {layers.map(({ kind, mark, path }) => (
            <path key={kind} class={mark === "ext" ? "held" : ""} style={fill(mark)} d={path} />
          ))}
        </svg>
        {part.backward !== null && (
          <Mark
            at={x(part.backward)}
            look="pass"
            words={part.backward > count / 2 ? "← forward" : "backward →"}
          />
        )}
        {[...lit].map((at) => (
          <i key={at} class="lit" style={{ left: x(at), width: x(1) }} />
        ))}
        {chosen && (
          <i
            class="lit life"
            style={{ left: x(chosen.start), width: x(endOf(part, chosen) + 1 - chosen.start) }}
          />
        )}
        <i class="at" style={{ left: x(step + 0.5) }} />
        <i class="level" style={{ bottom: `${(100 * live[peak[2]]!) / top}%` }}>
          <b>{`peak ${bytes(live[peak[2]]!)}${isBare ? " above weights and inputs" : ""}`}</b>
        </i>
        {!isBare && part.eager && part.eager[0] <= top && (
          <i class="level eager" style={{ bottom: `${(100 * part.eager[0]) / top}%` }}>
            <b>{`eager ${bytes(part.eager[0])}`}</b>
          </i>
        )}
        {!isBare && part.capacity !== null && part.capacity <= top && (
          <i class="level full" style={{ bottom: `${(100 * part.capacity) / top}%` }}>
            <b>{`capacity ${bytes(part.capacity)}`}</b>
          </i>
        )}
      </div>
      <p class="cut" data-tip="">
        {words}
      </p>
    </div>
  );
}

function Mark({ at, look, words }: { at: string; look: string; words: string }) {
  return (
    <i class={look} style={{ left: at }}>
      <b>{words}</b>
    </i>
  );
}

/** The colour of a kind; what the caller holds is grey. */
export function fill(mark: string) {
  return { "--c": mark === "ext" ? "var(--control)" : `var(--${mark})` };
}

/** The steps of the kernels that are selected or belong to what is. */
function litSteps(store: Store, part: MemoryPart): Set<number> {
  const { selected, related } = store;
  const id = selected.value;
  if (id === null) return new Set();
  const own = part.kernels.flatMap((kernel, step) => (kernel === id ? [step] : []));
  if (own.length) return new Set(own);
  return new Set(
    part.kernels.flatMap((kernel, step) => (kernel && related.value.has(kernel) ? [step] : [])),
  );
}

function stackOf(part: MemoryPart, isBare: boolean) {
  const shown = part.layers.filter(({ mark }) => !isBare || mark !== "ext");
  const live = part.kernels.map((_, step) =>
    shown.reduce((sum, layer) => sum + layer.bytes[step]!, 0),
  );
  const { capacity, eager } = part;
  const most = Math.max(1, (!isBare && eager?.[0]) || 0, ...live) * 1.2;
  const top = !isBare && capacity && capacity < most * FAR ? Math.max(most, capacity * 1.2) : most;
  const below = live.map(() => 0);
  const layers = shown.map((layer) => ({ ...layer, path: outline(layer.bytes, below, top) }));
  return { layers, top, live };
}

/** Arrows walk the steps, p goes to the peak. */
function press(
  event: KeyboardEvent,
  step: number,
  count: number,
  peak: number,
  go: (to: number) => void,
): void {
  const to: Record<string, number> = {
    ArrowRight: step + 1,
    ArrowLeft: step - 1,
    PageUp: step + PAGE,
    PageDown: step - PAGE,
    Home: 0,
    End: count - 1,
    p: peak,
  };
  const next = to[event.key];
  if (next === undefined || event.altKey) return;
  go(next);
  event.preventDefault();
  event.stopPropagation();
}
