// The view of a report: the frame with its panes, the inspector, the search.

import { useRef, useState } from "preact/hooks";
import { Inspector } from "../inspector/inspector";
import type { Store } from "../store";
import { TargetDialog } from "../targets/dialog";
import { TITLES, type PaneId } from "../wire";
import { Body } from "./body";
import { Frame, useFrame, type Beside } from "./frame";
import { Header } from "./header";
import { pressReport, REPORT_KEYS } from "./reportkeys";
import type { Room } from "./size";
import { StatusBar } from "./statusbar";
import type { Tab } from "./tabs";

const INSPECTOR = 276;

/** The strip before there is a document: a compilation that is still going. */
const COMING: readonly Tab[] = Object.entries(TITLES).map(([id, title]) => ({ id, title }));

export function Shell({ store }: { store: Store }) {
  const frame = useFrame();
  const search = useRef<HTMLInputElement>(null);
  const inspector = useInspector(store, frame.room);
  const actions = { find: () => search.current?.focus(), inspector: inspector.toggle };
  return (
    <Frame
      frame={frame}
      view={store}
      label={`Compilation of ${store.doc.value?.name ?? "a call"}`}
      tabsLabel="Panes"
      tabs={tabsOf(store)}
      show={(pane) => store.show(pane as PaneId)}
      head={<Header store={store} search={search} inspector={inspector} />}
      beside={inspector.beside}
      status={<StatusBar store={store} />}
      dialogs={<TargetDialog store={store} />}
      keys={REPORT_KEYS}
      press={(event) => pressReport(event, store, actions)}
      signs={[store.selected.value, store.doc.value, store.isCode.value]}
    >
      <Body store={store} />
    </Frame>
  );
}

function tabsOf(store: Store): readonly Tab[] {
  const heads = store.doc.value?.panes;
  if (!heads) return COMING;
  return heads.map(({ id, title, count, is_problem, empty }) => ({
    id,
    title,
    count,
    isProblem: is_problem,
    ...(empty && { vacant: empty.title }),
  }));
}

interface InspectorState {
  isOpen: boolean;
  toggle(): void;
  /** The inspector itself, where it is open and there is something to inspect. */
  beside: Beside | null;
}

/** The inspector is there unless the reader or the pane wants the room. */
function useInspector(store: Store, room: Room): InspectorState {
  const [width, setWidth] = useState(INSPECTOR);
  const [asked, setAsked] = useState<boolean | null>(null);
  const isReady = store.doc.value !== null && store.host.progress.value.status !== "running";
  const isFull = store.registration(store.pane.value).isFull?.(store);
  const isOpen = asked ?? (room === "wide" || !isFull);
  const beside = isReady && isOpen ? { width, setWidth, panel: <Inspector store={store} /> } : null;
  return { isOpen, toggle: () => setAsked(!isOpen), beside };
}
