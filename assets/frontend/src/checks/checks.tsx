// The Checks pane: the kernel with a mark on each line that has a finding, the findings, the grid.

import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../format";
import type { Store } from "../store";
import { usePart } from "../ui/asked";
import { Frame, Prose, Select, Tag } from "../ui/basics";
import { Coloured, coloured } from "../ui/highlight";
import type { CheckedKernel, CheckFinding, CodePart } from "../wire";
import "./checks.css";

export function ChecksPane({ store }: { store: Store }) {
  const [chosen, choose] = useState("");
  const [picked, pick] = useState({ kernel: "", at: "" });
  const { checks: found, check_findings: findings } = store.doc.value!;
  if (!found) return null;
  const selected = store.selected.value;
  const isOn = ({ id, line }: CheckFinding) => id === selected || (!!line && line === selected);
  const on = findings.filter(isOn);
  const current = on.find(({ id }) => id === chosen) ?? on[0] ?? findings[0];
  const wanted = picked.at === (selected ?? "") && picked.kernel ? picked.kernel : current?.kernel;
  const kernel = found.kernels.find(({ name }) => name === wanted) ?? found.kernels[0];
  const here = findings.filter((row) => row.kernel === kernel?.name);
  const shown = current?.kernel === kernel?.name ? current : here[0];
  return (
    <>
      <p class="pane-says">{found.sentence}</p>
      {found.kernels.length > 1 && kernel && (
        <div class="bar">
          <h2>Kernel</h2>
          <Select
            label="Kernel"
            of={found.kernels.map(({ name }) => [name, labelOf(name, findings)])}
            value={kernel.name}
            set={(kernel) => pick({ kernel, at: selected ?? "" })}
          />
        </div>
      )}
      <div class="checks">
        {kernel && <KernelCode store={store} kernel={kernel} findings={here} />}
        <GridMap grid={kernel?.grid ?? []} finding={shown} />
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
              pick({ kernel: row.kernel, at: row.line ?? row.id });
              store.select(row.line ?? row.id);
            }}
          >
            <Tag tone={row.tone}>{row.kind}</Tag>
            <span>
              <Prose text={row.text} />
            </span>
          </button>
        ))}
        {findings.length === 0 && <p class="pad mut">{found.none}</p>}
        <ul class="calls mut">
          {found.calls.map((call) => (
            <li key={call}>{call}</li>
          ))}
        </ul>
      </div>
    </>
  );
}

function labelOf(kernel: string, findings: readonly CheckFinding[]): string {
  const count = findings.filter((row) => row.kernel === kernel).length;
  return count ? `${kernel} · ${plural(count, "finding")}` : kernel;
}

interface CodeProps {
  store: Store;
  kernel: CheckedKernel;
  findings: readonly CheckFinding[];
}

/** The source of a kernel of the user, or the code that was generated, with its marked lines. */
function KernelCode({ store, kernel, findings }: CodeProps) {
  const { sources, kernels } = store.doc.value!;
  const source = sources.find(({ id }) => id === kernel.source);
  const code = kernels.find(({ id }) => id === kernel.id)?.code ?? null;
  const { part, failed } = usePart<CodePart>(store, code);
  const box = useRef<HTMLPreElement>(null);
  const generated = part?.id === kernel.id ? part.text : null;
  const selected = store.selected.value;
  useEffect(() => {
    const lines = box.current;
    const line = lines?.querySelector(".sel") ?? lines?.querySelector("[class*=st-]");
    if (!lines || !line) return;
    const [around, at] = [lines.getBoundingClientRect(), line.getBoundingClientRect()];
    if (at.top < around.top || at.bottom > around.bottom)
      lines.scrollTop += at.top - around.top - around.height / 3;
  }, [kernel.name, generated, selected]);
  const lines = source?.lines ?? generated?.split("\n");
  if (!lines)
    return <p class="pad mut">{failed ?? (code ? "…" : "The kernel's code was not kept.")}</p>;
  const first = source?.first ?? 1;
  const of = source ? `L:${source.id}` : `K:${kernel.id}`;
  return (
    <pre
      ref={box}
      class="mono scroll"
      tabIndex={0}
      role="group"
      aria-label={`${source ? "Source" : "Generated code"} of ${kernel.name}`}
    >
      {coloured(lines).map((pieces, at) => (
        <SourceLine
          key={at}
          store={store}
          id={`${of}:${first + at}`}
          number={first + at}
          findings={findings.filter(({ line }) => line === `${of}:${first + at}`)}
        >
          <Coloured pieces={pieces} />
        </SourceLine>
      ))}
    </pre>
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
const NONE: readonly number[] = [];

/** The grid with the programs of a finding: a cell each, several to a cell where there are many. */
function GridMap({ grid, finding }: { grid: readonly number[]; finding?: CheckFinding }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const programs = finding?.programs ?? NONE;
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
  const words = programs.length
    ? `${programs.length} of ${total} program instances affected`
    : plural(total, "program instance") + (finding ? ", unknown which" : "");
  return (
    <figure>
      <canvas ref={canvas} width={width} height={height} role="img" aria-label={words} />
      <figcaption class="faint">{`Grid ${grid.join(" × ")}: ${words}`}</figcaption>
    </figure>
  );
}
