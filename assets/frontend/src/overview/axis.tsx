// Savings on one axis with "no change" as a line, and the runs of a change that was tried.

import { microseconds, plural } from "../format";
import type { Opportunity, TimedPairs, TimedRuns } from "../wire";

const WIDE = 132;
const HIGH = 22;
const PAD = 8;

/** From the least to the most that any change saves, in µs; 0 is always in it. */
export interface Axis {
  least: number;
  most: number;
}

/** The axis of all rows; null where no saving is known as a time. */
export function axisOf(rows: readonly Opportunity[]): Axis | null {
  const ends = rows.flatMap(({ predicted_us, tried }) => [
    ...(predicted_us ?? []),
    ...(tried?.times?.saved_us ?? []),
  ]);
  if (!ends.length) return null;
  const kept = rows.flatMap(keptOf);
  const room = CLIP * Math.max(...kept.map(Math.abs));
  const fits = room > 0 ? ends.filter((end) => Math.abs(end) <= room) : ends;
  return { least: Math.min(0, ...fits), most: Math.max(0, ...fits) };
}

/** How many times the largest middle an interval is drawn out: what is longer ends in an arrow. */
const CLIP = 4;

/** What the axis is made for: predictions and middles, of noise nothing where there is more. */
function keptOf({ predicted_us, tried }: Opportunity): number[] {
  const times = tried?.times;
  const middle = times?.saved_us && isClear(times) ? [times.saved_us[1]] : [];
  return [...(predicted_us ?? []), ...middle];
}

/** Where a saving stands: to the right is faster; what lies beyond the axis stands at its end. */
export function placeOn({ least, most }: Axis, value: number): number {
  const part = (value - least) / (most - least || 1);
  return PAD + Math.min(1, Math.max(0, part)) * (WIDE - 2 * PAD);
}

/** Whether a saving lies beyond an end of the axis, and at which. */
export function beyond({ least, most }: Axis, value: number): "left" | "right" | null {
  return value < least ? "left" : value > most ? "right" : null;
}

/** Whether pairs allow a verdict; what they do not tell is grey. */
export function isClear({ verdict }: TimedPairs): boolean {
  return verdict === "faster" || verdict === "slower";
}

export function AxisHead({ axis }: { axis: Axis }) {
  const zero = placeOn(axis, 0);
  const end = axis.most > 0 ? `${microseconds(axis.most)} faster` : "";
  return (
    <span class="axis-head">
      <i style={{ left: `${(100 * zero) / WIDE}%` }}>0</i>
      <em>{end}</em>
    </span>
  );
}

/** Predicted: a hollow dot and a dashed line. Measured: a full dot, its interval. */
export function Mark({ axis, item }: { axis: Axis; item: Opportunity }) {
  const x = (value: number) => placeOn(axis, value);
  const { predicted_us: predicted, tried } = item;
  const times = tried?.times ?? null;
  const measured = times?.saved_us ?? null;
  const high = measured ? 6 : 11;
  return (
    <svg
      class={`mark${times && !isClear(times) ? " noise" : ""}`}
      viewBox={`0 0 ${WIDE} ${HIGH}`}
      role="img"
      aria-label={savingWords(item).join(", ")}
    >
      <line class="zero" x1={x(0)} x2={x(0)} y1="1" y2="21" />
      <line class="base" x1="0" x2={WIDE} y1="21.5" y2="21.5" />
      {predicted && (
        <>
          <line class="predicted" x1={x(predicted[0])} x2={x(predicted[2])} y1={high} y2={high} />
          <circle class="predicted" cx={x(predicted[1])} cy={high} r="3.5" />
          <Arrows axis={axis} ends={[predicted[0], predicted[2]]} y={high} />
        </>
      )}
      {measured && (
        <>
          <line class="measured" x1={x(measured[0])} x2={x(measured[2])} y1="15" y2="15" />
          <Arrows axis={axis} ends={[measured[0], measured[2]]} y={15} />
          {!beyond(axis, measured[1]) && (
            <circle class="measured" cx={x(measured[1])} cy="15" r="3.5" />
          )}
        </>
      )}
    </svg>
  );
}

/** Where an interval goes on beyond the axis; its words have the whole of it. */
function Arrows({ axis, ends, y }: { axis: Axis; ends: readonly [number, number]; y: number }) {
  return (
    <>
      {ends.map((end) => {
        const side = beyond(axis, end);
        if (!side) return null;
        const [tip, back] = side === "left" ? [1, PAD] : [WIDE - 1, WIDE - PAD];
        return (
          <path key={side} class="measured" d={`M${back} ${y - 4}L${tip} ${y}L${back} ${y + 4}`} />
        );
      })}
    </>
  );
}

/** A saving and where it is from: a sign and a number only where the evidence allows one. */
export function savingWords(item: Opportunity): [saving: string, source: string] {
  const { predicted_us: predicted, predicted_by, tried } = item;
  if (tried?.times) {
    const { verdict, saved_us } = tried.times;
    if (!saved_us) return [verdict === "identical" ? "the same code" : tried.saved, "tried"];
    const [low, middle, high] = saved_us;
    if (!isClear(tried.times)) return [verdict, `${signed(low)} to ${signed(high)}`];
    const ends = [Math.abs(low), Math.abs(high)].sort((a, b) => a - b).map(microseconds);
    return [signed(middle), `measured, ${ends.join(" to ")}`];
  }
  if (tried) return [tried.saved, "tried, not timed"];
  if (!predicted)
    return item.short === "unknown" ? ["saving unknown", ""] : [item.short, item.sure];
  const [low, middle, high] = predicted;
  if (low <= 0) return [`up to ${signed(high)}`, predicted_by];
  const error = high - low > 0 ? ` ± ${microseconds((high - low) / 2)}` : "";
  return [`${signed(middle)}${error}`, predicted_by];
}

/** What a call takes less has a minus: its time changes so. */
function signed(saved: number): string {
  const text = microseconds(Math.abs(saved));
  return saved > 0 ? `−${text}` : saved < 0 ? `+${text}` : text;
}

/** A tick for each run, before and after on one scale. */
export function Pairs({ times, agrees }: { times: TimedPairs; agrees: boolean | null }) {
  const { before, after, faster, slower, disturbed } = times;
  if (!before || !after) return null;
  const all = [...before.runs_us, ...after.runs_us];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const x = (value: number) => 4 + ((value - least) / (most - least || 1)) * 352;
  const count = before.runs_us.length;
  const said = [
    `${faster} of ${plural(count, "pair")} faster`,
    slower && `${slower} slower`,
    disturbed && `${disturbed} disturbed by other work`,
    agrees !== null && (agrees ? "outputs agree" : "outputs differ"),
  ];
  return (
    <div class="pairs">
      <Runs name="before" runs={before} x={x} />
      <span>{`min ${microseconds(before.minimum_us)}, median ${microseconds(before.median_us)}`}</span>
      <Runs name="after" runs={after} x={x} />
      <span>
        {`min ${microseconds(after.minimum_us)}, median ${microseconds(after.median_us)}; `}
        {said.filter(Boolean).join(", ")}
      </span>
    </div>
  );
}

interface RunsProps {
  name: string;
  runs: TimedRuns;
  x(value: number): number;
}

function Runs({ name, runs, x }: RunsProps) {
  const [low, high] = runs.middle_us;
  return (
    <>
      <span>{name}</span>
      <svg
        class={`runs ${name}`}
        viewBox="0 0 360 15"
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <line class="base" x1="0" x2="360" y1="14.5" y2="14.5" />
        <rect x={x(low)} width={Math.max(0, x(high) - x(low))} y="3" height="9" />
        {runs.runs_us.map((value, i) => (
          <line key={i} x1={x(value)} x2={x(value)} y1="3" y2="12" />
        ))}
        <path d={`M${x(runs.minimum_us)} 1v13`} />
      </svg>
    </>
  );
}
