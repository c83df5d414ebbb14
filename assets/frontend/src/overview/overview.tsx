// The Overview: the figures, what is missing, and the user's source with what became of each line.

import type { Store } from "../store";
import { Message } from "../ui/basics";
import { ProgressStrip } from "../progress/progress";
import type { Document as Report, Figure } from "../wire";
import { Heat } from "./heat";

export function Overview({ store }: { store: Store }) {
  const report = store.doc.value;
  if (!report) return null;
  return (
    <>
      <ProgressStrip store={store} />
      <Figures store={store} figures={report.figures} />
      <Notes store={store} report={report} />
      <Heat store={store} sources={report.sources} />
    </>
  );
}

/** What failed stands open, everything else behind one line. */
function Notes({ store, report }: { store: Store; report: Report }) {
  const urgent = report.notes.filter((note) => note.tone === "break");
  const rest = [...report.notes.filter((note) => note.tone !== "break"), ...report.missing];
  const title = rest.map((note) => note.title.replace(/\.$/, "")).join(" · ");
  if (!urgent.length && !rest.length) return null;
  return (
    <div class="notes">
      {urgent.map((note) => (
        <Message key={note.title} store={store} note={note} />
      ))}
      {rest.length > 0 && (
        <details>
          <summary title={title}>
            <b>{rest.length === 1 ? "1 remark" : `${rest.length} remarks`}</b> {title}
          </summary>
          {rest.map((note) => (
            <Message key={note.title} store={store} note={note} />
          ))}
        </details>
      )}
    </div>
  );
}

function Figures({ store, figures }: { store: Store; figures: Figure[] }) {
  return (
    <div class="stats" role="group" aria-label="Figures">
      {figures.map((figure) => (
        <button
          type="button"
          key={figure.label}
          title={`${figure.note} (opens ${figure.pane})`}
          onClick={() => store.show(figure.pane)}
        >
          <span class="lab">{figure.label}</span>
          <span class="val">{figure.value}</span>
          <span class="sub">{figure.note}</span>
        </button>
      ))}
    </div>
  );
}
