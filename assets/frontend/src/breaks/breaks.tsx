// Breaks & guards: what stopped the capture and what to write instead; what is checked on a call.

import type { Store } from "../store";
import { Listing } from "../table/columns";
import { Frame, Message, Tag } from "../ui/basics";
import type { Note, Document as Report } from "../wire";
import { BreakCard } from "./card";
import { GuardTree } from "./guards";
import { Sandbox } from "./sandbox";

export function BreaksPane({ store }: { store: Store }) {
  const report = store.doc.value;
  if (!report) return null;
  return (
    <div class="two">
      <div>
        <div class="bar">
          <h2>Graph breaks</h2>
          {report.breaks.length > 0 && <Tag tone="break">{report.breaks.length}</Tag>}
          <span class="grow" />
          <Frame store={store} name="breaks" />
        </div>
        <div class="scroll" tabIndex={0} role="group" aria-label="Graph breaks and recompiles">
          {report.breaks.map((item) => (
            <BreakCard key={item.id} store={store} item={item} />
          ))}
          {report.breaks.length === 0 && <NoBreak report={report} />}
          {report.guards.length > 0 && <Recompiles store={store} />}
        </div>
      </div>
      <div>
        <GuardTree store={store} guards={report.guards} />
        {report.guards.length > 0 && <Sandbox store={store} sandbox={report.sandbox} />}
      </div>
    </div>
  );
}

/** All was captured, or the call failed for a reason of its own. */
function NoBreak({ report }: { report: Report }) {
  const failures = report.notes.filter((note) => note.tone === "break");
  const whole: Note = {
    title: "No graph break.",
    text: "The whole call was captured in one graph.",
    tone: "captured",
  };
  return (failures.length ? failures : [whole]).map((note) => (
    <Message key={note.title} note={note} />
  ));
}

function Recompiles({ store }: { store: Store }) {
  const recompiles = store.doc.value?.recompiles ?? [];
  if (!recompiles.length)
    return (
      <section class="pad">
        <h3>Recompiles</h3>
        <p class="mut">None: no guard failed, so nothing was recompiled.</p>
      </section>
    );
  return (
    <>
      <div class="pad row">
        <h3>Recompiles</h3>
        <span class="grow" />
        <Frame store={store} name="recompiles" />
      </div>
      <Listing store={store} label="Recompiles" table="recompiles" rows={recompiles} />
    </>
  );
}
