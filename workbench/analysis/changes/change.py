"""What to write to change a program: lines of its files, lines before a call, settings."""

from __future__ import annotations

import difflib
import linecache
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from workbench.errors import UsageError

Scope = Literal["Dynamo", "compilation", "program"]
"""Whose settings: Dynamo's config, arguments of the compilation, or all that the program does."""


@dataclass(frozen=True)
class Edit:
    """Lines of a file as they are, from `line` on, and those in their place.

    `file` is the name that is shown. What was recorded without its indentation has none in either.
    """

    file: str
    line: int  # from 1
    before: tuple[str, ...]
    after: tuple[str, ...]

    def fit(self, lines: Sequence[str]) -> Edit:
        """The edit with the indentation that the lines of the file have.

        Raises `UsageError` where these are other lines by now.
        """
        here = tuple(
            line.rstrip("\n") for line in lines[self.line - 1 : self.line - 1 + len(self.before)]
        )
        if here == self.before:
            return self
        if [line.strip() for line in here] != [line.strip() for line in self.before]:
            raise UsageError(
                f"Line {self.line} of {self.file} has changed since it was recorded; record again."
            )
        indent = here[0][: len(here[0]) - len(here[0].lstrip())]
        return replace(self, before=here, after=tuple(f"{indent}{line}" for line in self.after))

    def overlaps(self, other: Edit) -> bool:
        """Whether two edits change a line that is the same."""
        if self.file != other.file:
            return False
        return self.line < other.line + len(other.before) and other.line < self.line + len(
            self.before
        )


@dataclass(frozen=True)
class Setting:
    """One setting and its value; `is_added`: the value is a function, by name, of a set."""

    name: str
    value: Any
    scope: Scope = "Dynamo"
    is_added: bool = False

    @property
    def code(self) -> str:
        """How it is set before a compilation; as an argument where it is one of its arguments."""
        if self.is_added:
            module = self.value.partition(".")[0]
            return _ADD.format(module, self.name, self.value)
        if self.scope == "Dynamo":
            return _SET.format(self.name, self.value)
        return _WRITTEN[self.name](self.value)

    @property
    def is_option(self) -> bool:
        """Whether it is an option of Inductor, which are written together."""
        return self.scope == "compilation" and self.name not in _WRITTEN


_SET = "torch._dynamo.config.{} = {!r}"
_ADD = "import {}\ntorch._dynamo.config.{} |= {{{}}}"
_WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "mode": lambda value: f"mode={value!r}",
    "grad": lambda value: f"grad={value!r}",
    "dynamic": lambda value: f"dynamic={value!r}",
    "dynamic_shapes": lambda _: "dynamic_shapes=None",
    "unfused": lambda value: f"compiled.with_fusion(unfused=[{value!r}])",
    "dtype": lambda value: f"model.to(torch.{value}), inputs.to(torch.{value})",
    "memory_format": lambda value: (
        f"model.to(memory_format=torch.{value}), input.to(memory_format=torch.{value})"
    ),
    "float32_matmul_precision": lambda value: f"torch.set_float32_matmul_precision({value!r})",
}
"""How a setting is written that is no option of Inductor."""
_HEAD = re.compile(r"[.:] ")
_OF_PROGRAM = ("dtype", "memory_format", "float32_matmul_precision")


def read_settings(pairs: Iterable[tuple[str, Any]]) -> tuple[Setting, ...]:
    """The settings of a compilation, or of the whole program, by their names and values."""
    return tuple(
        Setting(name, value, "program" if name in _OF_PROGRAM else "compilation")
        for name, value in pairs
    )


@dataclass(frozen=True)
class Change:
    """What to write: `edits` of files, lines `above` their definition, `before_call`, `settings`.

    `before_call` are lines before each call, in the names of the function's arguments; where the
    line that calls is known, an edit has them too.
    """

    edits: tuple[Edit, ...] = ()
    above: tuple[str, ...] = ()
    before_call: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def before(self) -> tuple[str, ...]:
        """The lines that change, as they are."""
        return tuple(line for edit in self.edits for line in edit.before)

    @property
    def after(self) -> tuple[str, ...]:
        """The lines in their place."""
        return tuple(line for edit in self.edits for line in edit.after)

    @property
    def code(self) -> str:
        """All that is written: the new lines, then the settings as they are set."""
        of_dynamo = [setting.code for setting in self.settings if setting.scope == "Dynamo"]
        lines = [*self.above, *self.after, *([] if self.edits else self.before_call), *of_dynamo]
        return "\n".join([*lines, *filter(None, [self.arguments])])

    @property
    def arguments(self) -> str:
        """The settings of the compilation and the program, in one line."""
        own = [setting for setting in self.settings if setting.scope != "Dynamo"]
        written = [setting.code for setting in own if not setting.is_option]
        options = {setting.name: setting.value for setting in own if setting.is_option}
        return ", ".join([*written, *([f"options={options!r}"] if options else [])])

    def overlaps(self, other: Change) -> bool:
        """Whether both change a line that is the same."""
        return any(edit.overlaps(its) for edit in self.edits for its in other.edits)


def split_text(text: str) -> tuple[str, str]:
    """The change in a few words, and the rest, split at a colon or a full stop."""
    what, *rest = _HEAD.split(text, maxsplit=1)
    why = "".join(rest)
    return what.removesuffix("."), why[:1].upper() + why[1:]


def apply_edits(lines: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """The lines of a file, without their ends, after every edit."""
    changed = [line.rstrip("\n") for line in lines]
    # what inserts comes after what replaces lines of the same place: it would be replaced itself
    for edit in sorted(edits, key=lambda e: (e.line, bool(e.before)), reverse=True):
        start = edit.line - 1
        changed[start : start + len(edit.before)] = edit.after
    return changed


def write_diff(changes: Sequence[Change], path_of: Callable[[Edit], str | None]) -> str:
    """The lines that changes write as a unified diff, file by file.

    `path_of` gives the path of an edit's file, None where its source is not at hand. Such changes
    are left out, and those whose lines are others by now.
    """
    by_file: dict[str, list[Edit]] = {}
    for change in changes:
        paths = [path_of(edit) for edit in change.edits]
        try:
            own = [
                edit.fit([] if path is None else linecache.getlines(path))
                for edit, path in zip(change.edits, paths, strict=True)
            ]
        except UsageError:
            continue
        for edit, path in zip(own, paths, strict=True):
            by_file.setdefault(str(path), []).append(edit)
        if own and change.above:
            at = find_definition(linecache.getlines(str(paths[0])), own[0].line)
            above = (*change.above, *_space_after(change.above))
            inserted = Edit(own[0].file, at + 1, (), above)
            here = by_file[str(paths[0])]
            here += [] if inserted in here else [inserted]
    return "".join(_write_file_diff(path, edits) for path, edits in by_file.items())


def _space_after(above: Sequence[str]) -> tuple[str, ...]:
    """Two empty lines after a function that stands over another definition."""
    return ("", "") if above[-1][:1].isspace() else ()


def _write_file_diff(path: str, edits: Sequence[Edit]) -> str:
    """A file before and after, with its path from the working folder where it lies in it."""
    old = [line.rstrip("\n") for line in linecache.getlines(path)]
    shown = edits[0].file
    name = os.path.relpath(path) if os.path.isfile(path) else shown
    name = shown.lstrip("~/") if name.startswith(os.pardir) else name.replace(os.sep, "/")
    rows = difflib.unified_diff(old, apply_edits(old, edits), f"a/{name}", f"b/{name}", lineterm="")
    return "".join(f"{row}\n" for row in rows)


def find_definition(lines: Sequence[str], line: int) -> int:
    """Where the definition begins, at the left margin, that holds a line; decorators included."""
    at = min(line, len(lines)) - 1
    while at > 0 and (not lines[at].strip() or lines[at][0].isspace() or lines[at][0] in ")#"):
        at -= 1
    while at > 0 and lines[at - 1].startswith("@"):
        at -= 1
    return at
