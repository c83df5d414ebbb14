// The view of a sweep: the frame with progress, table and charts; or one row, opened.

import { useEffect, useReducer, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { DiffShell } from "../diff/shell";
import { plural } from "../format";
import { Frame, useFrame } from "../shell/frame";
import type { KeyWords } from "../shell/help";
import { Shell } from "../shell/shell";
import type { Tab } from "../shell/tabs";
import { useTheme } from "../shell/theme";
import { Message } from "../ui/basics";
import { Icon } from "../ui/icons";
import type { SweepDocument } from "../wire";
import { Axes } from "./axes";
import { Heat } from "./heat";
import { Pareto } from "./pareto";
import { Progress } from "./progress";
import { Rounds } from "./rounds";
import type { Opened, SweepPane, SweepState } from "./state";
import "./sweep.css";
import { Settings } from "./table";

const LATE_MS = 2000;
const KEYS: readonly KeyWords[] = [
  { keys: ["1", "5"], words: "switch view", isRange: true },
  { keys: ["↑", "↓"], words: "previous or next setting" },
  { keys: ["Enter"], words: "open the record of the setting" },
  { keys: ["Esc"], words: "back to all settings" },
];
const WORDS = { running: "running", cancelled: "cancelled", done: "done" };

export function SweepShell({ state }: { state: SweepState }) {
  const opened = state.opened.value;
  return (
    <>
      {opened && <Row state={state} opened={opened} />}
      <div hidden={opened !== null}>
        <Whole state={state} isHidden={opened !== null} />
      </div>
    </>
  );
}

function Whole({ state, isHidden }: { state: SweepState; isHidden: boolean }) {
  const frame = useFrame();
  const doc = state.doc.value;
  const wasHidden = useRef(false);
  useEffect(() => {
    if (wasHidden.current && !isHidden)
      frame.root.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
    wasHidden.current = isHidden;
  }, [isHidden]);
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
      <span class="facts mut grow">{doc ? spaceOf(doc) : ""}</span>
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
      {state.host.kind === "live" && (
        <span class="keys" aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>Enter</kbd> opens
        </span>
      )}
    </div>
  );
}

/** One row, or two compared, with the way back. */
function Row({ state, opened }: { state: SweepState; opened: Opened }) {
  const root = useRef<HTMLDivElement>(null);
  const { theme, isOwn } = useTheme(root);
  const look = { theme: theme.value, isOwn: isOwn.value };
  const back = useRef<HTMLButtonElement>(null);
  useEffect(() => back.current?.focus({ preventScroll: true }), []);
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.stopPropagation();
    state.back();
  };
  return (
    <div ref={root} class="sweep-row" onKeyDown={leave}>
      <Slip {...look} kind="sweep-back">
        <button ref={back} type="button" class="btn" onClick={() => state.back()}>
          <Icon name="left" />
          All settings
        </button>
        <b class="cut mono">{opened.title}</b>
      </Slip>
      {opened.kind === "report" && <Shell store={opened.store} />}
      {opened.kind === "diff" && <DiffShell state={opened.state} />}
      {opened.kind === "asked" && (
        <Slip {...look} kind="sweep-wait">
          <Asked />
        </Slip>
      )}
      {opened.kind === "failed" && (
        <Slip {...look} kind="sweep-wait">
          <Message note={{ title: "It could not be opened.", text: opened.text, tone: "break" }} />
        </Slip>
      )}
    </div>
  );
}

function Slip({ theme, isOwn, kind, children }: SlipProps) {
  return (
    <div class={`wb ${kind}`} data-theme={theme} data-own={isOwn || undefined}>
      {children}
    </div>
  );
}

interface SlipProps {
  theme: string;
  isOwn: boolean;
  kind: string;
  children: ComponentChildren;
}

function Asked() {
  const [isLate, late] = useReducer(() => true, false);
  useEffect(() => {
    const timer = setTimeout(() => late(undefined), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="row">
      <span class="spin" aria-hidden="true" />
      {isLate ? "The kernel is busy: it opens when the kernel answers." : "Opening the record…"}
    </p>
  );
}
