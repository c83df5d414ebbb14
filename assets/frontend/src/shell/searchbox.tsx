// The search field and what it found: grouped, counted, with the match marked.

import type { RefObject } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { plural } from "../format";
import { type EntryGroup, search, type Hit, type HitGroup } from "../search";
import { Icon } from "../ui/icons";
import { keyOf } from "./keys";

/** What a view lets one find. */
export interface Findable {
  /** The kinds of things: "line, node, kernel". */
  kinds: string;
  /** What is said where nothing is found. */
  none: string;
  /** Whether there is anything to look through yet. */
  isReady: boolean;
  /** Change with what can be found. */
  signs: readonly unknown[];
  entries(): readonly EntryGroup[];
  /** Gets what is looked through later. */
  prepare?(): void;
  show(id: string): void;
}

/** Panes by their names, which is how those are reached that have no key of their own. */
export function findablePanes(
  panes: readonly { id: string; title: string }[],
  show: (pane: string) => void,
  keyOfPane: (id: string, at: number) => string = (_, at) => keyOf(at + 1),
  title = "Panes",
): EntryGroup {
  const entries = panes.map(({ id, title: text }, at) => ({
    id,
    label: keyOfPane(id, at),
    text,
    show: () => show(id),
  }));
  return { title, entries, isByStart: true };
}

interface SearchProps {
  of: Findable;
  field: RefObject<HTMLInputElement | null>;
}

export function SearchBox({ of, field }: SearchProps) {
  const list = useId();
  const found = useFound(of, field);
  const { groups, hits, here, isShown, query } = found;
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        role="combobox"
        placeholder={`Find ${of.kinds}`}
        aria-label={`Find ${of.kinds}`}
        aria-expanded={isShown}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={isShown && hits[here] ? `${list}-${here}` : undefined}
        autocomplete="off"
        spellcheck={false}
        disabled={!of.isReady}
        value={query}
        onInput={(event) => found.ask(event.currentTarget.value)}
        onFocus={(event) => {
          event.currentTarget.select(); // what is typed next replaces the last search
          found.open();
        }}
        onBlur={found.close}
        onKeyDown={found.press}
      />
      <kbd aria-hidden="true">/</kbd>
      <div id={list} class="pop" role="listbox" aria-label="Found" hidden={!isShown}>
        {isShown && (
          <Found groups={groups} none={of.none} prefix={list} here={here} choose={found.choose} />
        )}
      </div>
    </div>
  );
}

/** What is asked for, what was found, and the hit that the arrow keys stand on. */
function useFound(of: Findable, field: RefObject<HTMLInputElement | null>) {
  const [query, setQuery] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const groups = useMemo(
    () => (isOpen ? search(of.entries(), query) : []),
    [query, isOpen, ...of.signs],
  );
  const hits = groups.flatMap((group) => group.hits);
  const here = Math.min(at, hits.length - 1);
  const ask = (words: string) => {
    setQuery(words);
    setOpen(true);
    setAt(0);
  };
  const open = () => {
    setOpen(true);
    of.prepare?.();
  };
  const close = () => setOpen(false);
  const choose = (hit: Hit | undefined) => {
    if (hit) leave(of, field.current, hit);
    if (hit) close();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, here + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, here - 1));
    else if (event.key === "Enter") choose(hits[here]);
    else if (event.key === "Escape" && isOpen && query) {
      ask("");
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isShown = isOpen && query.trim() !== "";
  return { query, groups, hits, here, isShown, ask, open, close, choose, press };
}

/** Shows a hit; the focus goes to the pane that shows it. */
function leave(of: Findable, field: HTMLElement | null, hit: Hit): void {
  if (hit.show) hit.show();
  else of.show(hit.id);
  field?.blur();
  field
    ?.closest<HTMLElement>(".wb")
    ?.querySelector<HTMLElement>(".pane")
    ?.focus({ preventScroll: true });
}

interface FoundProps {
  groups: HitGroup[];
  none: string;
  prefix: string;
  here: number;
  choose(hit: Hit): void;
}

function Found({ groups, none, prefix, here, choose }: FoundProps) {
  if (!groups.length)
    return (
      <div class="grp" role="option" aria-disabled="true">
        {none}
      </div>
    );
  const firsts = groups.map((_, at) =>
    groups.slice(0, at).reduce((sum, group) => sum + group.hits.length, 0),
  );
  return (
    <>
      {groups.map((group, at) => (
        <div key={group.title} role="group" aria-label={group.title}>
          <div class="grp" aria-hidden="true">
            {group.total > group.hits.length
              ? `${group.title}: ${group.hits.length} of ${plural(group.total, "hit")}`
              : `${group.title}: ${plural(group.total, "hit")}`}
          </div>
          {group.hits.map((hit, i) => (
            <Option
              key={hit.id}
              id={`${prefix}-${firsts[at]! + i}`}
              hit={hit}
              isHere={firsts[at]! + i === here}
              choose={choose}
            />
          ))}
        </div>
      ))}
    </>
  );
}

interface OptionProps {
  id: string;
  hit: Hit;
  isHere: boolean;
  choose(hit: Hit): void;
}

function Option({ id, hit, isHere, choose }: OptionProps) {
  // Before the field loses the focus, which would close the list.
  const press = (event: MouseEvent) => {
    event.preventDefault();
    choose(hit);
  };
  return (
    <div
      id={id}
      class="opt"
      role="option"
      aria-selected={isHere}
      data-tip={hit.text}
      onMouseDown={press}
    >
      <span>{hit.label}</span>
      <Marked hit={hit} />
    </div>
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
