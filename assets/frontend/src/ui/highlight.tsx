// Colours of Python source, one line at a time; strings over several lines are told by `inside`.

const TOKEN =
  /(#.*$)|("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|[rbfu]?"(?:\\.|[^"\\])*"|[rbfu]?'(?:\\.|[^'\\])*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|self|True|try|while|with|yield)\b|\b(\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?j?)\b|(\b\w+(?=\())/g;
const CLASSES = ["t-c", "t-s", "t-k", "t-n", "t-f"];

export interface Piece {
  text: string;
  look: string;
}

/** The pieces of one line; `look` is empty for plain text. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index), look: "" });
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    found.push({ text: match[0], look: CLASSES[kind] ?? "" });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end), look: "" });
  return found;
}

/** For each line whether it starts inside a string of several lines. */
export function insideStrings(lines: string[]): boolean[] {
  let quote: string | null = null;
  return lines.map((line) => {
    const before = quote !== null;
    for (const match of line.matchAll(/"""|'''/g)) {
      if (quote === null) quote = match[0];
      else if (quote === match[0]) quote = null;
    }
    return before;
  });
}

export function Python({ text, inside }: { text: string; inside?: boolean }) {
  if (inside) return <span class="t-s">{text}</span>;
  return (
    <>
      {pieces(text).map((piece, i) =>
        piece.look ? (
          <span key={i} class={piece.look}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}
