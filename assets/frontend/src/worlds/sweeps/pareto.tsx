// The figure of each setting against its compile time; what nothing of its size beats is filled.

import { useRef } from "preact/hooks";
import { seconds } from "../../format";
import { useWidth } from "../../ui/size";
import type { SweepDocument } from "./wire";
import { frontsOf, place, type Spot, tickTexts, ticks } from "./geometry";
import { isNoisy, type SweepState } from "./state";

const LEFT = 60;
const RIGHT = 36;
const TOP = 14;
const BOTTOM = 40;
const HEIGHT = 340;
const NAMED = 8;
const LETTER = 6.2; // pixels of a label's letter
const LINE = 14; // pixels from a name to the one above it
const APART = 220; // pixels beside each other

type Scale = (value: number) => number;

export function Pareto({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isLess = doc.by !== "speedup";
  const spots = state.measured.value.flatMap((row): Spot[] => {
    const x = state.figure(row, "compile_s");
    const y = state.figure(row);
    return x === null || y === null ? [] : [{ row, x, y }];
  });
  const fronts = frontsOf(doc.fronts, spots);
  const best = fronts.flat();
  const noisy = spots.filter(({ row }) => isNoisy(row)).length;
  const ends = { x: range(spots.map(({ x }) => x)), y: range(spots.map(({ y }) => y)) };
  const px = (x: number) => place(x, ends.x, [LEFT, width - RIGHT]);
  const py = (y: number) => place(y, ends.y, [HEIGHT - BOTTOM, TOP]);
  const title = doc.figures.find(({ id }) => id === doc.by)?.title ?? doc.by;
  const scale = ticks(...ends.y, 5);
  const words = isLess
    ? scale.map((y) => seconds(y / 1e6))
    : tickTexts(scale).map((text) => `${text} ×`);
  return (
    <div class="scroll sweep-chart" ref={box}>
      <p class="mut">
        {`${title} against compile time, one compilation per configuration. Filled: no other configuration${
          fronts.length > 1 ? " of its size" : ""
        } is better in both.${noisy ? ` Grey: too noisy to say (${noisy}).` : ""}`}
      </p>
      <svg width={width} height={HEIGHT} role="img" aria-label={`${title} against compile time`}>
        {scale.map((y, at) => (
          <g key={y}>
            <line class="grid" x1={LEFT} x2={width - RIGHT} y1={py(y)} y2={py(y)} />
            <text x={LEFT - 8} y={py(y) + 4} text-anchor="end">
              {words[at]}
            </text>
          </g>
        ))}
        {ticks(...ends.x, Math.max(2, Math.floor(width / 140))).map((x) => (
          <text key={x} x={px(x)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
            {seconds(x)}
          </text>
        ))}
        <text x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 4} text-anchor="middle">
          Compile time
        </text>
        {!isLess && ends.y[0] < 1 && ends.y[1] > 1 && (
          <line class="even" x1={LEFT} x2={width - RIGHT} y1={py(1)} y2={py(1)} />
        )}
        {fronts.map((spots, n) => (
          <polyline
            key={n}
            class="front"
            points={spots.map(({ x, y }) => `${px(x)},${py(y)}`).join(" ")}
          />
        ))}
        {[...spots.filter((spot) => !best.includes(spot)), ...best].map((spot) => (
          <circle
            key={spot.row.id}
            class={`spot${best.includes(spot) ? " best" : ""}${isNoisy(spot.row) ? " noisy" : ""}`}
            cx={px(spot.x)}
            cy={py(spot.y)}
            r={5}
            data-tip={`${spot.row.id}: ${state.words(spot.row)}, compiled in ${seconds(spot.x)}`}
            onClick={() => void state.open(spot.row)}
          />
        ))}
        {namedOf(best, px, py).map((spot) => (
          <Name key={spot.row.id} text={spot.row.id} x={px(spot.x)} y={py(spot.y)} width={width} />
        ))}
      </svg>
    </div>
  );
}

/** Some of the best, none of whose names would stand on that of another. */
function namedOf(best: readonly Spot[], px: Scale, py: Scale): Spot[] {
  const kept: Spot[] = [];
  for (const spot of [...best].reverse()) {
    const isFree = kept.every(
      (one) => Math.abs(px(one.x) - px(spot.x)) > APART || Math.abs(py(one.y) - py(spot.y)) > LINE,
    );
    if (isFree && kept.length < NAMED) kept.push(spot);
  }
  return kept;
}

/** A label that stays inside: to the left of its spot where the right has no room. */
function Name({ text, x, y, width }: { text: string; x: number; y: number; width: number }) {
  const isRight = x + 10 + text.length * LETTER < width;
  const room = Math.floor((isRight ? width - x : x - LEFT) / LETTER) - 2;
  const shown = text.length > room ? `${text.slice(0, Math.max(8, room - 1))}…` : text;
  return (
    <text
      class="name"
      x={isRight ? x + 9 : x - 9}
      y={y - 8}
      text-anchor={isRight ? "start" : "end"}
    >
      {shown}
    </text>
  );
}

/** From the least to the most with a little air, so that no mark stands on the edge. */
function range(values: readonly number[]): [number, number] {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const air = (high - low || Math.abs(high) || 1) * 0.08;
  return [Math.max(0, low - air), high + air];
}
