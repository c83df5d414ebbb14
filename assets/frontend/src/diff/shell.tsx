// The frame of the view of two compilations: header, tabs, pane, status bar.

import { useEffect, useId, useRef } from "preact/hooks";
import { plural } from "../format";
import { ThemeButton } from "../shell/buttons";
import { isField, useQuietLab } from "../shell/keys";
import { RoomContext, useRoom } from "../shell/size";
import { useTheme } from "../shell/theme";
import "./diff.css";
import { Kernels } from "./kernels";
import { Part } from "./part";
import { SUMMARY, type DiffState } from "./state";
import { Summary } from "./summary";

const DIGITS = "1234567890";

export function DiffShell({ state }: { state: DiffState }) {
  const root = useRef<HTMLDivElement>(null);
  const panel = useId();
  const room = useRoom(root);
  const { theme, toggle } = useTheme();
  useQuietLab(root);
  const { a, b } = state.doc;
  return (
    <div
      ref={root}
      class={`wb diff ${room}`}
      data-theme={theme.value}
      role="region"
      aria-label={`${a.name} and ${b.name}, compared`}
      onKeyDown={(event) => press(event, state)}
    >
      <div class="head">
        <h1 title={`${a.name} → ${b.name}`}>{`${a.name} → ${b.name}`}</h1>
        <span class="tag plain">{state.doc.is_same ? "the same" : "differ"}</span>
        <span class="facts mut grow" title={`a: ${a.words}; b: ${b.words}`}>
          {`a: ${a.words} · b: ${b.words}`}
        </span>
        <ThemeButton isDark={theme.value === "dark"} toggle={toggle} />
      </div>
      <Tabs state={state} panel={panel} />
      <RoomContext.Provider value={room}>
        <div
          class="pane"
          id={panel}
          role="tabpanel"
          aria-labelledby={`${panel}-${state.pane.value}`}
          tabIndex={-1}
        >
          <Pane key={state.pane.value} state={state} />
        </div>
      </RoomContext.Provider>
      <Status state={state} />
    </div>
  );
}

function Pane({ state }: { state: DiffState }) {
  const id = state.pane.value;
  const part = state.part(id);
  if (id === SUMMARY || !part) return <Summary state={state} />;
  if (id === "kernels" && state.doc.kernels.length) return <Kernels state={state} />;
  return <Part state={state} part={part} />;
}

function Tabs({ state, panel }: { state: DiffState; panel: string }) {
  const strip = useRef<HTMLElement>(null);
  const { heads } = state;
  const here = heads.findIndex((head) => head.id === state.pane.value);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step || event.altKey) return;
    event.preventDefault();
    state.show(heads[(here + step + heads.length) % heads.length]!.id);
  };
  useEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>("[aria-selected=true]");
    tab?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (strip.current?.contains(document.activeElement)) tab?.focus({ preventScroll: true });
  }, [here]);
  return (
    <nav ref={strip} class="tabs" role="tablist" aria-label="Parts" onKeyDown={move}>
      {heads.map((head, n) => (
        <button
          key={head.id}
          type="button"
          role="tab"
          id={`${panel}-${head.id}`}
          aria-selected={n === here}
          aria-controls={panel}
          tabIndex={n === here ? 0 : -1}
          title={DIGITS[n] ? `${head.title} (${DIGITS[n]})` : head.title}
          onClick={() => state.show(head.id)}
        >
          {head.title}
          {head.count !== null && <span class="n">{head.count.toLocaleString("en")}</span>}
        </button>
      ))}
    </nav>
  );
}

function Status({ state }: { state: DiffState }) {
  const part = state.part(state.pane.value);
  const parts = state.heads.length - 1;
  return (
    <div class="status">
      <span class="path" role="status" aria-live="polite">
        {part
          ? `${part.title}: ${part.differ} differ`
          : `Differences in ${plural(parts, "part")}, seen from a to b`}
      </span>
      <span class="grow" />
      <span class="keys" aria-hidden="true">
        <kbd>1</kbd> … <kbd>0</kbd> parts
      </span>
      <span class="keys" aria-hidden="true">
        <kbd>n</kbd> <kbd>p</kbd> differences in a source
      </span>
    </div>
  );
}

function press(event: KeyboardEvent, state: DiffState): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isField(event.target)) return;
  const head = state.heads[event.key.length === 1 ? DIGITS.indexOf(event.key) : -1];
  if (!head) return;
  event.preventDefault();
  state.show(head.id);
}
