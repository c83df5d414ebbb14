"""The lines of the program that a recompile is about: what changed, set, made and called it."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import CodeType

from workbench.analysis.source.recompile_reasons import Changed, find_set, is_cell, list_changes
from workbench.compiler.sources.sources import Places
from workbench.report.program.record_rows import NOWHERE, Spot
from workbench.worlds.sessions.recording.frame_names import Frame

_OURS = f"{Path(__file__).parents[3]}{os.sep}"
_MOST_FILES, _MOST_LETTERS = 2000, 400_000
_SETS_STATE = ("value", "length", "type", "identity")
"""Kinds of guards on what a line of the program changes between calls."""


@dataclass(frozen=True)
class Evidence:
    """Lines with their files as they are shown; of one that is not known nothing.

    `changed` are the lines that may have changed the value, `set_by` first gave it, `made_by` calls
    torch.compile, `called_by` calls what was compiled, with the caller's names in `called_as`,
    such as `x=batch`.
    """

    changed: tuple[Spot, ...] = ()
    set_by: Spot = NOWHERE
    made_by: Spot = NOWHERE
    called_by: Spot = NOWHERE
    called_as: tuple[str, ...] = ()


def find_evidence(
    places: Places,
    code: CodeType,
    kind: str,
    source: str,
    at: Frame | None,
    names: Sequence[str],
    classes: Sequence[str] = (),
) -> Evidence:
    """What the sources tell of a recompile of `code`, whose arguments have these `names`.

    `at` is the line of the program that called it, `classes` those of the object whose attribute
    the guard looks at, where it has one.
    """
    file = code.co_filename
    own = _read(file)
    others: Mapping[str, str] = {}
    changed: tuple[Changed, ...] = ()
    set_by = NOWHERE
    if kind in _SETS_STATE:
        changed = list_changes(own, {}, source, file, classes)
        others = {} if changed else _read_others(places, file)
        changed = changed or list_changes(own, others, source, file, classes)
        found = find_set(own, source)
        set_by = NOWHERE if found is None else (places.shown(file), *found)
    caller = "" if at is None else _read(at.file)
    return Evidence(
        tuple((places.shown(each.file), each.line, each.code) for each in changed),
        set_by,
        _find_made(places, code, own, at, caller),
        *_find_call(places, at, caller, names, *_read_stars(code)),
    )


def _read_stars(code: CodeType) -> tuple[str, str]:
    """What `*args` and `**kwargs` are called in a function, "" for one that has none."""
    rest = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    args, kwargs = (rest.pop(0) if code.co_flags & flag and rest else "" for flag in flags)
    return args, kwargs


def _read(file: str) -> str:
    return "".join(linecache.getlines(file))


def _read_others(places: Places, own: str) -> dict[str, str]:
    """The other files of the user's that were loaded: cells in order, then the last first."""
    cells = places.cells
    files = [*sorted((file for file in cells if is_cell(file)), key=lambda file: cells[file])]
    files += [getattr(module, "__file__", None) or "" for module in [*sys.modules.values()][::-1]]
    named = dict.fromkeys(file for file in files if file.endswith(".py") and file != own)
    theirs = (file for file in named if not file.startswith(_OURS))  # ours change no program
    kept = [file for file in theirs if file in cells or places.is_own(file)][:_MOST_FILES]
    texts = {file: _read(file) for file in kept}
    return {file: text for file, text in texts.items() if len(text) <= _MOST_LETTERS}


def _find_made(places: Places, code: CodeType, own: str, at: Frame | None, caller: str) -> Spot:
    """The line that has the function compiled: its decorator, or the only call that names it."""
    lines = own.split("\n")
    for number in range(code.co_firstlineno, code.co_firstlineno + 8):
        line = lines[number - 1] if number <= len(lines) else ""
        if line.lstrip().startswith(("def ", "async def ")):
            break
        if line.strip() == "@torch.compile" or (
            line.strip().startswith("@torch.compile(") and _is_compile(line.strip()[1:])
        ):
            return places.shown(code.co_filename), number, line
    texts = {code.co_filename: own} if at is None else {code.co_filename: own, at.file: caller}
    found = [
        (places.shown(file), number, line)
        for file, text in texts.items()
        for number, line in enumerate(text.split("\n"), 1)
        if "torch.compile(" in line and _is_compile(line)
    ]
    return found[0] if len(found) == 1 else NOWHERE


def _is_compile(line: str) -> bool:
    """Whether a line is a statement by itself that calls torch.compile once, without dynamic=."""
    try:
        tree = ast.parse(textwrap.dedent(line))
    except SyntaxError:
        return False
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if ast.unparse(call.func) == "torch.compile"]
    return len(made) == 1 and all(word.arg != "dynamic" for word in made[0].keywords)


def _find_call(
    places: Places, at: Frame | None, text: str, names: Sequence[str], args: str, kwargs: str
) -> tuple[Spot, tuple[str, ...]]:
    """The line that calls what was compiled, where it is a statement with one such call.

    What a wrapper takes by `*args` is named as its guards name it: `args[0]`.
    """
    lines = text.split("\n")
    if at is None or not 0 < at.line <= len(lines):
        return NOWHERE, ()
    line = lines[at.line - 1]
    try:
        tree = ast.parse(textwrap.dedent(line))
    except SyntaxError:  # a part of a statement, or the head of a loop
        return NOWHERE, ()
    own = [name for name in names if name != "self"]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    taken = [call for call in calls if _fits(call, own, args, kwargs)]
    fitting = [call for call in taken if _is_plain(call)]
    fitting = fitting or [call for call in taken if _count(call) == len(own)]
    spot = places.shown(at.file), at.line, line
    if len(fitting) != 1:
        return spot, ()
    places_of = [*own, *(f"{args}[{n}]" for n in range(len(fitting[0].args) - len(own)))]
    words = {
        name if name in own else f"{kwargs}[{name!r}]": value
        for name, value in _read_words(fitting[0]).items()
    }
    given = {**dict(zip(places_of, fitting[0].args, strict=False)), **words}
    named = {name: value.id for name, value in given.items() if isinstance(value, ast.Name)}
    return spot, tuple(f"{name}={value}" for name, value in named.items())


def _fits(call: ast.Call, names: Sequence[str], args: str, kwargs: str) -> bool:
    """Whether a call may be that of a function with arguments of these names."""
    most = inf if args or kwargs else len(names)
    return 0 < _count(call) <= most and (bool(kwargs) or set(_read_words(call)) <= set(names))


def _count(call: ast.Call) -> int:
    return len(call.args) + len(call.keywords)


def _read_words(call: ast.Call) -> dict[str, ast.expr]:
    return {word.arg: word.value for word in call.keywords if word.arg is not None}


def _is_plain(call: ast.Call) -> bool:
    """Whether a call has names alone for its arguments."""
    values = [*call.args, *(word.value for word in call.keywords)]
    return all(isinstance(value, ast.Name) for value in values)
