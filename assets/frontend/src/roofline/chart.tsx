// The roofline of one GPU: a point for each kernel, its area the share of the time.

import { useContext, useId, useMemo, useRef } from "preact/hooks";
import { amount, microseconds, percent, tflops, written } from "../format";
import type { Store } from "../store";
import { RoomContext, useWidth } from "../ui/size";
import type { Roof } from "../wire";
import {
  along,
  alongLines,
  type Axes,
  axesOf,
  isOnRoof,
  standing,
  type Label,
  labelOf,
  type Line,
  linesOf,
  named,
  type NamedLine,
  namesOf,
  nextPlace,
  type Placed,
  placesOf,
  type Point,
  ticks,
  unitOf,
} from "./geometry";

const HEIGHTS = { narrow: 140, normal: 250, wide: 320 };

interface Props {
  store: Store;
  roof: Roof;
  points: readonly Point[];
}

export function RooflineChart({ store, roof, points }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const width = useWidth(box);
  const height = HEIGHTS[useContext(RoomContext)];
  const axes = useMemo(() => axesOf(roof, points), [roof, points]);
  const lines = useMemo(() => linesOf(roof, axes), [roof, axes]);
  const placed = useMemo(() => placesOf(points, axes), [points, axes]);
  const names = useMemo(
    () => namesOf(lines, wordsOf, width, height, placed),
    [lines, placed, width, height],
  );
  const labels = useMemo(() => {
    const taken = names.map(({ box }) => box);
    return named(placed, width, height, taken, alongLines(lines, width, height));
  }, [placed, names, lines, width, height]);
  const selected = store.selected.value;
  const current = placed.find(({ point }) => point.kernel === selected);
  return (
    <div class="roof-box">
      <span class="roof-unit mut">{unitOf(axes)[0]}</span>
      <div
        ref={box}
        class="roof"
        role="listbox"
        aria-label={`Roofline of ${roof.target}: a point for each kernel. Arrow keys move, Enter opens the code.`}
        tabIndex={0}
        aria-activedescendant={current ? `${prefix}-${current.point.kernel}` : undefined}
        style={{ height: `${height}px` }}
        onKeyDown={(event) => press(event, store, placed, current)}
      >
        <Grid axes={axes} lines={lines} />
        {names.map((name) => (
          <LineName key={name.line.name} name={name} />
        ))}
        {[...placed]
          .sort((a, b) => b.radius - a.radius)
          .map((place) => (
            <Dot
              key={place.point.kernel}
              store={store}
              id={`${prefix}-${place.point.kernel}`}
              place={place}
              label={labels.get(place.point.kernel)}
            />
          ))}
      </div>
      <Ticks axes={axes} height={height} />
      <span class="roof-unit mut end">FLOP per byte of DRAM</span>
    </div>
  );
}

/** Decades and roofs; the names stand beside them as text. */
function Grid({ axes, lines }: { axes: Axes; lines: readonly Line[] }) {
  return (
    <svg class="roof-lines" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
      {ticks(axes.x).map((value) => {
        const x = along(axes.x, value);
        return <line key={`x${value}`} class="decade" x1={x} x2={x} y1={0} y2={1} />;
      })}
      {ticks(axes.y).map((value) => {
        const y = 1 - along(axes.y, value);
        return <line key={`y${value}`} class="decade" x1={0} x2={1} y1={y} y2={y} />;
      })}
      {lines.map(({ name, x1, y1, x2, y2 }) => (
        <line key={name} class="roof-line" x1={x1} x2={x2} y1={1 - y1} y2={1 - y2} />
      ))}
    </svg>
  );
}

function wordsOf(line: Line): string {
  return line.name === "memory"
    ? `DRAM ${written(line.value * 1e9, "bytes_per_second")}`
    : `${line.name.replace(".", " ")} ${tflops(line.value)}`;
}

function LineName({ name: { words, box } }: { name: NamedLine }) {
  const place = { left: `${box.left}px`, bottom: `${box.bottom}px` };
  return (
    <span class="roof-name" style={place} aria-hidden="true">
      {words}
    </span>
  );
}

function Ticks({ axes, height }: { axes: Axes; height: number }) {
  return (
    <>
      <div class="ticks" aria-hidden="true">
        {ticks(axes.x).map((value) => (
          <span key={value} style={{ left: `${along(axes.x, value) * 100}%` }}>
            {amount(value)}
          </span>
        ))}
      </div>
      <div class="roof-y" style={{ height: `${height}px` }} aria-hidden="true">
        {ticks(axes.y).map((value) => (
          <span key={value} style={{ bottom: `${along(axes.y, value) * 100}%` }}>
            {amount(value / unitOf(axes)[1])}
          </span>
        ))}
      </div>
    </>
  );
}

interface DotProps {
  store: Store;
  id: string;
  place: Placed;
  /** Its name, where that has room; one that has none shows with the selection alone. */
  label: Label | undefined;
}

function Dot({ store, id, place, label }: DotProps) {
  const { point, x, y, radius } = place;
  const kernel = point.kernel;
  const isSelected = store.selected.value === kernel;
  const isRelated = store.related.value.has(kernel) || store.hoveredRelated.value.has(kernel);
  const mark = store.kernel(kernel)?.mark ?? "ext";
  const hover = (is: boolean) => (store.hovered.value = is ? kernel : null);
  const look = [
    "dot",
    point.measured_us === null && "guess",
    isSelected ? "sel" : isRelated && "rel",
    isOnRoof(point) && "on-roof",
    label?.side,
  ];
  return (
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      aria-label={`${kernel}, ${saying(point)}`}
      data-tip={`${point.alike?.join(", ") ?? kernel} ${store.kernel(kernel)?.label ?? ""}: ${saying(point)}`}
      class={look.filter(Boolean).join(" ")}
      style={{
        left: `${x * 100}%`,
        bottom: `${y * 100}%`,
        width: `${2 * radius}px`,
        height: `${2 * radius}px`,
        "--c": mark.startsWith("g") ? `var(--${mark})` : "var(--control)",
      }}
      onClick={() => store.select(kernel)}
      onDblClick={() => store.select(kernel, { pane: "kernels" })}
      onMouseEnter={() => hover(true)}
      onMouseLeave={() => hover(false)}
    >
      {(label || isSelected || isRelated) && <b>{label?.words ?? labelOf(point)}</b>}
    </div>
  );
}

/** A point in words: time, what bounds it, its share. */
function saying(point: Point): string {
  const least = `at least ${microseconds(point.bound_us)} (estimate)`;
  const time =
    point.measured_us === null ? least : `${microseconds(point.measured_us)} measured, ${least}`;
  const bound = point.bound ? `, bound by ${point.bound}` : "";
  const roof = standing(point) && `, ${standing(point)}`;
  return `${time}${bound}${roof}, ${percent(point.share)} of the time`;
}

/** Arrows walk the points, Enter opens the code. */
function press(
  event: KeyboardEvent,
  store: Store,
  placed: readonly Placed[],
  current: Placed | undefined,
): void {
  if (event.altKey) return;
  if (event.key === "Enter" && current) store.show("kernels");
  else if (event.key.startsWith("Arrow")) {
    const next = current ? nextPlace(placed, current, event.key) : placed[0];
    if (next) store.select(next.point.kernel);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
