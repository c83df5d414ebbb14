// The Checks pane: the kernel with a mark on each line that has a finding, the findings, the grid.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Store } from "../store";
import { Frame, Prose, Tag } from "../ui/basics";
import { Coloured, coloured } from "../ui/highlight";
import type { CheckFinding } from "../wire";
import "./checks.css";

export function ChecksPane({ store }: { store: Store }) {
  const [chosen, choose] = useState("");
  const { checks: found, check_findings: findings, sources } = store.doc.value!;
  if (!found) return null;
  const source = sources.find(({ id }) => id === found.source);
  const selected = store.selected.value;
  const isOn = ({ id, line }: CheckFinding) => id === selected || (!!line && line === selected);
  const on = findings.filter(isOn);
  const shown = on.find(({ id }) => id === chosen) ?? on[0] ?? findings[0];
  return (
    <>
      <p class="pane-says">{found.sentence}</p>
      <div class="checks">
        {source && (
          <pre
            class="mono scroll"
            tabIndex={0}
            role="group"
            aria-label={`Source of ${source.name}`}
          >
            {coloured(source.lines).map((pieces, at) => (
              <SourceLine
                key={at}
                store={store}
                id={`L:${source.id}:${source.first + at}`}
                number={source.first + at}
                findings={findings.filter(
                  ({ line }) => line === `L:${source.id}:${source.first + at}`,
                )}
              >
                <Coloured pieces={pieces} />
              </SourceLine>
            ))}
          </pre>
        )}
        <GridMap grid={found.grid} programs={shown?.programs ?? []} />
      </div>
      <div class="bar">
        <h2>Findings</h2>
        <span class="grow" />
        <Frame store={store} name="kernel_findings" />
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="Findings">
        {findings.map((row) => (
          <button
            key={row.id}
            type="button"
            class={`finding ${isOn(row) ? "sel" : ""}`}
            aria-pressed={isOn(row)}
            onClick={() => {
              choose(row.id);
              store.select(row.line ?? row.id);
            }}
          >
            <Tag tone={row.tone}>{row.kind}</Tag>
            <span>
              <Prose text={row.text} />
            </span>
          </button>
        ))}
        {findings.length === 0 && (
          <p class="pad mut">Nothing was found in the calls that were run.</p>
        )}
        <ul class="calls mut">
          {found.calls.map((call) => (
            <li key={call}>{call}</li>
          ))}
        </ul>
      </div>
    </>
  );
}

interface LineProps {
  store: Store;
  id: string;
  number: number;
  findings: readonly CheckFinding[];
  children: preact.ComponentChildren;
}

function SourceLine({ store, id, number, findings, children }: LineProps) {
  const isSelected =
    store.selected.value === id || findings.some((f) => f.id === store.selected.value);
  const worst = findings.find(({ tone }) => tone === "break") ?? findings[0];
  const words = findings.map(({ kind }) => kind).join(", ");
  return (
    <div
      class={`${isSelected ? "sel" : ""} ${worst ? `st-${worst.tone}` : ""}`}
      data-tip={words || undefined}
      onClick={() => store.select(id)}
    >
      <span class="faint">{`${worst ? "▸" : " "}${String(number).padStart(4)} `}</span>
      {children}
    </div>
  );
}

const SIDE = 160; // pixels at the most

/** The grid with the programs of a finding: a cell each, several to a cell where there are many. */
function GridMap({ grid, programs }: { grid: readonly number[]; programs: readonly number[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const total = grid.reduce((all, size) => all * size, 1);
  const columns = grid[1] && grid[1] > 1 ? grid[0]! : Math.ceil(Math.sqrt(total));
  const rows = Math.ceil(total / columns);
  const cell = Math.max(1, Math.min(16, Math.floor(SIDE / Math.max(columns, rows))));
  const step = Math.max(1, Math.ceil((Math.max(columns, rows) * cell) / SIDE));
  const width = Math.ceil(columns / step) * cell;
  const height = Math.ceil(rows / step) * cell;
  useEffect(() => {
    const box = canvas.current;
    const context = box?.getContext("2d");
    if (!box || !context) return;
    const colour = (name: string) => getComputedStyle(box).getPropertyValue(name);
    context.clearRect(0, 0, width, height);
    const gap = cell > 3 ? 1 : 0;
    const paint = (at: number) => {
      const [x, y] = [Math.floor((at % columns) / step), Math.floor(at / columns / step)];
      context.fillRect(x * cell, y * cell, cell - gap, cell - gap);
    };
    context.fillStyle = colour("--line");
    for (let at = 0; at < Math.min(total, 1 << 16); at++) paint(at);
    context.fillStyle = colour("--break");
    programs.forEach(paint);
  }, [grid, programs, width, height]);
  if (!grid.length) return null;
  const words = `${programs.length} of ${total} programs concerned`;
  return (
    <figure>
      <canvas ref={canvas} width={width} height={height} role="img" aria-label={words} />
      <figcaption class="faint">{`Grid ${grid.join(" × ")}: ${words}`}</figcaption>
    </figure>
  );
}
