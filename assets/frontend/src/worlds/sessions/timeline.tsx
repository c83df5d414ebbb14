// The steps of a session: a bar for each, with what its time went into and what happened in it.

import { useId } from "preact/hooks";
import { barAt, idOf, type SessionState } from "./state";
import type { SessionBar, SessionDocument } from "./wire";

const PARTS = ["compiling", "in compiled graphs", "outside graphs"];
const MARKS = "↻ recompile  ✂ graph break  ▼ runs eagerly  ■ no CUDA graph";

export function Timeline({ state, doc }: { state: SessionState; doc: SessionDocument }) {
  const bar = state.bar.value;
  const last = doc.bars.at(-1);
  return (
    <section class="ses-top" role="group" aria-label="Timeline">
      {last && <Legend first={doc.bars[0]!.first} last={last.last} />}
      {last && <Bars state={state} doc={doc} />}
      <p class="said" role="status">
        {bar ? (
          <>
            {bar.why || bar.words} {bar.why && <span class="mut">{bar.words}</span>}
          </>
        ) : (
          doc.slow[0]
        )}
      </p>
      {doc.notes.map((note) => (
        <p key={note} class="mut">
          {note}
        </p>
      ))}
    </section>
  );
}

function Legend({ first, last }: { first: number; last: number }) {
  return (
    <div class="row">
      {PARTS.map((part, at) => (
        <span key={part} class="row">
          <i class={`steps-${at}`} aria-hidden="true" />
          {part}
        </span>
      ))}
      <span class="mut cut grow">{MARKS}</span>
      <span class="mut">{first === last ? `step ${first}` : `step ${first} to ${last}`}</span>
    </div>
  );
}

function Bars({ state, doc }: { state: SessionState; doc: SessionDocument }) {
  const prefix = useId();
  const bar = state.bar.value;
  const press = (event: KeyboardEvent) => {
    if (event.altKey) return;
    const next = barAt(doc.bars, bar, event.key);
    if (next) state.select(idOf(next));
    else if (event.key === "Enter" && bar) void state.openBar(bar);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="steps-chart"
      role="listbox"
      aria-label="Steps. Arrow keys move, n and p go to the next and previous event, Enter opens the compile."
      aria-activedescendant={bar && `${prefix}-${bar.first}`}
      tabIndex={0}
      onKeyDown={press}
    >
      {doc.scale.map(([height, words]) => (
        <span key={words} aria-hidden="true" style={{ bottom: `${height * 100}%` }}>
          {words}
        </span>
      ))}
      {doc.bars.map((each) => (
        <Bar key={each.first} id={`${prefix}-${each.first}`} bar={each} state={state} />
      ))}
    </div>
  );
}

function Bar({ id, bar, state }: { id: string; bar: SessionBar; state: SessionState }) {
  return (
    <div
      id={id}
      role="option"
      class="steps-bar"
      aria-selected={state.bar.value === bar}
      aria-label={bar.words}
      data-tip={bar.why || bar.words}
      onClick={() => state.select(idOf(bar))}
      onDblClick={() => void state.openBar(bar)}
    >
      {bar.heights.map((height, at) => (
        <i key={at} class={`steps-${at}`} style={{ height: `${height * 100}%` }} />
      ))}
      {bar.marks && <b aria-hidden="true">{bar.marks}</b>}
    </div>
  );
}
