// What stands in a line of Python: keywords, numbers, strings, calls. A whole grammar with its tables
// is a tenth of the view's code; a test compares both on sources of every kind.

import { StreamLanguage, type StringStream } from "@codemirror/language";

/** A string that is open, or what is put into how a replacement is written, which has no quote. */
interface Open {
  quote: string;
  isRaw: boolean;
  isFormat: boolean;
  /** Open brackets since the `{` of a replacement; -1 in the text of the string. */
  depth: number;
  /** Whether the text is how a replacement is written, behind its colon. */
  isSpec: boolean;
}

interface State {
  open: Open[];
  /** Open brackets outside of strings: a line that ends in them goes on. */
  brackets: number;
  /** Whether what comes follows a value, so that a star multiplies. */
  isValue: boolean;
  /** Whether what is read is the pattern of a case: nothing is called there. */
  isPattern: boolean;
  /** The word before, where it changes what a name is: def, class, a dot, the @ of a decorator. */
  before: string;
}

const FUNCTION = "variableName.function";
const WORDS =
  /^(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$/;
/** Words that are keywords only where such a rest of the line follows. */
const SOFT = new Map([
  ["match", /^\s+[^\s=.,:)\]].*:\s*(?:#.*)?$/],
  ["case", /^\s+[\p{L}\p{N}_"'[({*-]/u],
]);
const NUMBER =
  /^(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJlL]?)/;
const STRING = /^([rbuftRBUFT]{0,2})("""|'''|"|')/;
const OPERATOR = /^(?:->|:=|(?:\*\*|\/\/|<<|>>|[-+*/%@&|^<>=!])=?|~)/;

function token(stream: StringStream, state: State): string | null {
  const inner = state.open.at(-1);
  if (inner && inner.depth < 0) return inString(stream, state, inner);
  if (stream.sol() && !inner && !state.brackets) {
    state.isValue = state.isPattern = false;
    state.before = "";
  }
  if (stream.eatSpace()) return null;
  if (inner?.depth === 0) {
    if (stream.match(/^![a-z]\b/)) return "modifier";
    if (stream.match(/^=(?=\s*[}!:])/)) return null;
    const end = stream.eat(/[}:]/);
    if (end) {
      inner.isSpec = end === ":";
      inner.depth = -1;
      if (!inner.quote) state.open.pop();
      return null;
    }
  }
  return inCode(stream, state, inner);
}

function inCode(stream: StringStream, state: State, inner: Open | undefined): string | null {
  const { before, isValue } = state;
  if (stream.match(/^#.*/)) return "comment";
  const string = stream.match(STRING) as RegExpMatchArray | null;
  if (string) {
    const [, prefix = "", quote = ""] = string;
    const isFormat = /[ft]/i.test(prefix);
    state.open.push({ quote, isRaw: /r/i.test(prefix), isFormat, depth: -1, isSpec: false });
    return "string";
  }
  if (stream.match("...")) return become(state, true, null);
  if (stream.match(NUMBER)) return become(state, true, "number");
  const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
  if (word) return named(word[0], stream, state);
  const operator = stream.match(OPERATOR) as RegExpMatchArray | null;
  if (operator) {
    const isFirst = stream.string.slice(0, stream.start).trim() === "";
    const isDecorator = operator[0] === "@" && isFirst && !state.brackets;
    state.before = isDecorator ? "@" : "";
    state.isValue = false;
    if (!isValue && /^\*\*?$/.test(operator[0])) return "modifier";
    const isMark = operator[0] === "->" || (!isValue && operator[0] === "/"); // of parameters
    return isMark || isDecorator || state.isPattern ? null : "operator";
  }
  const char = stream.next() ?? "";
  const by = "([{".includes(char) ? 1 : ")]}".includes(char) ? -1 : 0;
  if (inner) inner.depth += by;
  else state.brackets = Math.max(0, state.brackets + by);
  state.isValue = by < 0;
  if (char === ".") {
    state.before = before === "@" || before === "from" ? before : ".";
    return "operator";
  }
  if (char === ":" && !state.brackets) state.isPattern = false;
  state.before = "";
  return null;
}

function become(state: State, isValue: boolean, style: string | null): string | null {
  state.isValue = isValue;
  state.before = "";
  return style;
}

function named(word: string, stream: StringStream, state: State): string | null {
  const { before } = state;
  const rest = stream.string.slice(stream.pos);
  const isFirst = stream.string.slice(0, stream.start).trim() === "";
  if (before !== ".") {
    if (WORDS.test(word) || (isFirst && SOFT.get(word)?.test(rest))) {
      state.isValue = false;
      state.isPattern = word === "case";
      state.before = word;
      return "keyword";
    }
    if (/^(?:True|False|None)$/.test(word)) return become(state, true, "bool");
  }
  state.isValue = true;
  if (before === "@") return null;
  state.before = "";
  const isCall = before !== "class" && !state.isPattern && /^\s*\(/.test(rest);
  return before === "def" || isCall ? FUNCTION : null;
}

/** The text of a string, up to its end, to what is put into it, or to the end of the line. */
function inString(stream: StringStream, state: State, inner: Open): string | null {
  const { quote, isRaw, isFormat, isSpec } = inner;
  const style = isSpec ? "modifier" : "string";
  while (!stream.eol()) {
    if (isSpec && stream.peek() === "}") {
      if (stream.pos > stream.start) return style;
      inner.isSpec = false;
      inner.depth = -1;
      stream.next();
      return null;
    }
    if (isFormat && stream.peek() === "{") {
      if (!isSpec && stream.match("{{")) continue;
      if (stream.pos > stream.start) return style;
      stream.next();
      if (isSpec) state.open.push({ ...inner, quote: "", isSpec: false, depth: 0 });
      else inner.depth = 0;
      state.isValue = false;
      return null;
    }
    if (stream.match(quote)) {
      state.open.pop();
      become(state, true, null);
      return "string";
    }
    if (stream.next() === "\\") stream.next();
  }
  const goesOn = quote.length > 1 || (!isRaw && stream.string.endsWith("\\"));
  if (!goesOn) {
    state.open.pop();
    become(state, true, null);
  }
  return style;
}

export const PYTHON = StreamLanguage.define<State>({
  startState: () => ({ open: [], brackets: 0, isValue: false, isPattern: false, before: "" }),
  copyState: (state) => ({ ...state, open: state.open.map((each) => ({ ...each })) }),
  token,
});
