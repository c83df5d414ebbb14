// What stands in a line of C++, IR and assembly: small tokenizers, a list of forms each. A whole
// grammar of C++ alone is a seventh of the view's code, and generated programs need none.

import { StreamLanguage, type StringStream } from "@codemirror/language";
import type { Machine } from "./rows";

type Form = readonly [RegExp, string | null];

interface State {
  /** Whether the opcode of the line is still to come. */
  isHead: boolean;
}

const FUNCTION = "variableName.function";
const NUMBER = /-?(?:0[fdxX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b/;

const ASSEMBLY: Record<Machine, { forms: Form[]; opcode: RegExp }> = {
  ptx: {
    forms: [
      [/\/\/.*/, "comment"],
      [/"[^"]*"/, "string"],
      [/@!?%\w+/, "modifier"],
      [/%[\w.]+/, null],
      [/\$?L?_+\w+:?/, FUNCTION],
      [/\.[a-z]\w*/, "typeName"],
      [NUMBER, "number"],
    ],
    opcode: /[a-z][\w.:]*/,
  },
  sass: {
    forms: [
      [/\/\*[^*]*\*\//, "comment"],
      [/@!?U?P\w+/, "modifier"],
      [/\.L_?\w+:?/, FUNCTION],
      [NUMBER, "number"],
      [/\bc\[[^\]]*\]\[[^\]]*\]/, "typeName"],
    ],
    opcode: /[A-Z][A-Z0-9]*(?:\.\w+)*/,
  },
  amdgcn: {
    forms: [
      [/(?:;|\/\/).*/, "comment"],
      [/"[^"]*"/, "string"],
      [/\.L\w+:?/, FUNCTION],
      [/\.[a-z]\w*/, "typeName"],
      [/[sva](?:\d+|\[[^\]]*\])/, null],
      [NUMBER, "number"],
    ],
    opcode: /[a-z]\w*/,
  },
  assembly: {
    forms: [
      [/[0-9a-f]+:|#.*/, "comment"],
      [/<.*>/, FUNCTION],
      [/%\w+/, null],
      [NUMBER, "number"],
    ],
    opcode: /[a-z][\w.]*/,
  },
};

const CPP_WORDS =
  "alignas|auto|bool|break|case|char|class|const|constexpr|continue|decltype|default|delete|do|" +
  "double|else|enum|extern|false|float|for|if|inline|int|int8_t|int16_t|int32_t|int64_t|long|" +
  "namespace|new|nullptr|operator|private|public|return|short|signed|sizeof|static|struct|switch|" +
  "template|this|true|typedef|typename|uint8_t|uint16_t|uint32_t|uint64_t|union|unsigned|using|" +
  "void|volatile|while";

const FREE: Record<"cpp" | "llvm" | "mlir", Form[]> = {
  cpp: [
    [/\/\/.*/, "comment"],
    [/\/\*.*?\*\//, "comment"],
    [/R"\w*\(.*?\)\w*"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+'/, "string"],
    [/#\s*\w+.*/, "processingInstruction"],
    [new RegExp(`(?:${CPP_WORDS})\\b`), "keyword"],
    [/[A-Za-z_]\w*(?=\s*\()/, FUNCTION],
    [/(?:0[xX][\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)[fFuUlL]*/, "number"],
  ],
  llvm: [
    [/;.*/, "comment"],
    [/c?"[^"]*"/, "string"],
    [/%[\w.$-]+/, null],
    [/@[\w.$]+/, FUNCTION],
    [/\b(?:i\d+|float|double|half|bfloat|ptr|void|label|x)\b/, "typeName"],
    [/[\w.$-]+:/, FUNCTION],
    [NUMBER, "number"],
    [/[a-z_]\w*/, "keyword"],
  ],
  mlir: [
    [/\/\/.*/, "comment"],
    [/"(?=[a-z_.]+"\()|"(?=\()/, null], // "tt.reduce"(
    [/"[^"]*"/, "string"],
    [/%[\w#]+/, null],
    [/[@#^]\w+/, FUNCTION],
    [/!?[a-z]+\.[a-z_0-9.]*\w/, "keyword"],
    [/\b(?:tensor|i\d+|f\d+|bf16|index)\b/, "typeName"],
    [NUMBER, "number"],
  ],
};

function token(stream: StringStream, state: State, forms: readonly Form[], opcode: RegExp | null) {
  if (stream.sol()) state.isHead = true;
  if (stream.eatSpace()) return null;
  for (const [form, style] of forms) {
    if (!stream.match(form)) continue;
    if (style !== "modifier" && style !== "comment") state.isHead = false;
    return style;
  }
  if (opcode && state.isHead && stream.match(opcode)) {
    state.isHead = false;
    return "keyword";
  }
  if (!stream.eatWhile(/[\w$]/)) stream.next();
  return null;
}

function language(forms: readonly Form[], opcode: RegExp | null): StreamLanguage<State> {
  return StreamLanguage.define<State>({
    startState: () => ({ isHead: true }),
    token: (stream, state) => token(stream, state, forms, opcode),
  });
}

const MADE = new Map<string, StreamLanguage<State>>();

/** A language by name; made once. */
export function simple(name: keyof typeof ASSEMBLY | keyof typeof FREE): StreamLanguage<State> {
  let made = MADE.get(name);
  if (!made) {
    const known = name in ASSEMBLY ? ASSEMBLY[name as "ptx"] : null;
    made = known ? language(known.forms, known.opcode) : language(FREE[name as "llvm"], null);
    MADE.set(name, made);
  }
  return made;
}
