// The flame chart: bars that are selected by pointer and arrow keys, and a window to zoom.

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { seconds } from "../format";
import type { Store } from "../store";
import { followDrag } from "../ui/dragging";
import { useWidth } from "../ui/size";
import { Button } from "../ui/basics";
import type { Phase } from "../wire";
import {
  type Bar,
  coloursOf,
  type Flame,
  flameOf,
  nextBar,
  sumsOf,
  ticksOf,
  wholeOf,
  type Window,
} from "./flame";

const ROW = 23;
const TEXT = 40;

interface Props {
  store: Store;
  phases: Phase[];
  zoom: Window | null;
  zoomTo(phase: Phase): void;
  /** What the chart is, for who does not see it. */
  label?: string;
  tipOf?(phase: Phase): string;
  /** By what a range that was dragged over is added up. */
  kindOf?(phase: Phase): string;
}

export function FlameChart({
  store,
  phases,
  zoom,
  zoomTo,
  label = "Flame chart of the phases. Arrow keys move, Enter zooms in.",
  tipOf = tellPhase,
  kindOf = ({ words }) => words,
}: Props) {
  const [range, setRange] = useState<Window | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const width = useWidth(box);
  const whole = useMemo(() => wholeOf(phases), [phases]);
  const colours = useMemo(() => coloursOf(phases), [phases]);
  const window = zoom ?? whole;
  const least = 1 / Math.max(1, width);
  const flame = useMemo(() => flameOf(phases, window, least), [phases, window, least]);
  const selected = store.selected.value;
  const current = flame.bars.find((bar) => bar.phase.id === selected);
  const drag = (event: PointerEvent) => {
    if (event.button !== 0 || !box.current) return;
    const { left } = box.current.getBoundingClientRect();
    const timeAt = (x: number) =>
      window.start + clamp((x - left) / Math.max(1, width)) * (window.end - window.start);
    const from = event.clientX;
    if (range) setRange(null);
    followDrag(box.current, event, CLICK, ({ clientX }) => {
      const [start, end] = [timeAt(Math.min(from, clientX)), timeAt(Math.max(from, clientX))];
      setRange({ start, end });
    });
  };
  return (
    <div class="flame-box">
      <div class="flame-scroll">
        <div
          ref={box}
          class="flame"
          role="listbox"
          aria-label={label}
          tabIndex={0}
          aria-activedescendant={current ? `${prefix}-${current.phase.id}` : undefined}
          style={{ height: `${flame.rows * ROW}px` }}
          onKeyDown={(event) => press(event, store, flame.bars, current, zoomTo)}
          onPointerDown={drag}
        >
          <Threads flame={flame} />
          {range && <Range range={range} window={window} />}
          {flame.bars.map((bar) => (
            <FlameBar
              key={bar.phase.id}
              id={`${prefix}-${bar.phase.id}`}
              bar={bar}
              width={width}
              isSelected={bar === current}
              colour={colours.get(bar.phase.words)!}
              tip={tipOf(bar.phase)}
              select={() => store.select(bar.phase.id)}
              zoom={() => zoomTo(bar.phase)}
            />
          ))}
        </div>
      </div>
      <Ticks window={window} from={whole.start} width={width} />
      {range && (
        <Sums
          sums={sumsOf(phases, range, kindOf)}
          span={range.end - range.start}
          threads={flame.threads.length}
          close={() => setRange(null)}
        />
      )}
    </div>
  );
}

/** Pixels from which a pointer that moves does not click. */
const CLICK = 5;
const MOST_KINDS = 6;

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

function Range({ range, window }: { range: Window; window: Window }) {
  const span = window.end - window.start;
  const left = clamp((range.start - window.start) / span);
  const right = clamp((range.end - window.start) / span);
  const look = { left: `${left * 100}%`, width: `${(right - left) * 100}%` };
  return <i class="flame-range" style={look} aria-hidden="true" />;
}

interface SumsProps {
  sums: [string, number][];
  span: number;
  threads: number;
  close(): void;
}

/** What a range that was dragged over is made of: with several in parallel more than its length. */
function Sums({ sums, span, threads, close }: SumsProps) {
  const shown = sums.slice(0, MOST_KINDS);
  const rest = sums.slice(MOST_KINDS).reduce((sum, [, each]) => sum + each, 0);
  const words = shown.map(([kind, sum]) => `${kind} ${seconds(sum)}`);
  if (rest > 0) words.push(`other ${seconds(rest)}`);
  return (
    <div class="flame-sums" role="status">
      <b>{seconds(span)}</b>
      {threads > 1 && <span class="mut">{`${threads} in parallel`}</span>}
      <span class="cut grow" data-tip="">
        {words.join(" · ") || "nothing runs"}
      </span>
      <Button look="quiet" icon="cross" label="Close the range" press={close} />
    </div>
  );
}

/** Arrows move between bars, Enter zooms in. */
function press(
  event: KeyboardEvent,
  store: Store,
  bars: readonly Bar[],
  current: Bar | undefined,
  zoomTo: (phase: Phase) => void,
): void {
  if (event.altKey) return;
  if (event.key === "Enter" && current) zoomTo(current.phase);
  else if (event.key.startsWith("Arrow")) {
    const next = current ? nextBar(bars, current, event.key) : bars[0];
    if (next) store.select(next.phase.id);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function Threads({ flame }: { flame: Flame }) {
  if (flame.threads.length < 2) return null;
  return (
    <>
      {flame.threads.map(({ name, row }) => (
        <div key={name} class="thread" role="presentation" style={{ top: `${(row - 1) * ROW}px` }}>
          {name}
        </div>
      ))}
    </>
  );
}

function Ticks({ window, from, width }: { window: Window; from: number; width: number }) {
  const span = window.end - window.start;
  return (
    <div class="ticks" aria-hidden="true">
      {ticksOf(span, Math.max(2, width / 110)).map((at) => (
        <span key={at} style={{ left: `${(at / span) * 100}%` }}>
          {tickText(at + window.start - from)}
        </span>
      ))}
    </div>
  );
}

/** Ticks are round: 1 s, not 1.00 s. */
function tickText(at: number): string {
  return at < 1e-9
    ? "0 s"
    : seconds(at).replace(/\.(\d*?)0+ /, (_, kept) => (kept ? `.${kept} ` : " "));
}

function tellPhase({ words, name, duration_s, self_s }: Phase): string {
  return `${words} (${name}): ${seconds(duration_s)}, ${seconds(self_s)} self`;
}

interface BarProps {
  id: string;
  bar: Bar;
  width: number;
  isSelected: boolean;
  colour: number;
  tip: string;
  select(): void;
  zoom(): void;
}

function FlameBar({ id, bar, width, isSelected, colour, tip, select, zoom }: BarProps) {
  const { phase } = bar;
  const hasText = bar.width * width >= TEXT;
  return (
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      aria-label={`${phase.words}, ${seconds(phase.duration_s)}`}
      class={isSelected ? "bar-f sel" : "bar-f"}
      data-tip={tip}
      style={{
        left: `${bar.left * 100}%`,
        width: `${bar.width * 100}%`,
        top: `${bar.row * ROW}px`,
        "--c": phase.name === "wait" ? "var(--break)" : `var(--g${colour})`,
      }}
      onClick={select}
      onDblClick={zoom}
    >
      {hasText && (
        <>
          {phase.words} <span class="mut">{seconds(phase.duration_s)}</span>
        </>
      )}
    </div>
  );
}
