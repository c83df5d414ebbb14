// The Overview: the answer, what to change, what is missing, and where the cost goes.

import { sentence } from "../format";
import { ProgressStrip } from "../progress/progress";
import type { Store } from "../store";
import { Empty, Message } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { Document as Report, Note } from "../wire";
import { Advice } from "./advice";
import { Strip } from "./strip";
import { Where } from "./where";

export function Overview({ store }: { store: Store }) {
  const report = store.doc.value;
  if (!report) return null;
  const why = noSource(report);
  return (
    <>
      <ProgressStrip host={store.host} />
      <Strip store={store} answer={report.answer} figures={report.figures} />
      <Advice store={store} advice={report.advice} />
      <Notes store={store} report={report} why={why} />
      {why ? <Empty store={store} note={why} /> : <Where store={store} report={report} />}
    </>
  );
}

/** Why there is neither a source nor a tree, or null when there is one. */
export function noSource(report: Report): Note | null {
  if (report.sources.some((source) => source.lines.length > 0)) return null;
  if (report.modules?.length) return null;
  const text = "This report was saved without sources.";
  const told = report.panes.find((head) => head.id === "overview")?.empty;
  return told ?? { title: "No source.", text, tone: "plain" };
}

interface NotesProps {
  store: Store;
  report: Report;
  /** Why there is no source; then there is room for all of them. */
  why: Note | null;
}

/** What failed stands open, everything else behind one line unless there is room for it. */
function Notes({ store, report, why }: NotesProps) {
  const [isOpen, setOpen] = usePaneState(store, "remarks", why !== null);
  const said = report.answer.sentence.map((piece) => piece.text).join("");
  const urgent = report.notes.filter(
    (note) => note.tone === "break" && !said.includes(note.text.replace(/\.$/, "")),
  );
  const rest = [
    ...report.notes.filter((note) => note.tone !== "break"),
    ...report.missing
      .filter((note) => !why?.text.toLowerCase().startsWith(note.text.toLowerCase()))
      .map((note) => ({ ...note, title: `${sentence(note.title).replace(/[.:]$/, "")}:` })),
  ];
  const title = rest.map((note) => note.title.replace(/[.:]$/, "")).join(" · ");
  if (!urgent.length && !rest.length) return null;
  return (
    <div class="notes">
      {urgent.map((note) => (
        <Message key={note.title} store={store} note={note} />
      ))}
      {rest.length > 0 && (
        <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary data-tip={title}>
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
