// Every axis side by side and the figure at the end; a line for each setting.

import { useRef } from "preact/hooks";
import { useWidth } from "../../ui/size";
import type { SweepDocument, SweepRow } from "./wire";
import { place, rail } from "./geometry";
import { isNoisy, type SweepState } from "./state";

const HEIGHT = 340;
const TOP = 36;
const BOTTOM = 20;
const SIDE = 90;
const FAINT = 0.35;
const LETTERS = 16;
const LETTER = 6.4; // the width of one, at 11 px

export function Axes({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const rows = state.measured.value;
  const values = rows.map((row) => state.figure(row) ?? 0);
  const ends: [number, number] = [Math.min(...values), Math.max(...values)];
  const isMore = doc.by === "speedup";
  const last = doc.axes.length;
  const said = rows.map((row) => state.words(row).length);
  const right = Math.min(width / 3, Math.max(SIDE, LETTER * Math.max(0, ...said) + 12));
  const px = (at: number) => place(at, [0, last], [SIDE, width - right]);
  const py = (share: number) => TOP + share * (HEIGHT - TOP - BOTTOM);
  const down = (value: number) => place(value, ends, isMore ? [1, 0] : [0, 1]);
  const title = doc.figures.find(({ id }) => id === doc.by)?.title ?? doc.by;
  const edge = (wanted: number) => rows[values.indexOf(wanted)];
  const order = [...rows].sort((a, b) => down(state.figure(b) ?? 0) - down(state.figure(a) ?? 0));
  return (
    <div class="scroll sweep-chart" ref={box}>
      <p class="mut">{`A line for each configuration, from its values to its ${title.toLowerCase()}. The best is on top and strongest; grey is too noisy to say.`}</p>
      <svg width={width} height={HEIGHT} role="img" aria-label={`Axes and ${title}`}>
        {order.map((row) => {
          const share = down(state.figure(row) ?? 0);
          return (
            <polyline
              key={row.id}
              class={`strand${state.selected.value === row.id ? " chosen" : ""}${isNoisy(row) ? " noisy" : ""}`}
              style={{ opacity: isNoisy(row) ? FAINT : FAINT + (1 - FAINT) * (1 - share) ** 2 }}
              data-tip={`${row.id}: ${state.words(row)}`}
              points={pointsOf(row, doc, px, py, py(share))}
              onClick={() => void state.open(row)}
            />
          );
        })}
        {doc.axes.map(({ name, values: texts }, at) => (
          <g key={name}>
            <text class="head-of" x={px(at)} y={16} text-anchor="middle">
              {name}
            </text>
            <line class="rail" x1={px(at)} x2={px(at)} y1={TOP} y2={HEIGHT - BOTTOM} />
            {texts.map((text, n) => (
              <text
                class="on"
                key={text}
                x={px(at) - (at ? 0 : 7)}
                y={py(rail(texts.length, n)) + 4}
                text-anchor={at ? "middle" : "end"}
              >
                {text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text}
              </text>
            ))}
          </g>
        ))}
        <text class="head-of" x={px(last)} y={16} text-anchor="middle">
          {title}
        </text>
        <line class="rail" x1={px(last)} x2={px(last)} y1={TOP} y2={HEIGHT - BOTTOM} />
        {[...new Set(ends)].map((value) => (
          <text class="on" key={value} x={px(last) + 7} y={py(down(value)) + 4}>
            {state.words(edge(value)!)}
          </text>
        ))}
      </svg>
    </div>
  );
}

function pointsOf(
  row: SweepRow,
  doc: SweepDocument,
  px: (at: number) => number,
  py: (share: number) => number,
  end: number,
): string {
  const own = doc.axes.map(({ values }, at) => {
    const n = values.indexOf(row.settings[at] ?? "");
    return `${px(at)},${py(n < 0 ? 0.5 : rail(values.length, n))}`;
  });
  return [...own, `${px(doc.axes.length)},${end}`].join(" ");
}
