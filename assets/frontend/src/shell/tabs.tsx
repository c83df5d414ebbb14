// The strip of panes with their counts; empty ones stand last, each with what would fill it.

import { useLayoutEffect, useRef } from "preact/hooks";
import { whole } from "../format";
import { Icon } from "../ui/icons";
import { Unfolding } from "../ui/unfolding";
import { enterPane } from "./keeping";
import { keyOf } from "./keys";

export interface Tab {
  id: string;
  title: string;
  count?: number | null;
  isProblem?: boolean;
  /** Why there is nothing to see in it. */
  vacant?: string;
  /** What would fill it, in two words. */
  offer?: string | undefined;
}

interface StripProps {
  label: string;
  tabs: readonly Tab[];
  pane: string;
  show(pane: string): void;
  /** The id of the element that shows the pane. */
  panel: string;
  /** Of the strip, in pixels. */
  width: number;
  /** Whether the digits show them. */
  isKeyed: boolean;
}

export function Tabs({ label, tabs, pane, show, panel, width, isKeyed }: StripProps) {
  const strip = useRef<HTMLElement>(null);
  const { shown, more } = placed(tabs, pane, width);
  const here = shown.findIndex((tab) => tab.id === pane);
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
    const next = shown[(here + step + shown.length) % shown.length];
    if (next) show(next.id);
  };
  useLayoutEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>("[aria-selected=true]");
    const box = strip.current;
    if (!tab || !box) return;
    const end = tab.offsetLeft + tab.offsetWidth - box.clientWidth;
    box.scrollLeft = Math.min(Math.max(box.scrollLeft, end), tab.offsetLeft);
    if (box.matches(":focus-within")) tab.focus({ preventScroll: true });
  }, [pane, shown.length]);
  return (
    <div class="strip">
      <nav ref={strip} class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {shown.map((tab, i) => (
          <TabButton
            key={tab.id}
            tab={tab}
            isHere={i === here}
            isFirstEmpty={tab.vacant !== undefined && i > 0 && shown[i - 1]!.vacant === undefined}
            panel={panel}
            keys={isKeyed ? keyOf(tabs.indexOf(tab) + 1) : ""}
            show={show}
          />
        ))}
      </nav>
      {more.length > 0 && <More tabs={more} show={show} />}
    </div>
  );
}

const LEAST = 700; // below it there is room for content alone

/** Whether a strip has room for all panes with what the empty ones offer, in pixels. */
function fits(tabs: readonly Tab[], width: number): boolean {
  const wide = ({ title, count, isProblem, offer }: Tab) =>
    20 +
    7 * title.length +
    (count == null ? 0 : 5 + 7 * whole(count).length) +
    (isProblem ? 14 : 0) +
    (offer ? 5 + 6.5 * offer.length : 0);
  return width >= LEAST && tabs.reduce((sum, tab) => sum + wide(tab), 20) <= width;
}

/**
 * Panes with content first. Where there is no room for what the empty ones offer, it is left to the
 * panes; where there is none for their names either, they share an entry.
 */
export function placed(
  tabs: readonly Tab[],
  pane: string,
  width: number,
): { shown: Tab[]; more: Tab[] } {
  const full = tabs.filter((tab) => tab.vacant === undefined);
  const empty = tabs.filter((tab) => tab.vacant !== undefined);
  const named = fits(tabs, width) ? empty : empty.map(({ offer, ...tab }) => tab);
  const isTight = !fits([...full, ...named], width) && empty.length > 1;
  const isShown = (tab: Tab) => !isTight || tab.id === pane;
  return {
    shown: [...full, ...named.filter(isShown)],
    more: empty.filter((tab) => !isShown(tab)),
  };
}

interface TabProps {
  tab: Tab;
  isHere: boolean;
  isFirstEmpty: boolean;
  panel: string;
  keys: string;
  show(pane: string): void;
}

function TabButton({ tab, isHere, isFirstEmpty, panel, keys, show }: TabProps) {
  const words = tab.vacant ?? tab.title;
  const look = [tab.vacant !== undefined && "vacant", isFirstEmpty && "after"].filter(Boolean);
  return (
    <button
      type="button"
      role="tab"
      id={`${panel}-${tab.id}`}
      aria-selected={isHere}
      aria-controls={panel}
      tabIndex={isHere ? 0 : -1}
      class={look.join(" ") || undefined}
      data-tip={keys ? `${words} (${keys})` : words}
      onClick={() => show(tab.id)}
    >
      {tab.title}
      {tab.offer && !isHere && (
        <span class="offer" data-tip="">
          {tab.offer}
        </span>
      )}
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

/** The empty panes that have no room, in one entry. */
function More({ tabs, show }: { tabs: readonly Tab[]; show(pane: string): void }) {
  return (
    <Unfolding class="more-tabs" words={`${tabs.length} more`}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          class="vacant"
          data-tip={tab.vacant}
          onClick={() => show(tab.id)}
        >
          {tab.title}
          {tab.offer && <span class="offer">{tab.offer}</span>}
        </button>
      ))}
    </Unfolding>
  );
}
