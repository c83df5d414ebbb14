import { readFileSync } from "node:fs";
import { join } from "node:path";
import { highlightCode, tagHighlighter } from "@lezer/highlight";
import type { Parser } from "@lezer/common";
import { parser as grammar } from "@lezer/python";
import { expect, test } from "vitest";
import { LOOKS } from "../src/ui/highlight";
import { PYTHON } from "../src/ui/python";

const ROOT = join(__dirname, "../../..");
const HIGHLIGHTER = tagHighlighter(LOOKS);

/** The look of every character that is no blank, line by line. */
function looks(text: string, parser: Parser): string[] {
  const found = [""];
  const put = (piece: string, look: string) => {
    found.push(found.pop() + piece.replaceAll(/\S/g, look.slice(-1) || "."));
  };
  highlightCode(text, parser.parse(text), HIGHLIGHTER, put, () => found.push(""));
  return found;
}

const SAMPLES = [
  "x = rb\"\\\"a\" + f\"{a!r:>{width}} {{b}} {c=} {d[1:2]}\" '''one\ntwo \"''' * 2 ** -3.5e-1 @ y",
  "@torch.no_grad()\nasync def f(*args, k: int = 1, **more) -> None:\n    await g(*args, **more)",
  "class A(B): a.b.c(0x1F).d = [*x, {**y}] if not z else None or True",
  "from ..a import (\n    b as c,\n    d,\n)\nfor i in range(3): pass; print('a' \"b\"); x //= 2",
  "match x:\n    case A(b=1) | [c, *_]: y = f(z)\nmatch = 1\nx.match(y)  # match",
  's = """{a}\n# no comment\n"""; t = f"""\n{x}\n"""; u = r\'\\\'; ...',
  "lambda a, /, b, *, c: a <= b != ~c\nx: list[int] = y[..., ::2]; z = w if (q := 1_0j) else .5",
];

test.each(SAMPLES)("a tokenizer colours as the grammar of Python does: %s", (text) => {
  expect(looks(text, PYTHON.parser)).toEqual(looks(text, grammar));
});

test.each(["analysis/memory/fit.py", "views/typescript.py", "report/record.py"])(
  "and whole files: %s",
  (name) => {
    const text = readFileSync(join(ROOT, "workbench", name), "utf8");
    expect(looks(text, PYTHON.parser)).toEqual(looks(text, grammar));
  },
);
