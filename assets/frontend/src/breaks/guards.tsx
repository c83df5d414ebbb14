// The tree of guards: kept ones first, then dropped ones, each with its reason.

import { useMemo } from "preact/hooks";
import type { Store } from "../store";
import { Frame } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { ColumnSpec, Guard } from "../wire";
import { GuardRows } from "./guardrows";
import { filterGuards, flatten, guardTree, type Branch } from "./tree";

/** So many guards are shown with every branch open. */
const OPEN = 120;

export function GuardTree({ store, guards }: { store: Store; guards: Guard[] }) {
  const [words, setWords] = usePaneState(store, "words", "");
  const [turned, setTurned] = usePaneState<ReadonlySet<string>>(store, "turned", new Set());
  const specs = store.doc.value?.columns["guards"];
  const found = useMemo(
    () => filterGuards(guards, words, fieldsOf(specs ?? [])),
    [guards, words, specs],
  );
  const kept = useMemo(() => found.filter((guard) => guard.kept), [found]);
  const dropped = useMemo(() => found.filter((guard) => !guard.kept), [found]);
  const rows = useMemo(() => {
    const isOpen = (branch: Branch, level: number) => {
      const atRest = words.trim() !== "" || level < 3 || guards.length <= OPEN;
      return turned.has(branch.key) ? !atRest : atRest;
    };
    const trees = [
      guardTree("kept", "Kept, checked on every call", kept),
      guardTree("dropped", "Dropped, not portable", dropped),
    ];
    return trees.filter((tree) => tree.count).flatMap((tree) => flatten(tree, isOpen));
  }, [kept, dropped, turned, words]);
  const turn = (key: string) => {
    const next = new Set(turned);
    if (!next.delete(key)) next.add(key);
    setTurned(next);
  };
  const counts = `${kept.length} kept · ${dropped.length} dropped`;
  return (
    <>
      <GuardBar store={store} counts={counts} words={words} setWords={setWords} />
      <GuardRows store={store} rows={rows} turn={turn} />
    </>
  );
}

/** What is searched: whatever a table of guards shows. */
function fieldsOf(specs: readonly ColumnSpec[]): (keyof Guard)[] {
  return specs.map(({ key, field = key }) => field as keyof Guard);
}

interface BarProps {
  store: Store;
  counts: string;
  words: string;
  setWords(words: string): void;
}

function GuardBar({ store, counts, words, setWords }: BarProps) {
  return (
    <div class="bar">
      <h2>Guards</h2>
      <span class="faint cut">{counts}</span>
      <span class="grow" />
      <input
        class="filter"
        type="text"
        placeholder="Filter"
        aria-label="Filter guards"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <Frame store={store} name="guards" />
    </div>
  );
}
