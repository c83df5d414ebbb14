// Two sources side by side, equal stretches folded; what is only in one side stands alone.

import { useMemo, useRef } from "preact/hooks";
import { plural } from "../format";
import { simple } from "../kernels/code/languages";
import { CompareBar } from "../ui/comparing";
import { Coloured, coloured, type Piece } from "../ui/highlight";
import { usePaneState } from "../ui/kept";
import { type Rows, useRows } from "../ui/virtual";
import type { DiffKernels, DiffLine } from "../wire";
import type { DiffState } from "./state";

const HEIGHTS = { fold: 20, line: 18 };

function heightOf(row: Shown): number {
  return isFold(row) ? HEIGHTS.fold : HEIGHTS.line;
}

interface SourcesProps {
  state: DiffState;
  kernels: DiffKernels;
}

export function Sources({ state, kernels }: SourcesProps) {
  const { source } = kernels;
  const [open, setOpen] = usePaneState<ReadonlySet<number> | null>(
    state,
    `open ${state.kernel.value}`,
    new Set(),
  );
  const box = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => folded(source, open), [source, open]);
  const starts = useMemo(() => differences(source), [source]);
  const colours = useMemo(() => coloursOf(kernels), [kernels]);
  const list = useRows({
    rows: shown,
    scroller: box,
    size: heightOf,
    key: (row) => (isFold(row) ? `fold ${row.start}` : `${row.at}`),
  });
  const jump = (by: 1 | -1) => {
    const begins = new Set(starts);
    const tops = shown.flatMap((row, index) => (!isFold(row) && begins.has(row.at) ? [index] : []));
    if (box.current) goTo(box.current, list, tops, by);
  };
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key !== "n" && event.key !== "p") return;
    event.preventDefault();
    jump(event.key === "n" ? 1 : -1);
  };
  const differing = source.filter((line) => line.kind !== "same").length;
  const isAlone = source.every((line) => line.kind === source[0]?.kind && line.kind !== "same");
  return (
    <>
      <CompareBar
        words={
          starts.length
            ? `${plural(starts.length, "difference")} in ${plural(differing, "line")}`
            : "The sources differ only in numbers within names"
        }
        count={starts.length}
        isFolded={open !== null}
        fold={(isFolded) => setOpen(isFolded ? new Set() : null)}
        jump={jump}
      />
      <div
        ref={box}
        class={isAlone ? "scroll sources alone" : "scroll sources"}
        tabIndex={0}
        role="group"
        aria-label="Sources side by side"
        onKeyDown={press}
      >
        <div class="tbody" style={{ height: `${list.height}px` }}>
          {list.items.map(({ key, index, start }) => (
            <div
              key={key}
              data-index={index}
              ref={list.measure}
              class="place"
              style={{ transform: `translateY(${start}px)` }}
            >
              <Row
                row={shown[index] as Shown}
                colours={colours}
                isAlone={isAlone}
                unfold={(at) => setOpen(new Set(open).add(at))}
              />
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

/** The coloured pieces of every line, on either side. */
type Colours = Record<"before" | "after", Piece[][]>;

function coloursOf({ source, language }: DiffKernels): Colours {
  const parser = language === "cpp" ? simple("cpp").parser : undefined;
  const side = (key: keyof Colours) =>
    coloured(
      source.map((line) => line[key] ?? ""),
      parser,
    );
  return { before: side("before"), after: side("after") };
}

const SIGNS = { changed: "~", added: "+", removed: "−" };
const WORDS = { changed: "changed", added: "only in b", removed: "only in a" };

interface RowProps {
  row: Shown;
  colours: Colours;
  isAlone: boolean;
  unfold(start: number): void;
}

function Row({ row, colours, isAlone, unfold }: RowProps) {
  if (!isFold(row)) return <Line {...row} colours={colours} isAlone={isAlone} />;
  return (
    <button type="button" class="src-fold" onClick={() => unfold(row.start)}>
      {`${plural(row.count, "line")} alike`}
    </button>
  );
}

interface LineProps {
  at: number;
  line: DiffLine;
  colours: Colours;
  isAlone: boolean;
}

function Line({ at, line, colours, isAlone }: LineProps) {
  const { kind, before, after } = line;
  const both = kind === "changed" && before !== null && after !== null;
  const [left, right] = both ? marked(before, after) : [null, null];
  const sides = [
    { text: before, number: line.left, pieces: left, plain: colours.before[at] },
    { text: after, number: line.right, pieces: right, plain: colours.after[at] },
  ];
  return (
    <div class={`src ${kind}`}>
      {sides
        .filter((side) => !isAlone || side.text !== null)
        .map((side, n) => (
          <Side key={n} {...side} kind={kind} look={n ? "after" : "before"} />
        ))}
    </div>
  );
}

interface SideProps {
  text: string | null;
  number: number | null;
  /** Where the line differs from the one beside it. */
  pieces: Pieces | null;
  plain: Piece[] | undefined;
  kind: DiffLine["kind"];
  look: string;
}

function Side({ text, number, pieces, plain, kind, look }: SideProps) {
  return (
    <>
      <span class="src-no">{number ?? ""}</span>
      <code class={text === null ? `${look} gone` : look}>
        {text !== null && kind !== "same" && (
          <>
            <span class="src-sign" aria-hidden="true">
              {SIGNS[kind]}
            </span>
            <span class="sr">{`${WORDS[kind]}: `}</span>
          </>
        )}
        {pieces ? (
          <>
            {pieces.head}
            <mark>{pieces.middle}</mark>
            {pieces.tail}
          </>
        ) : (
          text !== null && <Coloured pieces={plain ?? []} />
        )}
      </code>
    </>
  );
}

/** Brings the next difference to a third of the height. */
function goTo(box: HTMLElement, list: Rows, starts: readonly number[], by: 1 | -1): void {
  const here = box.scrollTop + box.clientHeight / 3;
  const next =
    by === 1
      ? starts.find((index) => list.top(index) > here + 1)
      : starts.filter((index) => list.top(index) < here - 1).at(-1);
  if (next !== undefined) list.goTo(next);
}

/** Equal lines that stay beside each difference. */
const CONTEXT = 3;
/** A stretch that is shorter is not worth a fold. */
const SHORTEST = 4;

export interface Fold {
  start: number;
  count: number;
}

export type Shown = { at: number; line: DiffLine } | Fold;

export function isFold(shown: Shown): shown is Fold {
  return "count" in shown;
}

/** The lines with the long equal stretches folded, apart from those that were opened. */
export function folded(lines: readonly DiffLine[], open: ReadonlySet<number> | null): Shown[] {
  const all = lines.map((line, at) => ({ at, line }));
  if (open === null) return all;
  const near = new Set<number>();
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let n = at - CONTEXT; n <= at + CONTEXT; n++) near.add(n);
  });
  const found: Shown[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && !near.has(end)) end++;
    if (end - at >= SHORTEST && !open.has(at)) {
      found.push({ start: at, count: end - at });
      at = end;
    } else {
      const stop = Math.max(end, at + 1);
      while (at < stop) found.push(all[at++]!);
    }
  }
  return found;
}

/** Where each run of differing lines begins. */
export function differences(lines: readonly DiffLine[]): number[] {
  return lines.flatMap((line, at) =>
    line.kind !== "same" && lines[at - 1]?.kind !== line.kind ? [at] : [],
  );
}

interface Pieces {
  head: string;
  middle: string;
  tail: string;
}

/** What of two lines differs, between what both begin and what both end with. */
export function marked(before: string, after: string): [Pieces, Pieces] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return [split(before, head, tail), split(after, head, tail)];
}

function split(text: string, head: number, tail: number): Pieces {
  const end = text.length - tail;
  return { head: text.slice(0, head), middle: text.slice(head, end), tail: text.slice(end) };
}
