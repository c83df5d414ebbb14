// What stands in a line of Python: a small tokenizer. A grammar is a twelfth of the view's code,
// and colours need none.

import { StreamLanguage, type StringStream } from "@codemirror/language";

const WORDS =
  /(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b/;
/** Words that are names elsewhere: keywords where what a statement needs follows them. */
const SOFT =
  /(?:match|case)(?=\s+(?!(?:and|as|else|for|if|in|is|or|not\s+in)\b)[\p{L}\d_"'([{*-])|type(?=\s+[\p{L}_][\p{L}\p{N}_]*\s*[[=])/u;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/u;
const NUMBER =
  /(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?)[jJ]?/;
const QUOTE = /((?:[rbuft]|r[bft]|[bft]r)?)("""|'''|"|')/i;
const OPERATOR = /[-+*/%@&|^<>=!~]=|(?:\*\*|\/\/|<<|>>)=?|:=|[-+*/%@&|^<>=~.]/;

/** A string that is not yet at its end. */
interface Open {
  end: string;
  isFormat: boolean;
  /** The brackets within a value put into it; -1 in its own text. */
  depth: number;
  /** Whether the text says how a value is written, up to its brace. */
  isSpec: boolean;
}

interface State {
  open: Open[];
  /** The word before: what it names is no call. */
  before: string;
}

function token(stream: StringStream, state: State): string | null {
  const top = state.open.at(-1);
  if (top && top.depth < 0) return text(stream, state, top);
  if (stream.eatSpace()) return null;
  const { before } = state;
  state.before = "";
  if (top && bracket(stream, state, top)) return null;
  if (top?.depth === 0 && stream.match(/![rsa]/)) return "modifier";
  if (stream.match(/#.*/)) return "comment";
  const quote = stream.match(QUOTE);
  if (quote && quote !== true) {
    const isFormat = /[ft]/i.test(quote[1]!);
    state.open.push({ end: quote[2]!, isFormat, depth: -1, isSpec: false });
    return "string";
  }
  const isFirst = stream.column() === stream.indentation();
  if (isFirst && stream.eat("@")) return null;
  if (stream.match(/\.\.\.|->/)) return null;
  if (stream.match(NUMBER)) return "number";
  if (stream.match(/(?:True|False)\b/)) return "bool";
  if (stream.match(/None\b/)) return "null";
  const word = stream.match(WORDS) || (isFirst && stream.match(SOFT));
  if (word && word !== true) {
    state.before = word[0];
    return "keyword";
  }
  if (stream.match(NAME)) {
    const isCall = before !== "class" && stream.match(/\s*\(/, false);
    return before === "def" || isCall ? "variableName.function" : null;
  }
  if (/(?:^|[(,{])\s*$/.test(stream.string.slice(0, stream.pos)) && stream.match(/\*\*?(?=\S)/))
    return "modifier";
  if (stream.match(OPERATOR)) return "operator";
  stream.next();
  return null;
}

/** A bracket within a value, or what ends the value. */
function bracket(stream: StringStream, state: State, top: Open): boolean {
  const change = (to: Partial<Open>) => {
    state.open[state.open.length - 1] = { ...top, ...to };
    return true;
  };
  if (top.depth === 0 && stream.eat("}")) return change({ depth: -1 });
  if (top.depth === 0 && stream.eat(":")) return change({ depth: -1, isSpec: true });
  if (stream.eat(/[([{]/)) return change({ depth: top.depth + 1 });
  if (stream.eat(/[)\]}]/)) return change({ depth: top.depth - 1 });
  return false;
}

/** The text of a string up to its end, to a value in it, or to the end of the line. */
function text(stream: StringStream, state: State, top: Open): string | null {
  const at = state.open.length - 1;
  const isStart = () => stream.current() === "";
  while (!stream.eol()) {
    if (top.isSpec && stream.peek() === "}") {
      if (!isStart()) return "modifier";
      stream.next();
      state.open[at] = { ...top, isSpec: false };
      return null;
    }
    if (stream.match(top.end)) {
      state.open.pop();
      return "string";
    }
    if (top.isFormat && stream.match(/\{\{|\\N\{[^}]*\}|\\(?=\{)/)) continue;
    if (top.isFormat && stream.peek() === "{") {
      if (!isStart()) return top.isSpec ? "modifier" : "string";
      stream.next();
      state.open[at] = { ...top, depth: 0 };
      return null;
    }
    if (stream.next() === "\\") stream.next();
  }
  if (top.end.length === 1 && !/(?:^|[^\\])(?:\\\\)*\\$/.test(stream.string)) state.open.pop();
  return "string";
}

export const PYTHON = StreamLanguage.define<State>({
  startState: () => ({ open: [], before: "" }),
  token,
});
