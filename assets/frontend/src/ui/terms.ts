// What every word over a column and beside a figure means, by the table that Python reads too.

import table from "../../../../workbench/terms.json";
import { TERMS as WORLDS } from "../worldterms";

type Said = [what: string, unit?: string, source?: string];

const TERMS: Record<string, Record<string, Said>> = Object.assign({}, table, ...WORLDS);

/** The tip of a word at a place: what it is, its unit, where it is from; a line for each. */
export function termOf(place: string, word: string): string | undefined {
  const said = TERMS[place]?.[word] ?? TERMS["anywhere"]?.[word] ?? TERMS[place]?.["*"];
  if (!said) return undefined;
  const [what, unit, source] = said;
  return [`${what}.`, unit && `Unit: ${unit}.`, source && `Source: ${source}.`]
    .filter(Boolean)
    .join("\n");
}
