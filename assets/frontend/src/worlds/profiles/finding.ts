// What the search of a profile looks through: kernels, modules, lines, changes, what threads did.

import { microseconds } from "../../format";
import type { Entry, EntryGroup } from "../../search";
import type { Findable } from "../../shell/searchbox";
import type { ProfileDocument } from "./wire";
import type { ProfileState, Row } from "./state";

export function findableIn(state: ProfileState): Findable {
  const doc = state.doc.value;
  return {
    kinds: "kernel, module, line",
    none: "Nothing found.",
    isReady: doc !== null,
    signs: [doc],
    entries: () => (doc ? entriesOf(doc) : []),
    show: (id) => show(state, id),
  };
}

export function entriesOf(doc: ProfileDocument): EntryGroup[] {
  const ofTable = (id: string, said: (row: Row) => unknown[]) =>
    (doc.tables.find((table) => table.id === id)?.rows ?? []).map((row) => ({
      id: String(row.row),
      label: microseconds(Number(row.time_us)),
      text: said(row).filter(Boolean).join(" · ").trim(),
    }));
  const groups: [string, Entry[]][] = [
    ["Kernels", ofTable("kernels", ({ title, name }) => [title, name !== title && name])],
    ["Modules", ofTable("modules", ({ name, shown_name }) => [name ?? shown_name])],
    ["Lines", ofTable("lines", ({ line, function: name }) => [line, name])],
    ["What to change", doc.changes.map(({ id, title: text }) => ({ id, label: "", text }))],
    ["On the CPU", doc.names.map((text, at) => ({ id: `names:${at}`, label: "", text }))],
  ];
  return groups.map(([title, entries]) => ({ title, entries }));
}

function show(state: ProfileState, id: string): void {
  const [kind, at] = id.split(":");
  if (kind === "names") return state.goTo(Number(at));
  if (state.doc.peek()?.tables.some((table) => table.id === kind)) state.show(kind!);
  state.select(id);
}
