"""The TypeScript types of the front end, generated from the files of `wire/`.

Beside the types stand the titles of the panes, which are there before the document is, and the
words for what became of a line.

`python -m workbench.views.typescript` writes `assets/frontend/src/wire.ts` of a checkout.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.views.panes.registry import PANES
from workbench.views.source_marks import WORDS

TARGET = Path(__file__).parents[2] / "assets" / "frontend" / "src" / "wire.ts"
WIRE = Path(__file__).parent / "wire"
_NO_TYPES = ("__init__.py", "codec.py")
_HEAD = "// Generated from workbench/views/wire/*.py by `python -m workbench.views.typescript`.\n"
_PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}


def typescript() -> str:
    """The literals, aliases and TypedDicts of the wire as TypeScript declarations."""
    parts = [_HEAD]
    files = sorted(file for file in WIRE.glob("*.py") if file.name not in _NO_TYPES)
    texts = (file.read_text(encoding="utf-8") for file in files)
    for statement in (each for text in texts for each in ast.parse(text).body):
        if isinstance(statement, ast.ClassDef):
            parts.append(_interface(statement))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            parts.append(_assigned(statement.targets[0].id, statement.value))
    titles: dict[str, str] = {pane.id: pane.title for pane in PANES}
    parts.append(_constant("TITLES", "Record<PaneId, string>", titles))
    parts.append(_constant("WORDS", 'Record<Line["state"], string>', WORDS))
    return "\n".join(parts)


def _constant(name: str, kind: str, values: Mapping[Any, str]) -> str:
    lines = (f"  {key}: {json.dumps(value)}," for key, value in values.items())
    return "\n".join((f"export const {name}: {kind} = {{", *lines, "};", ""))


def _assigned(name: str, value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return f"export const {name} = {_literal(value)};\n"
    return f"export type {name} = {_type(value)};\n"


def _interface(statement: ast.ClassDef) -> str:
    lines = [f"export interface {statement.name} {{"]
    for member in statement.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            kind = member.annotation
            optional = ""
            if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "NotRequired":
                kind, optional = kind.slice, "?"
            lines.append(f"  {member.target.id}{optional}: {_type(kind)};")
    return "\n".join([*_comment(ast.get_docstring(statement)), *lines, "}", ""])


def _comment(text: str | None) -> list[str]:
    if text is None:
        return []
    words = re.sub(r"\s+", " ", text)
    return ["/**", *textwrap.wrap(words, 96, initial_indent=" * ", subsequent_indent=" * "), " */"]


def _type(node: ast.expr) -> str:
    """One annotation; raises `TypeError` for what the wire does not use."""
    match node:
        case ast.Constant(value=None):
            return "null"
        case ast.Name(id=name):
            return _PLAIN.get(name, name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = f"{_type(left)} | {_type(right)}".split(" | ")
            return " | ".join(dict.fromkeys(sides))  # int and float are both number
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            items = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
            return _generic(name, items)
    raise TypeError(f"the wire uses {ast.unparse(node)}, which has no TypeScript form here")


def _generic(name: str, items: list[ast.expr]) -> str:
    if name == "Literal":
        return " | ".join(_literal(item) for item in items)
    types = [_type(item) for item in items]
    if name == "list":
        return f"({types[0]})[]" if "|" in types[0] else f"{types[0]}[]"
    if name == "dict":
        return f"Record<{types[0]}, {types[1]}>"
    if name == "tuple":
        return f"[{', '.join(types)}]"
    raise TypeError(f"the wire uses {name}[…], which has no TypeScript form here")


def _literal(node: ast.expr) -> str:
    value = ast.literal_eval(node)
    return f'"{value}"' if isinstance(value, str) else str(value)


def main() -> None:
    """Write the file and say where."""
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(typescript(), encoding="utf-8")
    sys.stdout.write(f"wrote {TARGET.relative_to(TARGET.parents[3])}\n")


if __name__ == "__main__":
    main()
