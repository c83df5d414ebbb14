// The strip of panes with their counts; a pane with a problem says so.

import { useEffect, useRef } from "preact/hooks";
import { whole } from "../format";
import { Icon } from "../ui/icons";
import { enterPane } from "./keeping";
import { keyOf } from "./keys";

export interface Tab {
  id: string;
  title: string;
  count?: number | null;
  isProblem?: boolean;
  /** Why there is nothing to see in it. */
  vacant?: string;
}

interface StripProps {
  label: string;
  tabs: readonly Tab[];
  pane: string;
  show(pane: string): void;
  /** The id of the element that shows the pane. */
  panel: string;
}

export function Tabs({ label, tabs, pane, show, panel }: StripProps) {
  const strip = useRef<HTMLElement>(null);
  const here = tabs.findIndex((tab) => tab.id === pane);
  const move = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" && !event.altKey) {
      event.preventDefault();
      enterPane(strip.current);
      return;
    }
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (!step || event.altKey) return;
    event.preventDefault();
    const next = tabs[(here + step + tabs.length) % tabs.length];
    if (next) show(next.id);
  };
  useEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>("[aria-selected=true]");
    const box = strip.current;
    if (!tab || !box) return;
    const end = tab.offsetLeft + tab.offsetWidth - box.clientWidth;
    box.scrollLeft = Math.min(Math.max(box.scrollLeft, end), tab.offsetLeft);
    if (box.matches(":focus-within")) tab.focus({ preventScroll: true });
  }, [pane, tabs.length]);
  return (
    <nav ref={strip} class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab, i) => (
        <TabButton
          key={tab.id}
          tab={tab}
          isHere={i === here}
          panel={panel}
          keys={keyOf(i + 1)}
          show={show}
        />
      ))}
    </nav>
  );
}

interface TabProps {
  tab: Tab;
  isHere: boolean;
  panel: string;
  keys: string;
  show(pane: string): void;
}

function TabButton({ tab, isHere, panel, keys, show }: TabProps) {
  const words = tab.vacant ?? tab.title;
  return (
    <button
      type="button"
      role="tab"
      id={`${panel}-${tab.id}`}
      aria-selected={isHere}
      aria-controls={panel}
      tabIndex={isHere ? 0 : -1}
      class={tab.vacant === undefined ? undefined : "vacant"}
      data-tip={keys ? `${words} (${keys})` : words}
      onClick={() => show(tab.id)}
    >
      {tab.title}
      {tab.isProblem ? (
        <span class="n bad">
          <Icon name="break" />
          {tab.count}
        </span>
      ) : (
        tab.count != null && <span class="n">{whole(tab.count)}</span>
      )}
    </button>
  );
}
