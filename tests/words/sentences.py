"""Every sentence that a user may read, with its kind and where it is written."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_END = re.compile(r"(?<=[.!?])\)?\s+(?=[A-Z`*\"“(])")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"```.*?```|<!-- (?:from|shown by):.*?-->", re.DOTALL)
_ITEM = re.compile(r"^[-*] |^\d+\. ")
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([^<>{}\n]{12,})<')
_NO_SENTENCE = re.compile(
    r"^\s*(import|def|class|from|return|<|SELECT|#include|raise )|[{};]\n|::|</|\(\)|->|=\{|self\."
)
_TABLE_ROW = re.compile(r"\w {3,}\w")
# an output has lists, code and tables, too: only whole sentences count, each on a new line
_BEGIN = re.compile(r"\n(?=\s*(?:- )?[A-Z0-9`−+]|\s*\n)")
_IS_WHOLE = re.compile(r"^(- )?[A-Z0-9`].*[.!?]$")
_CODE_WORDS = re.compile(r"[{};]$| = |torch\.ops|static_cast|:: ?|\w\(self")
_LEAST, _LEAST_IN_TABLES = 5, 7  # words of what counts as a sentence


@dataclass(frozen=True)
class Sentence:
    """A sentence, the kind of text that it is in, and its file below the root."""

    kind: str
    file: str
    text: str


def list_sentences(root: Path = ROOT) -> list[Sentence]:
    """All of a checkout: documents, notebooks with their outputs, code, glossaries, front end."""
    return [
        sentence
        for read in (_read_documents, _read_notebooks, _read_code, _read_terms, _read_front_end)
        for sentence in read(root)
    ]


def _split(kind: str, file: str, text: str, least: int = _LEAST) -> Iterator[Sentence]:
    for part in _END.split(" ".join(text.split())):
        if len(part.split()) >= least and re.search(r"[a-z]{3,}", part):
            yield Sentence(kind, file, part)


def read_markdown(kind: str, file: str, text: str) -> Iterator[Sentence]:
    """The sentences of a Markdown text: paragraphs, items, and long cells of tables."""
    paragraph: list[str] = []

    def flush() -> Iterator[Sentence]:
        if paragraph:
            joined = _ITEM.sub("", _LINK.sub(r"\1", " ".join(paragraph)))
            yield from _split(kind, file, joined)
        paragraph.clear()

    for line in _CODE.sub("", text).split("\n"):
        stripped = line.strip()
        is_code = line.startswith("    ") and not paragraph
        if not stripped or is_code or stripped.startswith(("<!--", "#")):
            yield from flush()
        elif stripped.startswith("|"):
            yield from flush()
            for cell in stripped.strip("|").split("|"):
                yield from _split(kind, file, _LINK.sub(r"\1", cell), _LEAST_IN_TABLES)
        else:
            if _ITEM.match(stripped):
                yield from flush()
            paragraph.append(stripped)
    yield from flush()


def _read_documents(root: Path) -> Iterator[Sentence]:
    for name in ("README", "CHANGELOG", "CONTRIBUTING"):
        yield from read_markdown(name, f"{name}.md", (root / f"{name}.md").read_text("utf-8"))
    for path in sorted((root / "docs" / "pages").rglob("*.md")):
        if path.name == "glossary.md":  # of the terms, which are read where they are written
            continue
        kind = "about" if path.parent.name == "about" else "guide"
        yield from read_markdown(kind, str(path.relative_to(root)), path.read_text("utf-8"))


def _read_notebooks(root: Path) -> Iterator[Sentence]:
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        file = str(path.relative_to(root))
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield from read_markdown("notebook", file, "".join(cell["source"]))
            for output in cell.get("outputs", []):
                for text in _BEGIN.split(_read_output(output)):
                    if not _TABLE_ROW.search(text.strip()):
                        for sentence in _split("output", file, text, _LEAST_IN_TABLES):
                            if _IS_WHOLE.search(sentence.text) and not _CODE_WORDS.search(
                                sentence.text
                            ):
                                yield sentence


def _read_output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return "" if output["name"] == "stderr" else "".join(output["text"])
    return "".join(output.get("data", {}).get("text/plain", output.get("evalue", "")))


def _read_code(root: Path) -> Iterator[Sentence]:
    """Docstrings of public classes and functions, errors, and other strings that are sentences."""
    for path in sorted((root / "workbench").rglob("*.py")):
        tree, file = ast.parse(path.read_text("utf-8")), str(path.relative_to(root))
        for node in ast.walk(tree):
            if _is_of_users(file) and isinstance(node, ast.ClassDef | ast.FunctionDef):
                text = "" if node.name.startswith("_") else ast.get_docstring(node) or ""
                yield from read_markdown("docstring", file, _strip_examples(text))
        for raised, node in _list_texts(tree):
            for sentence in _split("error" if raised else "sentence", file, _flatten(node)):
                if raised or _reads_as_sentence(sentence.text):
                    yield sentence


def _is_of_users(file: str) -> bool:
    return file.startswith(("workbench/api/", "workbench/handles/")) or file.endswith("/calls.py")


def _strip_examples(text: str) -> str:
    text = re.sub(r"(?ms)^ *>>>.*?(?=\n\s*\n|\Z)", "", text)
    text = re.sub(r"(?m)^\s*-{3,}\s*$", "\n", text)
    return "\n".join(line.strip() for line in text.split("\n"))


def _list_texts(tree: ast.Module) -> Iterator[tuple[bool, ast.expr]]:
    """The outermost strings of a file, each with whether it is of an error that is raised."""
    seen = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}

    def take(nodes: Iterable[ast.expr], raised: bool) -> Iterator[tuple[bool, ast.expr]]:
        for node in nodes:
            if id(node) not in seen and _flatten(node):
                seen.update(id(inner) for inner in ast.walk(node))
                yield raised, node

    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from take(node.exc.args[:2], raised=True)
    kinds = (ast.Constant, ast.JoinedStr, ast.BinOp)
    for node in ast.walk(tree):
        if isinstance(node, kinds):
            yield from take([node], raised=False)


def _flatten(node: ast.expr) -> str:
    """The text of a string, also of one that is put together; values are in braces."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(value.value) if isinstance(value, ast.Constant) else "{value}"
            for value in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _flatten(node.left), _flatten(node.right)
        return f"{left or '{value}'}{right or '{value}'}" if left or right else ""
    return _flatten(node.body) if isinstance(node, ast.IfExp) else ""


def _reads_as_sentence(text: str) -> bool:
    has_words = re.search(r"^[A-Z`{\"(]|[a-z] [a-z]+ [a-z]+", text)
    return bool(has_words) and not _NO_SENTENCE.search(text)


def _read_terms(root: Path) -> Iterator[Sentence]:
    for path in sorted((root / "workbench").rglob("terms.json")):
        for words in json.loads(path.read_text("utf-8")).values():
            for parts in words.values():
                for part in parts:
                    yield from _split("term", str(path.relative_to(root)), part)


def _read_front_end(root: Path) -> Iterator[Sentence]:
    for path in sorted((root / "assets" / "frontend" / "src").rglob("*.ts*")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        text = re.sub(r"//.*", "", text)
        for found in _LITERAL.finditer(text):
            literal = next(part for part in found.groups() if part is not None)
            if re.search(r"^[./@]|import |=>|\bpx\b|;\s|var\(--|className", literal):
                continue
            if re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", literal):
                yield from _split("front end", str(path.relative_to(root)), literal)
