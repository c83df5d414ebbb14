"""The TypeScript types of the front end, generated from the files of `wire/` and of the worlds.

Beside the types are the titles of the panes, those of the questions, which a view shows before it
has a document, and the words for what became of a line. A world whose folder has
`views/messages.py` gets a `wire.ts` of its own. Its `Document` joins that of the view. `worlds.ts`
lists the folders of the front end.

`python -m workbench.views.typescript` writes them into `assets/frontend/src` of a checkout.
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

from workbench.views.panes.questions import QUESTIONS
from workbench.views.panes.registry import list_panes
from workbench.views.source_marks import WORDS
from workbench.worlds.world import list_worlds

SOURCES = Path(__file__).parents[2] / "assets" / "frontend" / "src"
TARGET = SOURCES / "wire.ts"
WIRE = Path(__file__).parent / "wire"
_NO_TYPES = ("__init__.py", "codec.py")
_HEAD = "// Generated from {} by `python -m workbench.views.typescript`.\n"
_PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}


def typescript() -> str:
    """The literals, aliases and TypedDicts of the wire as TypeScript declarations."""
    parts = [_HEAD.format("workbench/views/wire/*.py")]
    for file in sorted(file for file in WIRE.glob("*.py") if file.name not in _NO_TYPES):
        parts += _declarations(file).values()
    elsewhere = {
        pane.id for world in list_worlds() if not world.is_own for pane in world.list_panes()
    }
    titles: dict[str, str] = {p.id: p.title for p in list_panes() if p.id not in elsewhere}
    parts.append(_constant("TITLES", "Record<PaneId, string>", titles))
    questions = {question.id: question.title for question in QUESTIONS}
    parts.append(_constant("QUESTIONS", "Record<string, string>", questions))
    parts.append(_constant("WORDS", 'Record<Line["state"], string>', WORDS))
    return "\n".join(parts)


def _declarations(file: Path) -> dict[str, str]:
    """What a file of messages declares, by name."""
    declarations = {}
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ClassDef):
            declarations[statement.name] = _interface(statement)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            declarations[name] = _assigned(name, statement.value)
    return declarations


def list_world_folders() -> list[str]:
    """The worlds of this package that have a folder in the front end."""
    own = (world.name for world in list_worlds() if world.is_own)
    return [name for name in own if (SOURCES / "worlds" / name).is_dir()]


def list_world_messages() -> dict[str, Path]:
    """The files of messages of these worlds."""
    worlds = WIRE.parents[1] / "worlds"
    files = {name: worlds / name / "views" / "messages.py" for name in list_world_folders()}
    return {name: file for name, file in files.items() if file.exists()}


def write_world(name: str, file: Path) -> str:
    """The messages of one world; what it adds to the document of a report joins `Document`."""
    declarations = _declarations(file)
    document = declarations.pop("Document", None)
    body = "\n".join(declarations.values())
    exported = set(
        re.findall(r"^export (?:interface|type|const) (\w+)", typescript(), re.MULTILINE)
    )
    used = sorted(
        exported & set(re.findall(r"\b[A-Z]\w+\b", _without_comments(body))) - set(declarations)
    )
    parts = [_HEAD.format(f"workbench/worlds/{name}/views/messages.py")]
    if used:
        parts.append(f'import type {{ {", ".join(used)} }} from "../../wire";\n')
    parts.append(body)
    if document is not None:
        inner = textwrap.indent(document.removeprefix("export "), "  ")
        inner = inner.replace("  export interface", "  interface")
        parts.append(f'declare module "../../wire" {{\n{inner}}}\n')
    return "\n".join(parts)


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def list_folders() -> str:
    """The module of the front end that imports the folder of every world that has one."""
    return _write_list("register", "world", "WORLDS", "")


def list_records() -> str:
    """The module of the front end that imports the views of records that worlds have."""
    kind = 'import type { WorldRecords } from "./opened/view";\n'
    text = _write_list("records", "records", "RECORDS", ": readonly WorldRecords[]")
    head, rest = text.split("\n", 1)
    return f"{head}\n\n{kind}{rest.lstrip()}"


def _write_list(file: str, part: str, constant: str, kind: str) -> str:
    """What the folders of worlds that have a file give as one of its parts."""
    folders = SOURCES / "worlds"
    names = [name for name in list_world_folders() if (folders / name / f"{file}.tsx").exists()]
    imports = [f'import {{ {part} as {name} }} from "./worlds/{name}/{file}";' for name in names]
    head = _HEAD.format("the folders of src/worlds")
    listed = f"export const {constant}{kind} = [{', '.join(names)}];"
    return "\n".join((head, *imports, "", listed, ""))


def list_terms() -> str:
    """The module of the front end that imports the words of every world of the checkout."""
    root = SOURCES.parents[2]
    files = {
        world.name: world.terms.relative_to(root).as_posix()
        for world in list_worlds()
        if world.is_own and world.terms.exists()
    }
    imports = [f'import {name} from "../../../{file}";' for name, file in files.items()]
    head = _HEAD.format("workbench/worlds/*/terms.json")
    return "\n".join((head, *imports, "", f"export const TERMS = [{', '.join(files)}];", ""))


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
    """Write the files and say where."""
    for path, text in list_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path.relative_to(SOURCES.parents[2])}\n")


def list_files() -> dict[Path, str]:
    """Every generated file with its text."""
    worlds = {
        SOURCES / "worlds" / name / "wire.ts": write_world(name, file)
        for name, file in list_world_messages().items()
    }
    return {
        TARGET: typescript(),
        SOURCES / "worlds.ts": list_folders(),
        SOURCES / "worldrecords.ts": list_records(),
        SOURCES / "worldterms.ts": list_terms(),
        **worlds,
    }


if __name__ == "__main__":
    main()
