// The frame of the view of a sweep: header, progress, tabs, pane; or one row, opened.

import { useEffect, useId, useReducer, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { DiffShell } from "../diff/shell";
import { plural } from "../format";
import { ThemeButton } from "../shell/buttons";
import { Shell } from "../shell/shell";
import { useQuietLab } from "../shell/keys";
import { RoomContext, useRoom } from "../shell/size";
import { useTheme } from "../shell/theme";
import { Message } from "../ui/basics";
import { Icon } from "../ui/icons";
import type { SweepDocument } from "../wire";
import { Axes } from "./axes";
import { Heat } from "./heat";
import { Pareto } from "./pareto";
import { Progress } from "./progress";
import { Rounds } from "./rounds";
import type { Opened, SweepState } from "./state";
import "./sweep.css";
import { Settings } from "./table";

const LATE_MS = 2000;
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
  const root = useRef<HTMLDivElement>(null);
  const panel = useId();
  const room = useRoom(root);
  const { theme, toggle } = useTheme();
  useQuietLab(root);
  const doc = state.doc.value;
  const wasHidden = useRef(false);
  useEffect(() => {
    if (wasHidden.current && !isHidden)
      root.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
    wasHidden.current = isHidden;
  }, [isHidden]);
  return (
    <div
      ref={root}
      class={`wb sweep ${room} ${state.host.kind}`}
      data-theme={theme.value}
      data-pane={state.pane.value}
      role="region"
      aria-label={`Sweep of ${doc?.name ?? "a call"}`}
      style={{ "--rows": state.rows.value.length }}
    >
      <div class="head">
        <h1>{doc?.name ?? "Sweep"}</h1>
        {doc && <span class={`tag ${toneOf(doc)}`}>{WORDS[doc.status]}</span>}
        <span class="facts mut grow">{doc ? spaceOf(doc) : ""}</span>
        <ThemeButton isDark={theme.value === "dark"} toggle={toggle} />
      </div>
      <Progress state={state} />
      <Tabs state={state} panel={panel} />
      <RoomContext.Provider value={room}>
        <div
          class="pane"
          id={panel}
          role="tabpanel"
          aria-labelledby={`${panel}-${state.pane.value}`}
          tabIndex={-1}
        >
          {doc && <Pane state={state} doc={doc} />}
        </div>
      </RoomContext.Provider>
      <Status state={state} />
    </div>
  );
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
      return <Rounds state={state} />;
    default:
      return <Settings state={state} doc={doc} />;
  }
}

function Tabs({ state, panel }: { state: SweepState; panel: string }) {
  const { panes } = state;
  const here = panes.findIndex(({ id }) => id === state.pane.value);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step || event.altKey) return;
    event.preventDefault();
    const next = panes[(here + step + panes.length) % panes.length]!;
    state.show(next.id);
    document.getElementById(`${panel}-${next.id}`)?.focus({ preventScroll: true });
  };
  return (
    <nav class="tabs" role="tablist" aria-label="Views of the sweep" onKeyDown={move}>
      {panes.map(({ id, title }, n) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`${panel}-${id}`}
          aria-selected={n === here}
          aria-controls={panel}
          tabIndex={n === here ? 0 : -1}
          onClick={() => state.show(id)}
        >
          {title}
          {id === "table" && <span class="n">{state.rows.value.length}</span>}
        </button>
      ))}
    </nav>
  );
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
  const { theme } = useTheme();
  const back = useRef<HTMLButtonElement>(null);
  useEffect(() => back.current?.focus({ preventScroll: true }), []);
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.stopPropagation();
    state.back();
  };
  return (
    <div class="sweep-row" onKeyDown={leave}>
      <Frame theme={theme.value} look="sweep-back">
        <button ref={back} type="button" class="btn" onClick={() => state.back()}>
          <Icon name="left" />
          All settings
        </button>
        <b class="cut mono">{opened.title}</b>
      </Frame>
      {opened.kind === "report" && <Shell store={opened.store} />}
      {opened.kind === "diff" && <DiffShell state={opened.state} />}
      {opened.kind === "asked" && (
        <Frame theme={theme.value} look="sweep-wait">
          <Asked />
        </Frame>
      )}
      {opened.kind === "failed" && (
        <Frame theme={theme.value} look="sweep-wait">
          <Message note={{ title: "It could not be opened.", text: opened.text, tone: "break" }} />
        </Frame>
      )}
    </div>
  );
}

function Frame({ theme, look, children }: FrameProps) {
  return (
    <div class={`wb ${look}`} data-theme={theme}>
      {children}
    </div>
  );
}

interface FrameProps {
  theme: string;
  look: string;
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
