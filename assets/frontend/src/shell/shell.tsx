// The frame of a view: header, tabs, pane, inspector, status bar.

import { useId, useRef, useState } from "preact/hooks";
import { Inspector } from "../inspector/inspector";
import type { Store } from "../store";
import { Body } from "./body";
import { useKeptFocus } from "./focus";
import { Header } from "./header";
import { Help } from "./help";
import { press, useQuietLab } from "./keys";
import { RoomContext, useRoom } from "./size";
import { Splitter } from "./splitter";
import { StatusBar } from "./statusbar";
import { Tabs } from "./tabs";
import { useTheme } from "./theme";

const INSPECTOR = 276;
/** Panes whose columns need the room more than the inspector does. */
const FULL = new Set(["kernels"]);

export function Shell({ store }: { store: Store }) {
  const root = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const panel = useId();
  const [width, setWidth] = useState(INSPECTOR);
  const [asked, setAsked] = useState<boolean | null>(null);
  const [isHelp, setHelp] = useState(false);
  const room = useRoom(root);
  const { theme, toggle } = useTheme();
  useQuietLab(root);
  const pane = store.pane.value;
  useKeptFocus(root, [pane, store.selected.value, store.doc.value]);
  const isReady = store.doc.value !== null && store.host.progress.value.status !== "running";
  const wanted = asked ?? (room === "wide" || !FULL.has(pane));
  const hasInspector = isReady && wanted;
  const flip = () => setAsked(!wanted);
  const actions = {
    find: () => search.current?.focus(),
    help: () => setHelp(true),
    inspector: flip,
  };
  return (
    <div
      ref={root}
      class={`wb ${room}`}
      data-theme={theme.value}
      data-pane={pane}
      role="region"
      aria-label={`Compilation of ${store.doc.value?.name ?? "a call"}`}
      style={{ "--insp": `${width}px` }}
      onKeyDown={(event) => press(event, store, actions)}
    >
      <Header
        store={store}
        search={search}
        isDark={theme.value === "dark"}
        toggleTheme={toggle}
        help={() => setHelp(true)}
        inspector={{ isOpen: wanted, toggle: flip }}
      />
      <Tabs store={store} panel={panel} />
      <div class={hasInspector ? "body" : "body noinsp"}>
        <div
          class="pane"
          id={panel}
          role="tabpanel"
          aria-labelledby={`${panel}-${pane}`}
          tabIndex={-1}
        >
          <RoomContext.Provider value={room}>
            <Body store={store} />
          </RoomContext.Provider>
        </div>
        {hasInspector && <Splitter width={width} set={setWidth} />}
        {hasInspector && <Inspector store={store} />}
      </div>
      <StatusBar store={store} />
      <Help isOpen={isHelp} close={() => setHelp(false)} />
    </div>
  );
}
