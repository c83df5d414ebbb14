// What stands in a line of IR and assembly: small tokenizers, a list of forms each.

import { StreamLanguage, type StringStream } from "@codemirror/language";

type Form = readonly [RegExp, string | null];

interface State {
  /** Whether the opcode of the line is still to come. */
  isHead: boolean;
}

const FUNCTION = "variableName.function";
const NUMBER = /-?(?:0[fdxX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b/;

const ASSEMBLY: Record<"ptx" | "sass" | "amdgcn", { forms: Form[]; opcode: RegExp }> = {
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
};

const IR: Record<"llvm" | "mlir", Form[]> = {
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
    [/"(?=[a-z]+\.)|(?:")(?=\()/, null],
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

/** The language of a stage; made once. */
export function assembly(name: keyof typeof ASSEMBLY | keyof typeof IR): StreamLanguage<State> {
  let made = MADE.get(name);
  if (!made) {
    const known = name === "llvm" || name === "mlir" ? null : ASSEMBLY[name];
    made = known ? language(known.forms, known.opcode) : language(IR[name as "llvm"], null);
    MADE.set(name, made);
  }
  return made;
}
