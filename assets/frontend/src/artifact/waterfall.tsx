// The phases of one way, one below the other, each where it begins.

import { useId } from "preact/hooks";
import { seconds } from "../format";
import type { Store } from "../store";
import type { TripWay } from "../wire";
import { waterfallOf, type Bar } from "./trip";

interface Props {
  store: Store;
  way: TripWay;
  isWhole: boolean;
}

export function WaterfallChart({ store, way, isWhole }: Props) {
  const prefix = useId();
  const { bars } = waterfallOf(way, isWhole);
  const selected = store.selected.value;
  const current = bars.findIndex((bar) => bar.phase.id === selected);
  return (
    <div
      class="fall"
      role="listbox"
      aria-label={`Phases of ${way.title}. Arrow keys move.`}
      tabIndex={0}
      aria-activedescendant={current < 0 ? undefined : `${prefix}-${current}`}
      onKeyDown={(event) => press(event, store, bars, current)}
    >
      {bars.map((bar, at) => (
        <div
          key={bar.phase.id}
          id={`${prefix}-${at}`}
          role="option"
          aria-selected={at === current}
          class={at === current ? "fall-row sel" : "fall-row"}
          onClick={() => store.select(bar.phase.id)}
        >
          <span class="cut">{bar.phase.title} </span>
          <span class="num">{seconds(bar.phase.duration_s)}</span>
          <span class="fall-track">
            <i
              style={{
                left: `${bar.left * 100}%`,
                width: `max(2px, ${bar.width * 100}%)`,
              }}
            />
          </span>
        </div>
      ))}
    </div>
  );
}

function press(event: KeyboardEvent, store: Store, bars: readonly Bar[], current: number): void {
  const places: Record<string, number> = {
    ArrowDown: Math.min(bars.length - 1, current + 1),
    ArrowUp: Math.max(0, current - 1),
    Home: 0,
    End: bars.length - 1,
  };
  const bar = event.altKey ? undefined : bars[places[event.key] ?? -1];
  if (!bar) return;
  event.preventDefault();
  event.stopPropagation();
  store.select(bar.phase.id);
}
