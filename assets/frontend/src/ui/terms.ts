// What every word over a column and beside a figure means, by the table that Python reads too.

import table from "../../../../workbench/terms.json";
import type { Terms } from "../wire";
import { TERMS as WORLDS } from "../worldterms";

const OWN: Terms = Object.assign({}, table, ...WORLDS);
/** Of worlds of other packages, which this program was not built with: all views of a page know them. */
const learned = new Map<string, Terms[string]>();

/** Takes down the terms that come with a document; what a word of ours means stays. */
export function learnTerms(terms: Terms = {}): void {
  for (const [place, words] of Object.entries(terms)) learned.set(place, words);
}

/** The tip of a word at a place: what it is, its unit, where it is from; a line for each. */
export function termOf(place: string, word: string): string | undefined {
  const words = OWN[place] ?? learned.get(place);
  const [what, unit, source] = words?.[word] ?? OWN["anywhere"]?.[word] ?? words?.["*"] ?? [];
  if (!what) return undefined;
  return [`${what}.`, unit && `Unit: ${unit}.`, source && `Source: ${source}.`]
    .filter(Boolean)
    .join("\n");
}
