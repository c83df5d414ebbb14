"""The functions that were traced: where their lines are, with text, also from notebook cells."""

from __future__ import annotations

import builtins
import inspect
import linecache
import os
import re
import sys
import sysconfig
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol

from workbench.report import Link, Node, Source, Table, TextWriter

_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)')
CELLS: ContextVar[Mapping[str, int]] = ContextVar("CELLS", default=MappingProxyType({}))
"""Execution count by file name of the notebook that this process works for."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_COMPILER = tuple(os.path.join(_PACKAGE, part, "") for part in ("compiler", "worlds"))
"""Folders of what stands on the stack while torch compiles: a world may watch it, too."""
_LARGEST = 400  # lines of a module or a function that are kept
_GAP = "⋮"  # a line that nobody quotes; no Python, so that the rest is not taken for a function


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack; `file` is the name that Python knows it by."""

    file: str
    line: int
    function: str


class ShownNames:
    """Files under the names that a report has for them; each is made once."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def shown(self, file: str) -> str:
        """The name of a file in the report."""
        name = self._shown.get(file)
        if name is None:
            name = self._shown[file] = self._show(file)
        return name

    def _show(self, file: str) -> str:
        raise NotImplementedError

    def kind(self, file: str) -> str:
        """`user`, `notebook` or `library`."""
        name = self.shown(file)
        if name.startswith("cell "):
            return "notebook"
        return "library" if name.startswith(("site-packages/", "python/")) else "user"


class Places(ShownNames):
    """Turns stack traces into frames and file names into names that can be shared."""

    def __init__(self) -> None:
        super().__init__()
        self._innermost: dict[str, Frame | None] = {}
        self._callers: dict[str, tuple[Frame, ...]] = {}
        self._is_torch: dict[str, bool] = {}
        self.frames: dict[tuple[str, str], dict[int, str]] = {}

    @cached_property
    def _torch_folder(self) -> str:
        import torch

        return os.path.dirname(os.path.abspath(torch.__file__)) + os.sep

    @cached_property
    def cells(self) -> dict[str, int]:
        """Execution count by file name, inside IPython; its files are made up."""
        if CELLS.get():
            return dict(CELLS.get())
        get = getattr(builtins, "get_ipython", None)  # IPython puts it there while a cell runs
        shells = sys.modules.get("IPython.core.interactiveshell")
        between = getattr(getattr(shells, "InteractiveShell", None), "_instance", None)
        shell = between if get is None else get()
        names = getattr(getattr(shell, "compile", None), "_filename_map", None)
        return dict(names or {})

    def is_user(self, file: str) -> bool:
        """Whether a file is neither torch's nor made up by torch, nor of this compiler."""
        is_torch = self._is_torch.get(file)
        if is_torch is None:
            is_torch = file.startswith((self._torch_folder, "<eval_with_key>", *_COMPILER))
            self._is_torch[file] = is_torch
        return not is_torch

    def is_python(self, file: str) -> bool:
        """Whether a file is of Python's standard library, frozen modules included."""
        return file.startswith("<frozen ") or self.shown(file).startswith("python/")

    def is_own(self, file: str) -> bool:
        """Whether a file is the user's own: of no library, nor of Python, nor of this compiler."""
        made_up = file.startswith(("<frozen", "<string")) or self.is_compiler(file)
        return self.is_user(file) and not made_up and self.kind(file) != "library"

    @staticmethod
    def is_compiler(file: str) -> bool:
        """Whether a file belongs to this compiler."""
        return file.startswith(_COMPILER)

    def innermost(self, stack_trace: str) -> Frame | None:
        """The innermost user frame of a stack trace as FX keeps it.

        Of torch, when there is no other: torch's own modules have lines too.
        """
        if stack_trace not in self._innermost:
            self._innermost[stack_trace] = self._find(stack_trace)
        return self._innermost[stack_trace]

    def _find(self, stack_trace: str) -> Frame | None:
        frames = [Frame(f, int(line), name) for f, line, name in _FRAME.findall(stack_trace)]
        mine = [frame for frame in frames if self.is_user(frame.file)]
        innermost = (mine or frames)[-1:]
        for frame in (*(f for f in mine if "site-packages" not in f.file), *innermost):
            self.note(frame.file, frame.line, frame.function)
        self._callers[stack_trace] = tuple(reversed(mine[:-1]))
        return innermost[0] if innermost else None

    def callers(self, stack_trace: str) -> tuple[Frame, ...]:
        """The user frames around the innermost one, nearest first."""
        if stack_trace not in self._callers:
            self.innermost(stack_trace)
        return self._callers[stack_trace]

    def note(self, file: str, line: int, function: str) -> None:
        """Record a line whose function belongs in the report."""
        self.frames.setdefault((file, function), {})[line] = ""

    def lines_of(self, file: str) -> Sequence[str]:
        """The file in lines, also a notebook cell."""
        return linecache.getlines(file)

    def path_of(self, shown: str) -> str:
        """The file that is shown by a name; the name itself where none was."""
        return next((file for file, name in self._shown.items() if name == shown), shown)

    def _show(self, file: str) -> str:
        count = self.cells.get(file)
        match = re.match(r"<ipython-input-(\d+)-", file)
        if count is not None or match is not None:
            return f"cell {count if match is None else match[1]}"
        _, mark, rest = file.rpartition(f"{os.sep}site-packages{os.sep}")
        if mark:
            return f"site-packages/{rest}"
        standard = sysconfig.get_path("stdlib") + os.sep
        if file.startswith(standard):
            return f"python/{file.removeprefix(standard)}"
        for folder, short in self._folders:
            if file.startswith(folder):
                return short + file.removeprefix(folder)
        return file

    @cached_property
    def _folders(self) -> tuple[tuple[str, str], ...]:
        """The home folder, then where the process runs: a project may lie outside of home."""
        folders = ((os.path.expanduser("~"), "~/"), (os.getcwd(), ""))
        return tuple((folder + os.sep, short) for folder, short in folders if len(folder) > 1)

    def shared(self, text: str) -> str:
        """A text of torch's with the files in it under the names of the report."""
        for prefix, name in self._prefixes:
            text = text.replace(prefix, name)
        for file, _ in self.frames:
            if file in self.cells:
                text = text.replace(file, self.shown(file))
        return text

    @cached_property
    def _prefixes(self) -> tuple[tuple[str, str], ...]:
        folders = {
            os.path.dirname(self._torch_folder.rstrip(os.sep)),
            sysconfig.get_path("purelib"),
        }
        prefixes = [(folder + os.sep, "site-packages/") for folder in sorted(folders)]
        return (*prefixes, *self._folders)


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    first: int
    lines: Sequence[str]
    qualified: str | None

    def has_around(self, line: int) -> bool:
        """Whether a line is in it; a whole file holds lines whose function is still to be found."""
        return self.name != "<module>" and self.first <= line < self.first + len(self.lines)


class SourceLineIndex:
    """The functions of a report by file, and the ids of their lines.

    `L:s0:12` is line 12, in the innermost function of the report around it.
    """

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        self._ids: dict[tuple[str, int], str | None] = {}

    def add(self, shown: str, first: int, last: int, source: str) -> None:
        """Note where a source of a shown file begins and ends, before ids are asked for."""
        self._spans.setdefault(shown, []).append((first, last, source))

    def is_within(self, shown: str, line: int) -> bool:
        """Whether a source noted so far has the line."""
        return any(first <= line <= last for first, last, _ in self._spans.get(shown, ()))

    def of(self, shown: str | None, line: int | None) -> str | None:
        """The id of a line of a shown file, or None when its function is not in the report."""
        if shown is None or line is None:
            return None
        key = (shown, line)
        if key not in self._ids:
            fits = [s for s in self._spans.get(shown, ()) if s[0] <= line <= s[1]]
            inner = max(fits, default=None)
            self._ids[key] = None if inner is None else f"L:{inner[2]}:{line}"
        return self._ids[key]


class TracedFiles(Protocol):
    """What a recorder or the reader of a log knows of files and of the lines that were traced."""

    @property
    def frames(self) -> Mapping[tuple[str, str], Mapping[int, str]]:
        """By file and function the lines, each with its text where only that is known."""

    def shown(self, file: str) -> str:
        """The name of a file in the report."""

    def kind(self, file: str) -> str:
        """`user`, `notebook` or `library`."""

    def lines_of(self, file: str) -> Sequence[str]:
        """The file as it was traced, in lines; none where it is not here."""

    def shared(self, text: str) -> str:
        """A text of torch's with the files in it under the names of the report."""


class SourceTable:
    """The source rows of a report and the ids of their lines.

    `is_quoted`: whether some text is put together from single lines.
    """

    def __init__(self, places: Sequence[TracedFiles], texts: TextWriter):
        self.rows: list[Source] = []
        self.is_quoted = False
        self._ids = SourceLineIndex()
        self.line_id = self._ids.of
        owners: dict[str, tuple[TracedFiles, str]] = {}
        frames: dict[tuple[str, str], dict[int, str]] = {}
        for one in places:
            for (file, function), lines in one.frames.items():
                name = one.shown(file)
                owners.setdefault(name, (one, file))
                frames.setdefault((name, function), {}).update(lines)
        blocks: dict[str, dict[tuple[int, int], _Found]] = {}
        for (name, function), lines in frames.items():
            owner, file = owners[name]
            of_file = blocks.setdefault(name, {})
            for block in _list_blocks(owner.lines_of(file), function, lines, of_file.values()):
                span = block.first, block.first + len(block.lines) - 1
                if span in of_file:
                    continue
                of_file[span] = block
                self.is_quoted = self.is_quoted or block.qualified is None
                id, text = f"s{len(self.rows)}", texts.add("".join(block.lines).rstrip("\n"))
                names = block.name, name, block.first, text, owner.kind(file), block.qualified
                self.rows.append(Source(id, *names))
                self._ids.add(name, *span, id)

    def tie_nodes(self, nodes: Table[Node]) -> Iterator[Link]:
        """Nodes with their lines."""
        columns = (nodes.columns[name] for name in ("id", "file", "line"))
        for id, file, line in zip(*columns, strict=True):
            if (source := self._ids.of(file, line)) is not None:
                yield Link(source, id, "line-node")


def _list_blocks(
    text: Sequence[str],
    function: str,
    lines: Mapping[int, str],
    listed: Collection[_Found],
) -> Iterator[_Found]:
    """The functions around lines of one file that no listed block has; else what is quoted.

    Each that is given is to be known when the next is asked for.
    """
    quoted: dict[int, str] = {}
    for line in sorted(lines):
        if text and any(block.has_around(line) for block in listed):
            continue
        block = _block(text, function, line)
        if block is not None:
            yield block
        elif lines[line]:
            quoted[line] = lines[line]
    if quoted:
        first = min(quoted)
        last = max(line for line in quoted if line - first < _LARGEST)
        between = (quoted.get(number) or _GAP for number in range(first, last + 1))
        yield _Found(function, first, [f"{line}\n" for line in between], None)


class CallSites:
    """The lines that led to an operation: the calls of the functions that it was inlined from.

    `of` holds their ids by stack trace, nearest first; `pairs` are the lines with the line that
    called their function. Functions that are not in the report are passed over.
    """

    def __init__(self, places: Places, sources: SourceTable, traces: Iterable[str]):
        self.of: dict[str, tuple[str, ...]] = {}
        self.pairs: dict[tuple[str, str], None] = {}
        for trace in traces:
            inner = places.innermost(trace)
            frames = [] if inner is None else [inner, *places.callers(trace)]
            ids = [sources.line_id(places.shown(f.file), f.line) for f in frames]
            chain = list(dict.fromkeys(id for id in ids if id is not None))
            is_known = bool(ids) and ids[0] is not None
            self.of[trace] = tuple(chain[1:] if is_known else chain)
            self.pairs.update(dict.fromkeys(pairwise(chain)))


def qualify(lines: Sequence[str], function: str, line: int) -> str:
    """The name of the function around a line of a file with the classes that it is in."""
    block = _block(lines, function, line)
    is_own = block is not None and block.name == function
    return (block.qualified or function) if block is not None and is_own else function


def _block(lines: Sequence[str], function: str, line: int) -> _Found | None:
    """The text of the function around a line; of a short file without one all of it."""
    if not 0 < line <= len(lines):
        return None
    span = _span(lines, function, line)
    if span is None:
        return _Found("<module>", 1, lines, "<module>") if len(lines) <= _LARGEST else None
    first, last = span
    while first > 1 and lines[first - 2].lstrip().startswith("@"):
        first -= 1
    own_lines = lines[first - 1 : max(last, line)]
    match = re.search(r"def\s+(\w+)", "".join(own_lines))
    name = match[1] if match else function
    return _Found(name, first, own_lines, ".".join((*_classes_around(lines, first), name)))


def _classes_around(lines: Sequence[str], first: int) -> list[str]:
    """The classes that a definition on a line is in, the outermost first."""
    classes: list[str] = []
    column = _indent(lines[first - 1])
    for text in reversed(lines[: first - 1]):
        if not column:
            break
        is_code = text.strip() and not text.lstrip().startswith("#")
        if is_code and _indent(text) < column:
            column = _indent(text)
            if name := re.match(r"\s*class\s+(\w+)", text):
                classes.insert(0, name[1])
    return classes


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _span(lines: Sequence[str], function: str, line: int) -> tuple[int, int] | None:
    """First and last line of the `def` around `line`; None when it is outside of functions."""
    name = r"\w+" if function.startswith("<") else re.escape(function.rpartition(".")[2])
    if function == "<module>":
        return None
    pattern = re.compile(rf"\s*(async\s+)?def\s+{name}\b")
    for number in range(line, 0, -1):
        if pattern.match(lines[number - 1]):
            last = _last_line(lines, number)
            if last >= line:
                return number, last
    return None


def _last_line(lines: Sequence[str], first: int) -> int:
    block = list(lines[first - 1 : first - 1 + _LARGEST])
    try:
        return first + len(inspect.getblock(block)) - 1
    except (IndentationError, SyntaxError, tokenize.TokenError):
        return first + len(block) - 1
