// Guards as a tree by the steps of their source: input, attribute, item, down to the leaf.

import type { Guard } from "../wire";

/** Guards that say the same, as graphs of one explanation often have them. */
interface Same {
  /** The one that stands for them. */
  guard: Guard;
  ids: string[];
}

export interface Branch {
  key: string;
  label: string;
  /** Guards on exactly this source. */
  guards: Same[];
  children: Branch[];
  /** Guards here and below. */
  count: number;
}

export type TreeRow =
  | { kind: "branch"; key: string; branch: Branch; level: number; isOpen: boolean }
  | { kind: "guard"; key: string; same: Same; level: number; label: string };

function emptyBranch(key: string, label: string): Branch {
  return { key, label, guards: [], children: [], count: 0 };
}

/** The tree under `key`; chains without a fork are one step. */
export function guardTree(key: string, label: string, guards: Guard[]): Branch {
  const root = emptyBranch(key, label);
  const byKey = new Map<string, Branch>();
  for (const guard of guards) {
    let at = root;
    at.count += 1;
    for (const step of guard.path) {
      const next = `${at.key}/${step}`;
      let child = byKey.get(next);
      if (!child) {
        child = emptyBranch(next, step);
        byKey.set(next, child);
        at.children.push(child);
      }
      at = child;
      at.count += 1;
    }
    const known = at.guards.find((same) => isSame(same.guard, guard));
    if (known) known.ids.push(guard.id);
    else at.guards.push({ guard, ids: [guard.id] });
  }
  root.children = root.children.map(joined);
  return root;
}

/** Whether two guards of one source and the same half of the tree cannot be told apart. */
function isSame(a: Guard, b: Guard): boolean {
  return (
    a.kind === b.kind &&
    a.source === b.source &&
    a.text === b.text &&
    a.why_dropped === b.why_dropped
  );
}

function joined(branch: Branch): Branch {
  let here = branch;
  while (!here.guards.length && here.children.length === 1) {
    const only = here.children[0] as Branch;
    here = { ...only, label: here.label + only.label };
  }
  return { ...here, children: here.children.map(joined) };
}

/** The rows in sight; `isOpen` is asked for each branch by key and level. */
export function flatten(
  root: Branch,
  isOpen: (branch: Branch, level: number) => boolean,
): TreeRow[] {
  const rows: TreeRow[] = [];
  const walk = (branch: Branch, level: number) => {
    const only = branch.guards.length === 1 && !branch.children.length && branch.guards[0];
    if (only && level > 1) {
      rows.push({ kind: "guard", key: only.guard.id, same: only, level, label: branch.label });
      return;
    }
    const open = isOpen(branch, level);
    rows.push({ kind: "branch", key: branch.key, branch, level, isOpen: open });
    if (!open) return;
    for (const same of branch.guards)
      rows.push({ kind: "guard", key: same.guard.id, same, level: level + 1, label: "" });
    for (const child of branch.children) walk(child, level + 1);
  };
  walk(root, 1);
  return rows;
}

/** Whether a row is, or stands for, a guard. */
export function standsFor(row: TreeRow, id: string | null): boolean {
  return row.kind === "guard" && id !== null && row.same.ids.includes(id);
}

/** The guards of which any of these fields holds the words. */
export function filterGuards(
  guards: Guard[],
  words: string,
  fields: readonly (keyof Guard)[],
): Guard[] {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return guards;
  return guards.filter((guard) =>
    fields
      .map((field) => guard[field] ?? "")
      .join(" ")
      .toLowerCase()
      .includes(wanted),
  );
}

/** A guard by its source, or by its kind where it is about torch as a whole. */
export function guardName(guard: Guard): string {
  return guard.source || guardKind(guard);
}

/** TENSOR_MATCH in words. */
export function guardKind(guard: Guard): string {
  return guard.kind.toLowerCase().replaceAll("_", " ");
}
