// The kernels of both compilations: which became which, and their sources.

import { useEffect, useRef } from "preact/hooks";
import { target } from "../table/table";
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
          <Sources state={state} kernels={here} />
        ) : (
          <div class="empty">
            <b>{here?.relation === "same" ? "The same in both." : "No source to compare."}</b>
            {here && reason(here)}
          </div>
        )}
      </div>
    </div>
  );
}

function reason(kernels: DiffKernels): string {
  if (kernels.language === "extern") return "It is a call of a library.";
  if (kernels.relation === "same") return "Numbers of temporaries and of kernels do not count.";
  return "One of them has no source in its report.";
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

function List({ state }: { state: DiffState }) {
  const { kernels } = state.doc;
  const list = useRef<HTMLDivElement>(null);
  const here = state.kernel.value;
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [here]);
  const press = (event: KeyboardEvent) => {
    const to = target(event.key, here, kernels.length, list.current);
    if (to === null || event.altKey) return;
    event.preventDefault();
    state.kernel.value = to;
  };
  return (
    <div
      ref={list}
      class="scroll diff-list"
      role="listbox"
      aria-label="Kernels"
      aria-activedescendant={`wb-diff-kernel-${here}`}
      tabIndex={0}
      onKeyDown={press}
    >
      {kernels.map((each, n) => (
        <div
          key={n}
          id={`wb-diff-kernel-${n}`}
          role="option"
          aria-selected={n === here}
          class={`diff-kernel ${each.relation === "same" ? "alike" : ""}`}
          title={[...each.a, "→", ...each.b].join("\n")}
          onClick={() => (state.kernel.value = n)}
        >
          <span class="mono cut">{`${ids(each.a)} → ${ids(each.b)}`}</span>
          <span class="mut">{each.relation}</span>
          <span class="cut">{each.title}</span>
        </div>
      ))}
    </div>
  );
}

function ids(names: string[]): string {
  return names.map((name) => name.split(" ")[0]).join(", ") || "–";
}
