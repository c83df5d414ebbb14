// The frame of a view: header, tabs, pane, inspector, status bar.

import { useId, useRef, useState } from "preact/hooks";
import { Inspector } from "../inspector/inspector";
import type { Store } from "../store";
import { TargetDialog } from "../targets/dialog";
import { Body } from "./body";
import { useKeptFocus } from "./focus";
import { Header } from "./header";
import { Help } from "./help";
import { press, useQuietLab } from "./keys";
import { RoomContext, useRoom, type Room } from "./size";
import { Splitter } from "./splitter";
import { StatusBar } from "./statusbar";
import { Tabs } from "./tabs";
import { useTheme } from "./theme";

const INSPECTOR = 276;

export function Shell({ store }: { store: Store }) {
  const root = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const panel = useId();
  const [isHelp, setHelp] = useState(false);
  const room = useRoom(root);
  const { theme, toggle } = useTheme();
  const inspector = useInspector(store, room);
  useQuietLab(root);
  const pane = store.pane.value;
  useKeptFocus(root, [pane, store.selected.value, store.doc.value]);
  const help = () => setHelp(true);
  const actions = { find: () => search.current?.focus(), help, inspector: inspector.toggle };
  return (
    <div
      ref={root}
      class={`wb ${room}`}
      data-theme={theme.value}
      data-pane={pane}
      role="region"
      aria-label={`Compilation of ${store.doc.value?.name ?? "a call"}`}
      style={{ "--insp": `${inspector.width}px` }}
      onKeyDown={(event) => press(event, store, actions)}
    >
      <Header
        store={store}
        search={search}
        isDark={theme.value === "dark"}
        toggleTheme={toggle}
        help={help}
        inspector={inspector}
      />
      <Tabs store={store} panel={panel} />
      <RoomContext.Provider value={room}>
        <Middle store={store} panel={panel} inspector={inspector} />
      </RoomContext.Provider>
      <StatusBar store={store} />
      <TargetDialog store={store} />
      <Help isOpen={isHelp} close={() => setHelp(false)} />
    </div>
  );
}

interface InspectorState {
  /** Whether it is wanted, and whether there is something to inspect as well. */
  isOpen: boolean;
  isShown: boolean;
  width: number;
  setWidth(width: number): void;
  toggle(): void;
}

/** The inspector is there unless the reader or the pane wants the room. */
function useInspector(store: Store, room: Room): InspectorState {
  const [width, setWidth] = useState(INSPECTOR);
  const [asked, setAsked] = useState<boolean | null>(null);
  const isReady = store.doc.value !== null && store.host.progress.value.status !== "running";
  const isOpen = asked ?? (room === "wide" || !store.registration(store.pane.value).isFull);
  return { isOpen, isShown: isReady && isOpen, width, setWidth, toggle: () => setAsked(!isOpen) };
}

interface MiddleProps {
  store: Store;
  panel: string;
  inspector: InspectorState;
}

/** The pane, and the inspector beside it. */
function Middle({ store, panel, inspector }: MiddleProps) {
  const { isShown, width, setWidth } = inspector;
  return (
    <div class={isShown ? "body" : "body noinsp"}>
      <div
        class="pane"
        id={panel}
        role="tabpanel"
        aria-labelledby={`${panel}-${store.pane.value}`}
        tabIndex={-1}
      >
        <Body store={store} />
      </div>
      {isShown && <Splitter width={width} set={setWidth} />}
      {isShown && <Inspector store={store} />}
    </div>
  );
}
