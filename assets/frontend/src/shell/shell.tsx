// The view of a report: the frame with its panes, the inspector, the search, its keys.

import { Component, type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Action } from "../blocks/action";
import { BlocksPane } from "../blocks/pane";
import { askedInspector, Inspector } from "../inspector/inspector";
import { opensInPlace } from "../overview/where";
import { JobStrip } from "../progress/job";
import { ProgressStrip, ProgressView } from "../progress/progress";
import type { Store } from "../store";
import { TargetDialog } from "../targets/dialog";
import { Empty, plain, Problem } from "../ui/basics";
import type { PaneId } from "../wire";
import { Frame, type FrameRoot, useFrame } from "./frame";
import { Header, HeaderMenu } from "./header";
import { isPressable, type KeyWords } from "./keys";
import {
  partsOf,
  pressExpert,
  questionOf,
  Questions,
  questionsOf,
  showQuestion,
} from "./questions";
import { StatusBar } from "./statusbar";

const INSPECTOR = 320;

export function Shell({ store }: { store: Store }) {
  const frame = useFrame();
  const search = useRef<HTMLInputElement>(null);
  const inspector = useInspector(store, frame);
  const actions = { find: () => search.current?.focus(), inspector: inspector.toggle };
  return (
    <Frame
      frame={frame}
      view={store}
      label={`Compilation of ${store.doc.value?.name ?? "a call"}`}
      tabsLabel="Parts of the answer"
      tabs={partsOf(store)}
      show={(pane) => store.show(pane as PaneId)}
      questions={{
        strip: (panel) => <Questions store={store} panel={panel} />,
        tabs: questionsOf(store),
        show: (id) => showQuestion(store, id),
        named: namedBy(store),
      }}
      head={<Header store={store} search={search} />}
      menu={<HeaderMenu store={store} inspector={inspector} />}
      lost={store.host.lost.value}
      job={
        store.doc.value && (
          <JobStrip host={store.host} shown={`the report for ${store.doc.value.target}`} />
        )
      }
      beside={inspector.beside}
      status={(panel) => <StatusBar store={store} panel={panel} />}
      dialogs={<TargetDialog store={store} />}
      keys={REPORT_KEYS}
      press={(event) => pressReport(event, store, actions)}
      clicking={(event) => store.pair.listen(event)}
      signs={[store.selected.value, store.doc.value, store.isCode.value]}
    >
      <Body store={store} />
    </Frame>
  );
}

/** The end of the id of the tab that names the pane: its own, else that of its question. */
function namedBy(store: Store): string {
  const pane = store.pane.value;
  if (!store.doc.value) return `q-${questionsOf(store)[0]!.id}`;
  const question = questionOf(store, pane);
  return question && partsOf(store).length < 2 ? `q-${question.id}` : pane;
}

/**
 * The inspector comes with a selection; in the Overview it opens under the selected line. The reader
 * may hide it, or show it before anything is selected.
 */
function useInspector(store: Store, frame: FrameRoot) {
  const [width, setWidth] = useState(INSPECTOR);
  const asked = askedInspector(store);
  const isReady = store.doc.value !== null;
  const isFull = store.registration(store.pane.value).isFull?.(store);
  const isPaired = store.pair.picked.value.length === 2;
  const hasSubject = store.selected.value !== null && (frame.room === "wide" || !isFull);
  const isOpen = asked.value ?? (isPaired || hasSubject);
  const isBeside = isReady && isOpen && !opensInPlace(store);
  const beside = isBeside ? { width, setWidth, panel: <Inspector store={store} /> } : null;
  return { isOpen, toggle: () => (asked.value = !isOpen), beside };
}

function Body({ store }: { store: Store }) {
  const report = store.doc.value;
  const { status } = store.host.progress.value;
  const id = store.pane.value;
  const failure = store.host.failure.value;
  const { Pane, Remedy, isHome, own } = store.registration(id);
  if (status === "running" && !report) return <ProgressView store={store} />;
  if (!report) {
    if (status === "failed" || status === "cancelled") return <ProgressView store={store} />;
    const why = store.host.lost.value ?? failure;
    const note = why
      ? plain("Nothing to show.", failure ?? "The report was not loaded.")
      : plain("Loading", "Loading the report.");
    return <Empty store={store} note={note} />;
  }
  const head = store.row("panes", id);
  return (
    <>
      <Problem title="The kernel did not answer." text={failure} />
      {!isHome && <ProgressStrip host={store.host} />}
      {head?.empty && !isHome ? (
        <Empty store={store} note={head.empty}>
          {head.empty.action && <Action store={store} block={head.empty.action} />}
          {Remedy && <Remedy store={store} />}
        </Empty>
      ) : (
        <Guarded key={id} store={store}>
          {Pane ? (
            <Pane store={store} />
          ) : (
            <BlocksPane
              store={store}
              title={head?.title ?? ""}
              blocks={head?.blocks ?? []}
              own={own}
            />
          )}
        </Guarded>
      )}
    </>
  );
}

/** A pane that fails says so and leaves the rest of the view alive. */
class Guarded extends Component<{ store: Store; children: ComponentChildren }, { error?: Error }> {
  override state: { error?: Error } = {};

  override componentDidCatch(error: Error): void {
    console.error(error);
    this.setState({ error });
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const text = `${error.message}. The other panes work; please report it with the saved report.`;
    return (
      <Empty store={this.props.store} note={{ title: "This pane failed.", text, tone: "break" }} />
    );
  }
}

const REPORT_KEYS: readonly KeyWords[] = [
  { keys: ["1", "5"], words: "the five questions", isRange: true },
  { keys: ["g", "k", "t", "u", "a"], words: "graphs, kernels, compile time, tuning, all tables" },
  { keys: ["/"], words: "find; the name of a pane and Enter: switch to it" },
  { keys: ["↑", "↓"], words: "previous or next row or line" },
  { keys: ["↑", "↓", "←", "→"], words: "in the graph: walk along edges and siblings" },
  { keys: ["Shift", "↑", "↓", "←", "→"], words: "in the graph: move the view" },
  { keys: ["Page Up", "Page Down"], words: "in the graph: zoom in and out" },
  { keys: ["Ctrl", "wheel"], words: "in the graph: zoom; the wheel alone after a click in it" },
  { keys: ["Home", "End"], words: "in the graph: show all, show the selection" },
  { keys: ["Space"], words: "in the graph: open or close the box" },
  { keys: ["←", "→"], words: "in a tree: close and open" },
  { keys: ["m"], words: "in the Overview: lines or modules" },
  { keys: ["s"], words: "in the Overview: the source" },
  { keys: ["e"], words: "in assembly: explain the instruction of the line" },
  { keys: ["n", "p"], words: "in a comparison: next and previous difference" },
  { keys: ["p"], words: "in the memory chart: the peak" },
  { keys: ["Enter"], words: "open the code of the selection" },
  { keys: ["Alt", "←", "→"], words: "back and forward through selections" },
  { keys: ["i"], words: "show or hide the inspector" },
  { keys: ["Ctrl", "click"], words: "pick a second line, node or kernel: why are they not fused?" },
  { keys: ["w"], words: "pick the selection for that question" },
  { keys: ["Esc"], words: "clear the pick, then the selection" },
];

interface Actions {
  find(): void;
  inspector(): void;
}

/** Picks the selected thing, as a click with Ctrl does. */
function pickSelected(store: Store): void {
  const selected = store.selected.peek();
  if (selected !== null) store.pair.pick(selected);
}

/** First what was picked, then what is selected. */
function clear(store: Store): void {
  if (store.pair.picked.peek().length) store.pair.clear();
  else store.select(null);
}

/** Whether the view of a report has answered a key. */
function pressReport(event: KeyboardEvent, store: Store, actions: Actions): boolean {
  if (event.altKey) {
    if (event.key === "ArrowLeft") store.back();
    else if (event.key === "ArrowRight") store.forward();
    else return false;
  } else if (event.key === "/") actions.find();
  else if (event.key === "i") actions.inspector();
  else if (event.key === "w") pickSelected(store);
  else if (event.key === "Escape") clear(store);
  else if (event.key === "Enter" && !isPressable(event.target)) store.openCode();
  else if (store.registration(store.pane.peek()).press?.(event, store)) return true;
  else if (pressExpert(event, store)) return true;
  else return false;
  return true;
}
