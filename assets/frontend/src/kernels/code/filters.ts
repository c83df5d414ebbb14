// What a reader of machine code can do without: directives, locations, comments, unused labels.

import { pickedRows, type Rows } from "./rows";

export const FILTERS = ["directives", "locations", "comments", "labels"] as const;
export type Filter = (typeof FILTERS)[number];

/** What each filter hides, in words. */
export const HIDES: Readonly<Record<Filter, readonly [string, string]>> = {
  directives: ["Directives", "Declarations and metadata for assembler, linker and debugger"],
  locations: ["Locations", ".loc and .file; links between lines stay"],
  comments: ["Comments", "Comments, also at the end of a line, and blank lines"],
  labels: ["Unused labels", "Unreferenced local labels, and padding after the end"],
};

interface Forms {
  directive?: RegExp;
  /** Lines from the first form to the second are directives, too. */
  block?: readonly [RegExp, RegExp];
  location?: RegExp;
  comment: RegExp;
  /** A comment behind something else. */
  tail?: RegExp;
  label?: RegExp;
  padding?: RegExp;
}

const PTX_DIRECTIVES =
  "version|target|address_size|section|pragma|reg|reqntid|maxn\\w+|minn\\w+|[bu](?:8|16|32|64)|" +
  "explicitcluster|reqnctapercluster|maxclusterrank|alias";

const FORMS: Readonly<Record<string, Forms>> = {
  ptx: {
    directive: new RegExp(`^\\s*\\.(?:${PTX_DIRECTIVES})\\b`),
    block: [/^\s*\.section\b/, /^\s*\}/],
    location: /^\s*\.(?:loc|file)\b/,
    comment: /^\s*(?:\/\/.*)?$/,
    tail: /^([^"]*?)\s*\/\/.*$/,
    label: /^\s*(\$L\w+):/,
  },
  sass: {
    directive: /^\s*\.(?!L_)\w/,
    comment: /^\s*(?:\/\/.*)?$/,
    label: /^\s*(\.L_\w+):/,
    padding: /^\s*(?:\/\*\w+\*\/)?\s*NOP\s*;/,
  },
  amdgcn: {
    directive: /^\s*\.(?!L|loc\b|file\b)\w/,
    location: /^\s*\.(?:loc|file)\b/,
    comment: /^\s*(?:(?:;|\/\/).*)?$/,
    tail: /^([^"]*?)\s*(?:;|\/\/).*$/,
    label: /^\s*(\.L\w+):/,
  },
  llir: {
    directive: /^(?:source_filename|target |declare |attributes #|!|\$)/,
    comment: /^\s*(?:;.*)?$/,
    tail: /^([^"]*?)\s*;.*$/,
  },
  ttir: { comment: /^\s*(?:\/\/.*)?$/ },
  ttgir: { comment: /^\s*(?:\/\/.*)?$/ },
};

/** Filters as they are remembered: names with commas; all are on until the reader chose. */
export function filtersFrom(names: string | null): ReadonlySet<Filter> {
  if (names === null) return new Set(FILTERS);
  return new Set(FILTERS.filter((filter) => names.split(",").includes(filter)));
}

/** The filters that hide something of a stage at all. */
export function filtersOf(stage: string): readonly Filter[] {
  const { directive, location, label } = FORMS[stage] ?? FORMS["ttir"]!;
  const has = { directives: directive, locations: location, comments: true, labels: label };
  return FILTERS.filter((filter) => has[filter]);
}

/** By line, the filter that hides it, or null. */
function hiddenBy(
  stage: string,
  lines: readonly string[],
  filters: ReadonlySet<Filter>,
): (Filter | null)[] {
  const forms = FORMS[stage];
  if (!forms) return lines.map(() => null);
  const { block } = forms;
  let inBlock = false;
  const found = lines.map((line) => {
    const kind = inBlock ? "directives" : kindOf(line, forms);
    if (block) inBlock = inBlock ? !block[1].test(line) : block[0].test(line);
    return kind !== null && filters.has(kind) ? kind : null;
  });
  if (filters.has("labels")) hideLabels(lines, found, forms);
  return found;
}

function kindOf(line: string, { comment, location, directive }: Forms): Filter | null {
  if (comment.test(line)) return "comments";
  if (location?.test(line)) return "locations";
  return directive?.test(line) ? "directives" : null;
}

const NAME = /[$.]L\w+/g;

/** Labels that no line in sight names, and what only fills the end up. */
function hideLabels(lines: readonly string[], found: (Filter | null)[], forms: Forms): void {
  const { label, padding } = forms;
  if (!label) return;
  const used = new Set<string>();
  lines.forEach((line, at) => {
    if (found[at] === null && !label.test(line))
      for (const [name] of line.matchAll(NAME)) used.add(name);
  });
  lines.forEach((line, at) => {
    const name = found[at] === null && label.exec(line)?.[1];
    if (name && !used.has(name)) found[at] = "labels";
  });
  for (let at = lines.length - 1; padding && at >= 0; at--) {
    if (padding.test(lines[at]!)) found[at] = "labels";
    else if (found[at] === null && lines[at]!.trim()) break;
  }
}

/**
 * The rows that filters leave, with the numbers that they have in the whole text; `kept` is a line
 * (from 0) that stays whatever it is, as it is selected.
 */
export function filtered(
  rows: Rows,
  stage: string,
  filters: ReadonlySet<Filter>,
  kept: number | null,
): Rows {
  if (filters.size === 0) return rows;
  const hidden = hiddenBy(stage, rows.raw.split("\n"), filters);
  const left = hidden.flatMap((by, at) => (by === null || at === kept ? [at] : []));
  const tail = filters.has("comments") ? FORMS[stage]?.tail : undefined;
  const shown = left.length === hidden.length ? rows : pickedRows(rows, left);
  if (!tail) return shown;
  const at = kept === null ? -1 : left.indexOf(kept);
  const cut = (line: string, row: number) => (row === at ? line : line.replace(tail, "$1"));
  return { ...shown, text: shown.text.split("\n").map(cut).join("\n") };
}
