// A forest plot for each size of the inputs: rounds over those of the original, median, interval.

import { useRef } from "preact/hooks";
import { amount, plural } from "../../format";
import { useWidth } from "../../ui/size";
import type { SweepDocument, SweepRow } from "./wire";
import { axesOf, bySize, constantOf, shortName, valuesOf } from "./constant";
import { place, tickTexts, ticks } from "./geometry";
import { isNoisy, type SweepState } from "./state";

const ROW = 26;
const MOST = 60;
const BOTTOM = 40;
const RIGHT = 36;
const LETTER = 6.4;
const FAR = 2.5; // times the slowest median: what a disturbed round took says nothing

export function Rounds({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const rows = state.rows.value
    .filter((row) => row.rounds.length)
    .sort((a, b) => medianOf(a) - medianOf(b));
  const shown = rows.slice(0, MOST);
  const constant = constantOf(doc);
  const most = width * 0.42; // of which names take no more: then their values stand alone
  const isLong = shown.some((row) => 28 + LETTER * shortName(doc, row, constant).length > most);
  const nameOf = isLong ? valuesOf : shortName;
  const lines = bySize(doc, shown).flatMap(({ size, rows }): Line[] => [
    ...(size ? [{ head: size }] : []),
    ...rows.map((row) => ({ row, name: nameOf(doc, row, constant) })),
  ]);
  const longest = Math.max(...lines.map((line) => ("row" in line ? line.name : line.head).length));
  const left = Math.min(most, 28 + LETTER * longest);
  const all = shown.flatMap((row) => row.rounds);
  const edge = FAR * Math.max(1, ...shown.map(medianOf));
  const ends: [number, number] = [
    Math.min(...all),
    Math.max(1.02, Math.min(edge, Math.max(...all))),
  ];
  const px = (value: number) => place(Math.min(value, ends[1]), ends, [left, width - RIGHT]);
  const far = shown.flatMap((row) => row.rounds.slice(3)).filter((value) => value > ends[1]).length;
  const height = lines.length * ROW + BOTTOM;
  const scale = ticks(...ends, Math.max(2, Math.floor((width - left) / 90)));
  const words = tickTexts(scale);
  const more =
    rows.length > shown.length
      ? ` ${shown.length} of ${plural(rows.length, "configuration")}.`
      : "";
  return (
    <div class="scroll sweep-chart" ref={box} tabIndex={0} role="group" aria-label="Forest plot">
      <p class="mut">
        {`Time relative to eager in the same round; less is faster. The bar is the 99.9 % interval of the median; grey is too noisy to say.${more}${far ? ` ${plural(far, "round")} further out ${far === 1 ? "is" : "are"} drawn at the edge.` : ""}`}
      </p>
      {isLong && <p class="mono">{axesOf(doc, constant)}</p>}
      <svg width={width} height={height} role="img" aria-label="Forest plot of the configurations">
        <line class="even" x1={px(1)} x2={px(1)} y1={0} y2={height - BOTTOM} />
        {lines.map((line, n) => {
          const y = n * ROW + ROW / 2;
          if ("row" in line)
            return (
              <Strip
                key={line.row.id}
                {...line}
                full={shortName(doc, line.row, constant)}
                {...{ state, px, left, y }}
              />
            );
          return (
            <text key={line.head} class="head-of" x={12} y={y + 4}>
              {line.head}
            </text>
          );
        })}
        {scale.map((value, at) => (
          <text key={value} x={px(value)} y={height - BOTTOM + 16} text-anchor="middle">
            {words[at]}
          </text>
        ))}
        <text x={(left + width - RIGHT) / 2} y={height - 6} text-anchor="middle">
          Time relative to eager
        </text>
      </svg>
    </div>
  );
}

/** A setting, or the size that those below it have. */
type Line = { head: string } | { row: SweepRow; name: string };

interface StripProps {
  state: SweepState;
  row: SweepRow;
  name: string;
  /** The same with the names of the axes. */
  full: string;
  px(value: number): number;
  left: number;
  y: number;
}

function Strip({ state, row, name, full, px, left, y }: StripProps) {
  const [low, median, high, ...samples] = row.rounds as [number, number, number, ...number[]];
  const letters = Math.floor((left - 16) / LETTER);
  const shown = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
  return (
    <g
      class={isNoisy(row) ? "strip noisy" : "strip"}
      data-tip={`${row.id}, ${full}: ${row.verdict}, ${amount(low)} to ${amount(high)} (${row.evidence})`}
      onClick={() => void state.open(row)}
    >
      <rect class="hit" x={0} width="100%" y={y - ROW / 2} height={ROW} />
      <text x={left - 10} y={y + 4} text-anchor="end">
        {shown}
      </text>
      {samples.map((value, n) => (
        <line key={n} class="round" x1={px(value)} x2={px(value)} y1={y - 6} y2={y + 6} />
      ))}
      <line class="span" x1={px(low)} x2={px(high)} y1={y} y2={y} />
      <circle class="spot best" cx={px(median)} cy={y} r={4.5} />
    </g>
  );
}

function medianOf(row: SweepRow): number {
  return row.rounds[1] ?? Infinity;
}
