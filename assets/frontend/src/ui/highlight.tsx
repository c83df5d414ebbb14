// Colours of source text: the pieces of each line, as a parser of its language sees them.

import type { Parser } from "@lezer/common";
import { highlightCode, tagHighlighter, tags } from "@lezer/highlight";
import { PYTHON } from "./python";

/** What each kind of token looks like, in lines and in editors alike. */
export const LOOKS = [
  { tag: [tags.keyword, tags.processingInstruction, tags.modifier], class: "t-k" },
  { tag: [tags.number, tags.bool, tags.null, tags.typeName], class: "t-n" },
  { tag: [tags.string, tags.special(tags.string), tags.escape], class: "t-s" },
  { tag: tags.comment, class: "t-c" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: "t-f" },
  { tag: tags.operator, class: "t-o" },
];
const HIGHLIGHTER = tagHighlighter(LOOKS);

export interface Piece {
  text: string;
  /** Empty for plain text. */
  look: string;
}

/** The pieces of each line; a line is read together with those around it. */
export function coloured(lines: readonly string[], parser: Parser = PYTHON.parser): Piece[][] {
  const text = lines.join("\n");
  const found: Piece[][] = [[]];
  const put = (text: string, look: string) => found.at(-1)!.push({ text, look });
  highlightCode(text, parser.parse(text), HIGHLIGHTER, put, () => found.push([]));
  return found;
}

/** The blanks that every line begins with. */
export function indentOf(lines: readonly string[]): number {
  const depths = lines.filter((line) => line.trim()).map((line) => line.search(/\S/));
  return depths.length ? Math.min(...depths) : 0;
}

/** A line without its first characters. */
export function withoutStart(pieces: readonly Piece[], count: number): Piece[] {
  let left = count;
  return pieces.flatMap(({ text, look }) => {
    const rest = text.slice(left);
    left = Math.max(0, left - text.length);
    return rest ? [{ text: rest, look }] : [];
  });
}

export function Coloured({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map(({ text, look }, i) =>
        look ? (
          <span key={i} class={look}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </>
  );
}

/** A line of Python that stands alone: where it has no room, it goes on behind a mark. */
export function Python({ text }: { text: string }) {
  return (
    <>
      {(coloured([text])[0] ?? []).map((piece, i) => (
        <span key={i} class={piece.look}>
          {piece.text.split(MARKS).flatMap((part) => [part, MARK.test(part) && <wbr />])}
        </span>
      ))}
    </>
  );
}

const MARKS = /(?<=[.,(=+*])/;
const MARK = /[.,(=+*]$/;
