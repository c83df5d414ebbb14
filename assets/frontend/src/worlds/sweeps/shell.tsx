// The view of a sweep: the frame with progress, table and charts; or one row, opened.

import { plural } from "../../format";
import { isAwake } from "../../host";
import { Openable, useReturn } from "../../opened/opened";
import { Frame, useFrame } from "../../shell/frame";
import type { KeyWords } from "../../shell/keys";
import type { Tab } from "../../shell/tabs";
import type { SweepDocument } from "./wire";
import { Axes } from "./axes";
import { Heat } from "./heat";
import { Pareto } from "./pareto";
import { Progress } from "./progress";
import { Rounds } from "./rounds";
import type { SweepPane, SweepState } from "./state";
import "./sweep.css";
import { Settings } from "./table";

const KEYS: readonly KeyWords[] = [
  { keys: ["1", "5"], words: "switch view", isRange: true },
  { keys: ["↑", "↓"], words: "previous or next configuration" },
  { keys: ["Enter"], words: "open the report of the configuration" },
  { keys: ["Esc"], words: "back to all configurations" },
];
const WORDS = { running: "running", cancelled: "cancelled", done: "done" };

export function SweepShell({ state }: { state: SweepState }) {
  return (
    <Openable opening={state.opening} all="All configurations">
      {(isHidden) => <Whole state={state} isHidden={isHidden} />}
    </Openable>
  );
}

function Whole({ state, isHidden }: { state: SweepState; isHidden: boolean }) {
  const frame = useFrame();
  const doc = state.doc.value;
  useReturn(frame, isHidden);
  return (
    <Frame
      frame={frame}
      view={state}
      look={`sweep ${state.host.kind}`}
      label={`Sweep of ${doc?.name ?? "a call"}`}
      tabsLabel="Views of the sweep"
      tabs={tabsOf(state)}
      show={(id) => state.show(id as SweepPane)}
      head={<Head doc={doc} />}
      above={<Progress state={state} />}
      lost={state.host.lost.value}
      status={<Status state={state} />}
      keys={KEYS}
      style={{ "--rows": state.rows.value.length }}
    >
      {doc && <Pane state={state} doc={doc} />}
    </Frame>
  );
}

function Head({ doc }: { doc: SweepDocument | null }) {
  return (
    <>
      <h1>{doc?.name ?? "Sweep"}</h1>
      {doc && <span class={`tag ${toneOf(doc)}`}>{WORDS[doc.status]}</span>}
      <span class="facts mut grow" data-tip="">
        {doc ? spaceOf(doc) : ""}
      </span>
    </>
  );
}

function tabsOf(state: SweepState): readonly Tab[] {
  const count = state.rows.value.length;
  return state.panes.map((tab) => (tab.id === "table" ? { ...tab, count } : tab));
}

function toneOf(doc: SweepDocument): string {
  return { running: "plain", cancelled: "fallback", done: "captured" }[doc.status];
}

function spaceOf(doc: SweepDocument): string {
  const axes = doc.axes.map(({ name, values }) => `${name} (${values.length})`).join(" × ");
  return `sweep over ${axes}`;
}

function Pane({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  switch (state.pane.value) {
    case "pareto":
      return <Pareto state={state} doc={doc} />;
    case "heat":
      return <Heat state={state} doc={doc} />;
    case "axes":
      return <Axes state={state} doc={doc} />;
    case "rounds":
      return <Rounds state={state} doc={doc} />;
    default:
      return <Settings state={state} doc={doc} />;
  }
}

function Status({ state }: { state: SweepState }) {
  const row = state.row(state.selected.value);
  const more = state.doc.value?.more ?? 0;
  return (
    <div class="status">
      <span class="path" role="status" aria-live="polite">
        {row ? `${row.id}: ${row.remark || `${row.status}, ${state.words(row)}`}` : ""}
      </span>
      <span class="grow" />
      {more > 0 && <span>{`${plural(more, "row")} more in .frame()`}</span>}
      {isAwake(state.host) && (
        <span class="keys" aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>Enter</kbd> opens
        </span>
      )}
    </div>
  );
}
