// The view of a profile: its answer, timeline, modules and tables; beside them what to change.

import { useRef } from "preact/hooks";
import { plural } from "../../format";
import { Openable, useReturn } from "../../opened/opened";
import { Frame, useFrame } from "../../shell/frame";
import type { KeyWords } from "../../shell/keys";
import { SearchBox } from "../../shell/searchbox";
import { ShownTable } from "../../table/shown";
import { Button } from "../../ui/basics";
import { usePaneState } from "../../ui/kept";
import { isAwake } from "../../host";
import type { Piece } from "../../wire";
import type { ProfileDocument } from "./wire";
import { Beside } from "./beside";
import { findableIn } from "./finding";
import { Modules } from "./icicle";
import { CELLS } from "./kernels";
import "./profile.css";
import type { ProfileState } from "./state";
import { steer, Timeline } from "./timeline";

const KEYS: readonly KeyWords[] = [
  { keys: ["1", "9"], words: "switch table", isRange: true },
  { keys: ["/"], words: "find" },
  { keys: ["W", "S"], words: "nearer, further" },
  { keys: ["A", "D"], words: "earlier, later" },
  { keys: ["F"], words: "fit the selection or the whole trace" },
  { keys: ["Home"], words: "on the timeline: show the whole trace" },
  { keys: ["←", "→"], words: "on the timeline: previous or next event" },
  { keys: ["Ctrl", "wheel"], words: "on the timeline: zoom; with Shift, scroll" },
  { keys: ["↑", "↓", "←", "→"], words: "in the modules: move; Enter zooms in, Esc zooms out" },
  { keys: ["Esc"], words: "clear the selection" },
];
const STEERING = ["w", "a", "s", "d", "f"];
const WIDTH = 320;

export function ProfileShell({ state }: { state: ProfileState }) {
  return (
    <Openable opening={state.opening} all="The profile">
      {(isHidden) => <Whole state={state} isHidden={isHidden} />}
    </Openable>
  );
}

function Whole({ state, isHidden }: { state: ProfileState; isHidden: boolean }) {
  const frame = useFrame();
  useReturn(frame, isHidden);
  const doc = state.doc.value;
  const search = useRef<HTMLInputElement>(null);
  const [width, setWidth] = usePaneState(state, "width", WIDTH);
  const pressed = (event: KeyboardEvent) => {
    if (event.altKey) return false;
    if (event.key === "/") {
      search.current?.focus();
      return true;
    }
    if (event.key === "Escape") {
      state.clear();
      return true;
    }
    return STEERING.includes(event.key.toLowerCase()) && steer(state, event.key);
  };
  return (
    <Frame
      frame={frame}
      view={state}
      look="profile"
      label="Profile"
      tabsLabel="Tables of the profile"
      tabs={(doc?.tables ?? []).map(({ id, title, rows, more, none }) => ({
        id,
        title,
        count: rows.length + more || null,
        ...(rows.length ? {} : { vacant: none }),
      }))}
      show={(id) => state.show(id)}
      head={
        <>
          <Head doc={doc} />
          <SearchBox of={findableIn(state)} field={search} />
        </>
      }
      above={doc && <Answer state={state} doc={doc} />}
      lost={state.host.lost.value}
      beside={doc && { width, setWidth, panel: <Beside state={state} doc={doc} /> }}
      status={<Status state={state} />}
      keys={KEYS}
      press={pressed}
    >
      {doc && <Pane state={state} doc={doc} />}
    </Frame>
  );
}

function Head({ doc }: { doc: ProfileDocument | null }) {
  return (
    <>
      <h1>{doc?.title ?? "Profile"}</h1>
      {doc && <span>{doc.gpu}</span>}
      <span class="facts mut grow" data-tip="">
        {doc?.facts}
      </span>
    </>
  );
}

const FIRST = 2;

function Answer({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  const { answer, warnings, notes } = doc;
  const [isOpen, open] = usePaneState(state, "details", false);
  return (
    <section class="answer" role="group" aria-label="Answer">
      <p>
        <Pieces state={state} pieces={answer.sentence} />
      </p>
      <div class="below">
        {answer.chips.map(({ table, pieces }) => (
          <button key={table} type="button" class="chip" onClick={() => state.show(table)}>
            <span>
              <Pieces state={state} pieces={pieces} />
            </span>
          </button>
        ))}
        <Button look="link" isOpen={isOpen} press={() => open(!isOpen)}>
          {isOpen ? "Less" : moreOf(doc)}
        </Button>
      </div>
      {warnings.slice(0, isOpen ? undefined : FIRST).map((note) => (
        <p key={note} class="prof-note">
          {note}
        </p>
      ))}
      {isOpen && (
        <>
          <dl class="details" aria-label="Figures">
            {answer.details.map(([label, value]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          {notes.map((note) => (
            <p key={note} class="mut">
              {note}
            </p>
          ))}
        </>
      )}
    </section>
  );
}

/** What *Details* has besides figures. */
function moreOf({ warnings, notes }: ProfileDocument): string {
  const more = Math.max(0, warnings.length - FIRST) + notes.length;
  return more ? `Details and ${plural(more, "note")}` : "Details";
}

function Pieces({ state, pieces }: { state: ProfileState; pieces: Piece[] }) {
  return (
    <>
      {pieces.map(({ text, look, select }, i) => {
        if (select !== null)
          return (
            <Button key={i} look="link" press={() => state.select(select)}>
              {text}
            </Button>
          );
        if (look === "figure") return <b key={i}>{text}</b>;
        return look === "code" ? <code key={i}>{text}</code> : text;
      })}
    </>
  );
}

function Pane({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  const table = doc.tables.find(({ id }) => id === state.pane.value) ?? doc.tables[0];
  return (
    <>
      <Timeline state={state} doc={doc} />
      {doc.boxes.length > 0 && <Modules state={state} doc={doc} />}
      {table && (
        <ShownTable
          key={table.id}
          store={state}
          table={table}
          code={`${doc.variable}.frame("${table.id}")`}
          cells={CELLS}
        />
      )}
    </>
  );
}

function Status({ state }: { state: ProfileState }) {
  return (
    <div class="status">
      <span class="path" role="status" aria-live="polite">
        {state.card.value?.path ?? "Nothing selected"}
      </span>
      <span class="grow" />
      {isAwake(state.host) && (
        <span class="keys" aria-hidden="true">
          <kbd>Esc</kbd> clear <kbd>?</kbd> keys
        </span>
      )}
    </div>
  );
}
