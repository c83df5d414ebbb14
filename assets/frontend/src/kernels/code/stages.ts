// The text of a stage as rows: ids, colours of nodes, what an opcode means, inlined helpers.

import { runAt } from "../../stagelinks";
import { baseName } from "../../ui/words";
import type { CodePart, Opcode, StagePart } from "../../wire";
import { colourOf, type Language, type Rows } from "./rows";

const LANGUAGES: Record<string, Language> = {
  ttir: "mlir",
  ttgir: "mlir",
  llir: "llvm",
  ptx: "ptx",
  amdgcn: "amdgcn",
  sass: "sass",
  assembly: "assembly",
};

/** The strip has the colour of the node that the line's Triton line computes. */
export function stageRows(
  part: StagePart,
  code: CodePart | null,
  colours: ReadonlyMap<string, number>,
): Rows {
  const lines = part.text.split("\n");
  const isSass = part.stage === "sass";
  const strip = new Array<number>(lines.length).fill(-1);
  const tied = new Array<boolean>(lines.length).fill(false);
  for (const [first, last, line] of part.lines) {
    const colour = colourOf(code?.nodes[line - 1] ?? [], colours);
    strip.fill(colour, first - 1, last);
    tied.fill(true, first - 1, last);
  }
  return {
    text: lines
      .map((line) => (isSass ? line.replace(ADDRESS, "") : line.replaceAll("\t", "  ")))
      .join("\n"),
    raw: part.text,
    language: LANGUAGES[part.stage] ?? "plain",
    ids: lines.map((_, at) => `A:${part.config}:${part.stage}:${at + 1}`),
    numbers: lines.map((line, at) => (isSass ? (addressOf(line) ?? "") : `${at + 1}`)),
    strip,
    tied,
    stage: `${part.config}:${part.stage}`,
    opcodes: part.opcodes,
    inlined: (line) => inlinedAt(part, line + 1),
  };
}

const ADDRESS = /^\s*\/\*([0-9a-f]+)\*\/\s*/;

/** The address of an instruction of SASS, as it is written: hexadecimal. */
export function addressOf(line: string): string | null {
  return ADDRESS.exec(line)?.[1] ?? null;
}

/** Where the helper stands that a line (from 1) was inlined from. */
export function inlinedAt(part: StagePart, line: number): string | null {
  const run = runAt(part.inlined, line);
  return run ? `${baseName(run[2])}:${run[3]}` : null;
}

/** The opcodes of a line that are explained, in order, with their column and their predicate. */
export function opcodesIn(
  text: string,
  opcodes: Readonly<Record<string, Opcode>>,
): { name: string; from: number; opcode: Opcode }[] {
  const found = [];
  for (const match of text.matchAll(/@!?(?=%?\w)|(?<![%$\w.])[.\w][\w.:]*/g)) {
    const opcode = Object.hasOwn(opcodes, match[0]) ? opcodes[match[0]] : undefined;
    if (opcode) found.push({ name: match[0], from: match.index, opcode });
  }
  return found;
}
