"""Functions of a generated program that stand for parts called often, such as equal layers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from workbench.analysis.memory.events import Event, Give, Take
from workbench.analysis.memory.python_lines import split_functions, split_statements

_OWN = re.compile(r"^def (?P<name>\w+)(?=\(args\):)", re.MULTILINE)
Passed = tuple[int | None, ...]
"""For each result the argument that it is, `NOTHING`, or None for one that the function makes."""
NOTHING = -1


def find_own_functions(
    text: str, known: Collection[str], read: Callable[[str], tuple[Event, ...] | None]
) -> Mapping[str, Passed]:
    """What each function but the `known` ones passes through; `read` gives the events of a line."""
    found: dict[str, Passed] = {}
    for name, block in split_functions(text, _OWN):
        if name not in known:
            found[name] = ()
            with suppress(SyntaxError, ValueError):
                found[name] = _passed(split_statements(block, read))
    return found


def _passed(body: list[tuple[Event, ...] | ast.stmt]) -> Passed:
    taken: tuple[str, ...] = ()
    given: tuple[str | None, ...] = ()
    for unit in body:
        match unit:
            case (Take(names),):
                taken = names
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id="args")):
                taken = tuple(ast.unparse(target) for target in targets)
            case (Give(names),):
                given = names
            case ast.Return(value=ast.Tuple(elts=values)):
                given = tuple(map(memory_of, values))
    places = {None: NOTHING} | {name: place for place, name in enumerate(taken)}
    return tuple(map(places.get, given))


def memory_of(value: ast.expr) -> str | None:
    """The name behind a value, also behind a view of it."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[ast.Name(id=name), *_]):
            return name
    return None
