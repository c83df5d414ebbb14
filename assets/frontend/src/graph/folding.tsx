// What is hidden or collapsed, and the buttons that change it.

import { plural, whole } from "../format";
import type { Grouping } from "./groups";
import type { Model } from "./model";
import { openAll, type GraphState } from "./state";

interface Props {
  state: GraphState;
  model: Model;
  hidden: number;
  grouping: Grouping;
}

export function Folding({ state, model, hidden, grouping }: Props) {
  const { part, count } = model;
  const canFold = grouping !== "none" && grouping !== "layers";
  const hasQuiet = part.is_quiet.includes(true) && grouping !== "layers";
  const all = (isOpen: boolean) => openAll(state, part.id, grouping, isOpen);
  return (
    <>
      <span class="mut">
        {whole(count - hidden)} of {plural(count, "node")}
        {hidden > 0 && <span class="wide"> · views, casts, weights hidden</span>}
      </span>
      {hasQuiet && (
        <button
          type="button"
          class="btn link"
          aria-pressed={state.showsQuiet.value}
          onClick={() => (state.showsQuiet.value = !state.showsQuiet.value)}
        >
          {state.showsQuiet.value ? "Hide views and weights" : "Show all"}
        </button>
      )}
      {canFold && (
        <>
          <button
            type="button"
            class="btn link"
            data-tip="Open every box"
            onClick={() => all(true)}
          >
            Open all
          </button>
          <button
            type="button"
            class="btn link"
            data-tip="Collapse every box"
            onClick={() => all(false)}
          >
            Collapse all
          </button>
        </>
      )}
    </>
  );
}
