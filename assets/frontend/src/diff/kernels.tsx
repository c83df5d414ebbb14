// The kernels of both compilations: which became which, and their sources.

import { useEffect, useRef } from "preact/hooks";
import { target } from "../table/table";
import { useRows } from "../ui/virtual";
import type { DiffKernels } from "../wire";
import { Sources } from "./source";
import type { DiffState } from "./state";

export function Kernels({ state }: { state: DiffState }) {
  const { kernels } = state.doc;
  const here = kernels[state.kernel.value];
  return (
    <div class="diff-kernels">
      <List state={state} />
      <div class="diff-code">
        {here && <Facts kernels={here} />}
        {here?.source.length ? (
          <Sources
            state={state}
            name={`${state.kernel.value}`}
            source={here.source}
            language={here.language}
            alike="The sources differ only in numbers within names"
          />
        ) : (
          <div class="empty">
            <b>{here?.relation === "same" ? "Same in both." : "No source to compare."}</b>
            {here && reason(here)}
          </div>
        )}
      </div>
    </div>
  );
}

function reason(kernels: DiffKernels): string {
  if (kernels.language === "extern") return "It is a library call.";
  if (kernels.relation === "same")
    return "Numbers in names of temporaries and kernels are ignored.";
  return "One of the two kernels has no source in its report.";
}

function Facts({ kernels }: { kernels: DiffKernels }) {
  return (
    <div class="diff-facts">
      <Names title="a" names={kernels.a} />
      <Names title="b" names={kernels.b} />
      {kernels.facts.length > 0 && (
        <>
          <b>What differs</b>
          <span>{kernels.facts.join(" · ")}</span>
        </>
      )}
    </div>
  );
}

function Names({ title, names }: { title: string; names: string[] }) {
  return (
    <>
      <b>{title}</b>
      <span class="mono">{names.join(", ") || "–"}</span>
    </>
  );
}

/** Two lines, their padding and the hairline below them. */
const ROW = 43;

function List({ state }: { state: DiffState }) {
  const { kernels } = state.doc;
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRows({ rows: kernels, scroller, size: ROW });
  const here = state.kernel.value;
  useEffect(() => list.reveal(here), [here]);
  const press = (event: KeyboardEvent) => {
    const to = target(event.key, here, kernels.length, scroller.current);
    if (to === null || event.altKey) return;
    event.preventDefault();
    state.kernel.value = to;
  };
  return (
    <div
      ref={scroller}
      class="scroll diff-list"
      role="listbox"
      aria-label="Kernels"
      aria-activedescendant={`wb-diff-kernel-${here}`}
      tabIndex={0}
      onKeyDown={press}
    >
      <div class="tbody" role="presentation" style={{ height: `${list.height}px` }}>
        {list.items.map(({ index, start }) => (
          <Option
            key={index}
            kernels={kernels[index] as DiffKernels}
            index={index}
            start={start}
            isHere={index === here}
            choose={() => (state.kernel.value = index)}
          />
        ))}
      </div>
    </div>
  );
}

interface OptionProps {
  kernels: DiffKernels;
  index: number;
  start: number;
  isHere: boolean;
  choose(): void;
}

function Option({ kernels, index, start, isHere, choose }: OptionProps) {
  const { a, b, relation, title } = kernels;
  return (
    <div
      id={`wb-diff-kernel-${index}`}
      role="option"
      aria-selected={isHere}
      class={`diff-kernel ${relation === "same" ? "alike" : ""}`}
      style={{ transform: `translateY(${start}px)` }}
      data-tip={[...a, "→", ...b].join("\n")}
      onClick={choose}
    >
      <span class="mono cut">{`${ids(a)} → ${ids(b)}`}</span>
      <span class="mut">{relation}</span>
      <span class="cut">{title}</span>
    </div>
  );
}

function ids(names: string[]): string {
  return names.map((name) => name.split(" ")[0]).join(", ") || "–";
}
