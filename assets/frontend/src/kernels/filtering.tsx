// The menu in the head of a column of machine code: what of it is hidden.

import { useRef } from "preact/hooks";
import { share, useShared } from "../ui/shared";
import { filtersFrom, filtersOf, HIDES, type Filter } from "./filters";
import type { KernelState } from "./state";

interface Props {
  state: KernelState;
  stage: string;
  title: string;
}

export function Filters({ state, stage, title }: Props) {
  const root = useRef<HTMLDetailsElement>(null);
  useShared("filters", state.filters, filtersFrom);
  const on = state.filters.value;
  const close = () => root.current?.removeAttribute("open");
  const turn = (filter: Filter) => {
    const next = new Set(on);
    if (!next.delete(filter)) next.add(filter);
    share("filters", [...next].join());
  };
  const leave = (event: FocusEvent) => {
    if (!root.current?.contains(event.relatedTarget as Node | null)) close();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !root.current?.open) return;
    event.stopPropagation();
    close();
    root.current.querySelector("summary")?.focus();
  };
  return (
    <details class="code-filters" ref={root} onFocusOut={leave} onKeyDown={press}>
      <summary class="btn quiet" aria-label={`Filter ${title}`}>
        Filter
      </summary>
      <fieldset>
        <legend>Hide in all columns</legend>
        {filtersOf(stage).map((filter) => (
          <label key={filter} data-tip={HIDES[filter][1]}>
            <input type="checkbox" checked={on.has(filter)} onChange={() => turn(filter)} />
            {HIDES[filter][0]}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
