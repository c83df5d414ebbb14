// Two sources side by side, equal stretches folded; what is only in one side stands alone.

import { useMemo, useRef } from "preact/hooks";
import { plural } from "../format";
import { Icon } from "../ui/icons";
import { usePaneState } from "../ui/kept";
import { Python } from "../ui/highlight";
import type { DiffKernels, DiffLine } from "../wire";
import { differences, folded, isFold, marked, type Pieces } from "./folding";
import type { DiffState } from "./state";

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
  const jump = (by: 1 | -1) => box.current && goTo(box.current, starts, by);
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key !== "n" && event.key !== "p") return;
    event.preventDefault();
    jump(event.key === "n" ? 1 : -1);
  };
  const isAlone = source.every((line) => line.kind === source[0]?.kind && line.kind !== "same");
  return (
    <>
      <Bar
        source={source}
        count={starts.length}
        isFolded={open !== null}
        fold={(isFolded) => setOpen(isFolded ? new Set() : null)}
        jump={jump}
      />
      <div
        ref={box}
        class={isAlone ? "scroll sources alone" : "scroll sources"}
        tabIndex={0}
        role="region"
        aria-label="Sources side by side"
        onKeyDown={press}
      >
        {shown.map((row) =>
          isFold(row) ? (
            <button
              key={row.start}
              type="button"
              class="src-fold"
              onClick={() => setOpen(new Set(open).add(row.start))}
            >
              {`${plural(row.count, "line")} alike`}
            </button>
          ) : (
            <Line key={row.at} at={row.at} line={row.line} isAlone={isAlone} />
          ),
        )}
      </div>
    </>
  );
}

interface BarProps {
  source: readonly DiffLine[];
  count: number;
  isFolded: boolean;
  fold(isFolded: boolean): void;
  jump(by: 1 | -1): void;
}

function Bar({ source, count, isFolded, fold, jump }: BarProps) {
  const lines = source.filter((line) => line.kind !== "same").length;
  return (
    <div class="bar compare-bar">
      <span role="status">
        {count
          ? `${plural(count, "difference")} in ${plural(lines, "line")}`
          : "The sources differ in numbers of names only"}
      </span>
      <span class="grow" />
      <label>
        <input
          type="checkbox"
          checked={isFolded}
          onChange={(event) => fold(event.currentTarget.checked)}
        />
        Fold what is alike
      </label>
      <span class="seg">
        {([-1, 1] as const).map((by) => {
          const words = by === 1 ? "Next difference (n)" : "Difference before (p)";
          return (
            <button
              key={by}
              type="button"
              class="btn icon"
              title={words}
              aria-label={words}
              disabled={!count}
              onClick={() => jump(by)}
            >
              <Icon name={by === 1 ? "right" : "left"} />
            </button>
          );
        })}
      </span>
    </div>
  );
}

const SIGNS = { changed: "~", added: "+", removed: "−" };
const WORDS = { changed: "changed", added: "only in b", removed: "only in a" };

function Line({ at, line, isAlone }: { at: number; line: DiffLine; isAlone: boolean }) {
  const { kind, before, after } = line;
  const both = kind === "changed" && before !== null && after !== null;
  const [left, right] = both ? marked(before, after) : [null, null];
  const sides = [
    { text: before, number: line.left, pieces: left },
    { text: after, number: line.right, pieces: right },
  ];
  return (
    <div class={`src ${kind}`} data-at={at}>
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
  pieces: Pieces | null;
  kind: DiffLine["kind"];
  look: string;
}

function Side({ text, number, pieces, kind, look }: SideProps) {
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
          text !== null && <Python text={text} />
        )}
      </code>
    </>
  );
}

/** Brings the next difference to a third of the height. */
function goTo(box: HTMLElement, starts: readonly number[], by: 1 | -1): void {
  const third = box.clientHeight / 3;
  const here = box.scrollTop + third;
  const tops = starts.flatMap((at) => {
    const row = box.querySelector<HTMLElement>(`[data-at="${at}"]`);
    return row ? [row.offsetTop - box.offsetTop] : [];
  });
  const next =
    by === 1 ? tops.find((top) => top > here + 1) : tops.filter((top) => top < here - 1).at(-1);
  if (next !== undefined) box.scrollTop = next - third;
}
