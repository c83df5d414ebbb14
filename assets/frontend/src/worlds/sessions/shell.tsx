// The view of a session: its timeline above its tables and what to change; or one compile, opened.

import { Proposed } from "../../changes/change";
import { isAwake } from "../../host";
import { Openable, useReturn } from "../../opened/opened";
import { JobStrip } from "../../progress/job";
import { ProgressStrip } from "../../progress/progress";
import { Frame, useFrame } from "../../shell/frame";
import type { KeyWords } from "../../shell/keys";
import type { Tab } from "../../shell/tabs";
import { ShownTable } from "../../table/shown";
import { Prose } from "../../ui/basics";
import type { TableRows } from "../../wire";
import "./session.css";
import { ADVICE, type Row, type SessionState } from "./state";
import { Timeline } from "./timeline";
import type { SessionDocument } from "./wire";

const KEYS: readonly KeyWords[] = [
  { keys: ["1", "7"], words: "switch table", isRange: true },
  { keys: ["←", "→"], words: "on the timeline: previous or next step" },
  { keys: ["n", "p"], words: "on the timeline: next or previous event" },
  { keys: ["Enter"], words: "open the report of the compile" },
  { keys: ["Esc"], words: "back to the session" },
];

export function SessionShell({ state }: { state: SessionState }) {
  return (
    <Openable opening={state.opening} all="The session">
      {(isHidden) => <Whole state={state} isHidden={isHidden} />}
    </Openable>
  );
}

function Whole({ state, isHidden }: { state: SessionState; isHidden: boolean }) {
  const frame = useFrame();
  const doc = state.doc.value;
  useReturn(frame, isHidden);
  return (
    <Frame
      frame={frame}
      view={state}
      look="session"
      label="Session"
      tabsLabel="Tables of the session"
      tabs={doc ? tabsOf(doc) : []}
      show={(id) => state.show(id)}
      head={<Head doc={doc} />}
      above={doc && <Timeline state={state} doc={doc} />}
      lost={state.host.lost.value}
      job={<JobStrip host={state.host} shown="the session" />}
      status={<Status state={state} doc={doc} />}
      keys={KEYS}
    >
      <ProgressStrip host={state.host} />
      {doc && <Pane key={state.pane.value} state={state} doc={doc} />}
    </Frame>
  );
}

/** What to change stands first, where something is to be. */
function tabsOf(doc: SessionDocument): readonly Tab[] {
  const advice = { id: ADVICE, title: "What to change", count: doc.advice.length };
  return [
    ...(doc.advice.length ? [advice] : []),
    ...doc.tables.map(({ id, title, rows, more, none }) => ({
      id,
      title,
      count: rows.length + more,
      ...(rows.length ? {} : { vacant: none }),
    })),
    ...(doc.advice.length ? [] : [advice]),
  ];
}

function Head({ doc }: { doc: SessionDocument | null }) {
  const isRunning = doc?.status === "running";
  return (
    <>
      <h1>Session</h1>
      {isRunning && <span class="spin" aria-hidden="true" />}
      {doc && <span class={`tag ${isRunning ? "plain" : "captured"}`}>{doc.status}</span>}
      <span class="facts mut grow" data-tip="">
        {doc?.title}
      </span>
    </>
  );
}

function Pane({ state, doc }: { state: SessionState; doc: SessionDocument }) {
  const table = doc.tables.find(({ id }) => id === state.pane.value);
  return table ? (
    <Rows state={state} doc={doc} table={table} />
  ) : (
    <Advice state={state} doc={doc} />
  );
}

interface RowsProps {
  state: SessionState;
  doc: SessionDocument;
  table: TableRows;
}

function Rows({ state, doc, table }: RowsProps) {
  const isCompiles = table.id === "compiles";
  return (
    <>
      <ShownTable
        store={state}
        table={table}
        code={`${doc.variable}.frame("${table.id}")`}
        note={isCompiles && isAwake(state.host) ? "Click a compile to open its report." : ""}
        open={(row) => void state.open(row)}
        {...(isCompiles && { click: (row: Row) => void state.open(row) })}
      />
      <Details state={state} table={table} />
    </>
  );
}

/** What is said of the row that is selected, under its table. */
function Details({ state, table }: { state: SessionState; table: TableRows }) {
  const row = table.rows.find((each) => each.row === state.selected.value);
  if (!row?.details) return null;
  const [head, ...reasons] = String(row.details).split("\n");
  return (
    <section class="ses-details" role="group" aria-label="The selected row" tabIndex={0}>
      <h3>{head}</h3>
      <ul class="mono">
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </section>
  );
}

function Advice({ state, doc }: { state: SessionState; doc: SessionDocument }) {
  // what an older version saved has the sentences alone
  const changes = doc.changes ?? doc.advice.map((sentence) => ({ sentence, patches: [] }));
  return (
    <div class="scroll ses-advice">
      {changes.map((change) => (
        <section key={change.sentence}>
          <p>
            <Prose text={change.sentence} />
          </p>
          {change.patches.map((patch, at) => (
            <Proposed key={patch.id} host={state.host} change={patch} isOpen={!at} />
          ))}
        </section>
      ))}
      {(doc.bars.length > 1 ? doc.slow : []).map((sentence) => (
        <p key={sentence}>
          <Prose text={sentence} />
        </p>
      ))}
      {!doc.advice.length && <p class="mut">No suggested changes.</p>}
    </div>
  );
}

function Status({ state, doc }: { state: SessionState; doc: SessionDocument | null }) {
  return (
    <div class="status">
      <span class="cut" data-tip="">
        {doc?.facts}
      </span>
      <span class="grow" />
      {isAwake(state.host) && (
        <span class="keys" aria-hidden="true">
          <kbd>n</kbd> <kbd>p</kbd> events <kbd>Enter</kbd> opens
        </span>
      )}
    </div>
  );
}
