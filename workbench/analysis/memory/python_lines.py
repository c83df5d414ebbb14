"""The statements of generated functions: lines that are read by their form, the rest parsed."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_LONG_STRING = re.compile(r"'''|\"\"\"")
_WITH = re.compile(r"with [\w.]+\([\w.]*\):")
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")
_IDLE = tuple(
    f"assert_{what}("
    for what in ("size_stride", "size_stride_grouped", "tensor_metadata", "alignment")
)
Read = TypeVar("Read")


def split_functions(text: str, start: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The names and texts of functions; the sources of kernels, most of a text, are left out.

    `start` finds the `def` of each, and names its `name`.
    """
    for match in start.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        indent = text[begin : match.start()]
        if not indent.strip(" "):
            after = re.compile(rf"\n(?:{indent})?[^\s#]")
            end = after.search(text, match.end())
            yield match["name"], text[begin : end.start() + 1 if end else len(text)]


def split_statements(block: str, read: Callable[[str], Read | None]) -> list[Read | ast.stmt]:
    """The statements of a function: what `read` makes of a line, else what the parser does.

    The body of a `with` stands in its place. Raises `SyntaxError` as the parser does.
    """
    lines = block.splitlines()
    if not _LONG_STRING.search(block) and lines[0].endswith(":"):
        try:
            return list(_by_line(lines, read))
        except SyntaxError:  # a statement that goes on in a way that is not foreseen
            pass
    (whole,) = ast.parse(textwrap.dedent(f"{block.rstrip()}\n")).body
    return list(whole.body) if isinstance(whole, ast.FunctionDef) else []


def _by_line(lines: Sequence[str], read: Callable[[str], Read | None]) -> Iterator[Read | ast.stmt]:
    place = 1
    while place < len(lines):
        code = lines[place].strip()
        is_idle = code.startswith("#") or (code.startswith(_IDLE) and code.endswith(")"))
        if not code or is_idle or _WITH.fullmatch(code):
            place += 1
            continue
        made = read(code)
        if made is not None:
            yield made
            place += 1
            continue
        end = _end(lines, place)
        yield from ast.parse(textwrap.dedent("\n".join(lines[place:end]))).body
        place = end


def _end(lines: Sequence[str], start: int) -> int:
    """Behind a statement: its brackets are closed, and the lines that belong to it are passed."""
    indent = _indent(lines[start])
    depth = 0
    for place in range(start, len(lines)):
        line = lines[place]
        if place > start and depth == 0 and not lines[place - 1].endswith("\\"):
            code = line.strip()
            is_inside = _indent(line) > indent or not code or code.startswith("#")
            if not is_inside and not _GOES_ON.match(code):
                return place
        code = _STRING.sub("", line).partition("#")[0]
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
    return len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
