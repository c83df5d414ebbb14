// The search field and what it found: grouped, counted, with the match marked.

import { useId, useMemo, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { plural } from "../format";
import { kindOf } from "../ids";
import { search, type Hit, type HitGroup } from "../search";
import type { Store } from "../store";
import { Icon } from "../ui/icons";
import { paneFor } from "../ui/words";
import type { PaneId } from "../wire";

/** Where a hit is shown: where the reader is, if that pane has such things, else at its best. */
export function paneOfHit(id: string, present: PaneId): PaneId {
  const kind = kindOf(id);
  if (present === "kernels" && ["line", "node", "kernel", "kernel-line"].includes(kind))
    return present;
  if (kind === "kernel" && (present === "fusion" || present === "graphs")) return present;
  return paneFor(id);
}

export function SearchBox({
  store,
  field,
}: {
  store: Store;
  field: RefObject<HTMLInputElement | null>;
}) {
  const [query, setQuery] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const list = useId();
  const report = store.doc.value;
  const learned = store.learned.value;
  const groups = useMemo(
    () => (report && isOpen ? search(report, store.parts.values(), query) : []),
    [report, query, isOpen, learned],
  );
  const hits = groups.flatMap((group) => group.hits);
  const here = Math.min(at, hits.length - 1);

  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    store.select(hit.id, { pane: paneOfHit(hit.id, store.pane.peek()) });
    setOpen(false);
    field.current?.blur();
    field.current?.closest<HTMLElement>(".wb")?.querySelector<HTMLElement>(".pane")?.focus();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, here + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, here - 1));
    else if (event.key === "Enter") choose(hits[here]);
    else if (event.key === "Escape" && isOpen && query) {
      setOpen(false);
      setQuery("");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isShown = isOpen && query.trim() !== "";
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        role="combobox"
        placeholder="Find line, node, kernel"
        aria-label="Find a line, node or kernel"
        aria-expanded={isShown}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={isShown && hits[here] ? `${list}-${here}` : undefined}
        autocomplete="off"
        spellcheck={false}
        disabled={!report}
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setOpen(true);
          setAt(0);
        }}
        onFocus={() => {
          setOpen(true);
          void store.prepareSearch();
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={key}
      />
      <kbd aria-hidden="true">/</kbd>
      <div id={list} class="pop" role="listbox" aria-label="Found" hidden={!isShown}>
        {isShown && <Found groups={groups} prefix={list} here={here} choose={choose} />}
      </div>
    </div>
  );
}

interface FoundProps {
  groups: HitGroup[];
  prefix: string;
  here: number;
  choose(hit: Hit): void;
}

function Found({ groups, prefix, here, choose }: FoundProps) {
  if (!groups.length)
    return (
      <div class="grp" role="option" aria-disabled="true">
        Nothing found. Kernel lines are searched once they were opened.
      </div>
    );
  let place = -1;
  return (
    <>
      {groups.map((group) => (
        <div key={group.title} role="group" aria-label={group.title}>
          <div class="grp" aria-hidden="true">
            {group.total > group.hits.length
              ? `${group.title}: ${group.hits.length} of ${plural(group.total, "hit")}`
              : `${group.title}: ${plural(group.total, "hit")}`}
          </div>
          {group.hits.map((hit) => {
            place += 1;
            return (
              <div
                key={hit.id}
                id={`${prefix}-${place}`}
                class="opt"
                role="option"
                aria-selected={place === here}
                title={hit.text}
                onMouseDown={(event) => {
                  event.preventDefault();
                  choose(hit);
                }}
              >
                <span>{hit.label}</span>
                <Marked hit={hit} />
              </div>
            );
          })}
        </div>
      ))}
    </>
  );
}

const BEFORE = 24;

/** The text with the match marked, cut at the left so that the match is in sight. */
function Marked({ hit }: { hit: Hit }) {
  const start = hit.from > BEFORE ? hit.from - BEFORE : 0;
  return (
    <span class="mono">
      {start > 0 && "…"}
      {hit.text.slice(start, hit.from)}
      <mark>{hit.text.slice(hit.from, hit.to)}</mark>
      {hit.text.slice(hit.to)}
    </span>
  );
}
