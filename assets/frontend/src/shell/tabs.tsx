// The strip of panes with their counts; a pane with a problem says so.

import { useEffect, useRef } from "preact/hooks";
import type { Store } from "../store";
import { Icon } from "../ui/icons";
import { TITLES, type PaneHead, type PaneId } from "../wire";
import { keyOf } from "./keys";

/** The strip before there is a document: a compilation that is still going. */
const COMING: PaneHead[] = Object.entries(TITLES).map(([id, title]) => ({
  id: id as PaneId,
  title,
  count: null,
  is_problem: false,
  empty: null,
}));

export function Tabs({ store, panel }: { store: Store; panel: string }) {
  const strip = useRef<HTMLElement>(null);
  const heads = store.doc.value?.panes ?? COMING;
  const here = heads.findIndex((head) => head.id === store.pane.value);
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (!step || event.altKey) return;
    event.preventDefault();
    const next = heads[(here + step + heads.length) % heads.length];
    if (next) store.show(next.id);
  };
  useEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>("[aria-selected=true]");
    const box = strip.current;
    if (!tab || !box) return;
    const end = tab.offsetLeft + tab.offsetWidth - box.clientWidth;
    box.scrollLeft = Math.min(Math.max(box.scrollLeft, end), tab.offsetLeft);
    if (box.contains(document.activeElement)) tab.focus({ preventScroll: true });
  }, [store.pane.value, heads.length]);
  return (
    <nav ref={strip} class="tabs" role="tablist" aria-label="Panes" onKeyDown={move}>
      {heads.map((head, i) => (
        <Tab key={head.id} store={store} head={head} panel={panel} number={i + 1} />
      ))}
    </nav>
  );
}

interface TabProps {
  store: Store;
  head: PaneHead;
  panel: string;
  number: number;
}

function Tab({ store, head, panel, number }: TabProps) {
  const isHere = store.pane.value === head.id;
  const key = keyOf(number);
  return (
    <button
      type="button"
      role="tab"
      id={`${panel}-${head.id}`}
      aria-selected={isHere}
      aria-controls={panel}
      tabIndex={isHere ? 0 : -1}
      class={head.empty ? "vacant" : undefined}
      title={head.empty ? `${head.empty.title} (${key})` : `${head.title} (${key})`}
      onClick={() => store.show(head.id)}
    >
      {head.title}
      {head.is_problem ? (
        <span class="n bad">
          <Icon name="break" />
          {head.count}
        </span>
      ) : (
        head.count !== null && <span class="n">{head.count.toLocaleString("en")}</span>
      )}
    </button>
  );
}
