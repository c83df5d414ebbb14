"""Comments in documents that name the source of a number, or the test of a statement.

    … took 2.95 times. <!-- from: tests/gpu/gpu.json time of the top pick … = .2f -->
    … is not supported. <!-- shown by: tests/items/test_items.py::test_it -->

A path goes through a JSON or TOML file, or the constants of a Python file, by keys and positions,
with ` :: ` between. In a list, text finds the row that has it as a value. `len` and
`count KEY.KEY=VALUE` count rows, `abs` drops a sign. A `figures` list needs no key, and a row
stands for its `value`. The format is Python's. ` ; ` parts several numbers of one file.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"<!-- (from|shown by):\s+(.*?)\s*-->", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Mark:
    """A comment: its kind, what it says, and the paragraph, item or table that it follows."""

    kind: str
    text: str
    before: str


def list_marks(text: str) -> Iterator[Mark]:
    """The marks of a document."""
    for found in _MARK.finditer(text):
        before = _COMMENT.sub("", text[: found.start()]).rstrip()
        yield Mark(found[1], " ".join(found[2].split()), re.split(r"\n\s*\n", before)[-1])


def list_numbers(mark: Mark) -> Iterator[tuple[str, str]]:
    """Each path of a mark with the number as a document writes it."""
    file, _, rest = mark.text.partition(" ")
    for each in rest.split(" ; "):
        path, _, form = each.rpartition(" = ")
        yield path, show(find(_load(file), path), form)


def find(data: Any, path: str) -> Any:
    """The value at a path."""
    steps = path.split(" :: ")
    if isinstance(data, dict) and steps[0] not in data:
        data = data["figures"]
    for step in steps:
        data = _take(data, step)
    return _read_value(data)


def _take(data: Any, step: str) -> Any:
    """What a step leads to."""
    if step in ("len", "abs"):
        return len(data) if step == "len" else abs(_read_value(data))
    if step.startswith("count "):
        keys, _, wanted = step.removeprefix("count ").partition("=")
        rows = data.values() if isinstance(data, dict) else data
        return sum(
            reduce(lambda row, key: row.get(key, {}), keys.split("."), row) == wanted
            for row in rows
        )
    if isinstance(data, list | tuple) and not step.isdigit():
        (row,) = (row for row in data if step in row.values())
        return row
    return data[int(step) if isinstance(data, list | tuple) else step]


def _read_value(data: Any) -> Any:
    return data["value"] if isinstance(data, dict) else data


def show(value: float, form: str) -> str:
    """A number as documents write it: a space before the percent sign, a true minus."""
    return format(value, form).replace("%", " %").replace("-", "−")


def has_number(text: str, number: str) -> bool:
    """Whether a text has the number, not as a part of a longer one."""
    return re.search(rf"(?<![\d.,−]){re.escape(number)}(?![.,]?\d)", text) is not None


@cache
def _load(file: str) -> Any:
    text = (ROOT / file).read_text()
    if file.endswith(".py"):
        return dict(_list_constants(ast.parse(text)))
    return tomllib.loads(text) if file.endswith(".toml") else json.loads(text)


def _list_constants(module: ast.Module) -> Iterator[tuple[str, Any]]:
    """The names of a module that stand for literals."""
    for line in module.body:
        if isinstance(line, ast.Assign):
            (target,) = line.targets
            with suppress(ValueError):
                value = ast.literal_eval(line.value)
                if isinstance(target, ast.Tuple):
                    names = (ast.unparse(each) for each in target.elts)
                    yield from zip(names, value, strict=True)
                else:
                    yield ast.unparse(target), value
