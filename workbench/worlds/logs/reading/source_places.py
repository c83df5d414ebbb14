"""Files of the machine that wrote a log: their names in a report, what is known of their texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from workbench.compiler.sources.dynamo_messages import RESUMED
from workbench.compiler.sources.sources import Frame, ShownNames
from workbench.plain_data import read_file

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)(?:\n    (?! *\^)(.*))?')
_HOME = re.compile(r"(?:/home/[^/\s'\"]+|/Users/[^/\s'\"]+|/root)/")
_LIBRARY = re.compile(r"(.*/lib/python\d[\w.]*/)(?!site-packages)")
_SITE = re.compile(r".*/(?:site|dist)-packages/")
_TORCH = "/torch/_dynamo/"
_CELL = re.compile(r"<ipython-input-(\d+)-|.*/ipykernel_\d+/(\d+)\.py$")
_PYTHON = re.compile(r"/lib/python(\d+\.\d+)/")
_SOURCE_LIMIT = 16 << 20  # bytes of a file that a log names


class LogPlaces(ShownNames):
    """Names the files of one log, and keeps what the log quotes of them."""

    def __init__(self, files: Iterable[str]):
        super().__init__()
        self._files = tuple(dict.fromkeys(files))
        self._lines: dict[str, dict[str, dict[int, str]]] = {}  # by file and function
        self._texts: dict[str, Sequence[str]] = {}

    @cached_property
    def torch_folder(self) -> str:
        """Torch's folder on that machine, with its slash; empty when no file shows it."""
        parts = (f.partition(_TORCH) for f in self._files)
        return next((f"{head}/torch/" for head, mark, _ in parts if mark), "")

    @cached_property
    def python(self) -> str:
        """Python's version there, as far as the names of folders show it."""
        matches = (_PYTHON.search(file) for file in self._files)
        return next((match[1] for match in matches if match), "")

    def is_user(self, file: str) -> bool:
        """Whether a file is neither torch's nor made up by torch."""
        own = bool(self.torch_folder) and file.startswith(self.torch_folder)
        return not (own or "/site-packages/torch/" in file or file.startswith("<eval_with_key>"))

    def _show(self, file: str) -> str:
        cell = _CELL.match(file)
        if cell is not None:
            return f"cell {cell[1] or cell[2]}"
        prefix = _installed(file)
        return prefix[1] + file.removeprefix(prefix[0]) if prefix else self.shared(file)

    def shared(self, text: str) -> str:
        """A text of torch's with the files in it under the names of the report."""
        for prefix, shown in self._prefixes:
            text = text.replace(prefix, shown)
        return _HOME.sub("~/", text)

    @cached_property
    def _prefixes(self) -> tuple[tuple[str, str], ...]:
        prefixes = dict.fromkeys(filter(None, map(_installed, self._files)))
        here = os.getcwd() + os.sep
        return (*prefixes, *([(here, "")] if len(here) > 1 else []))

    def note(self, file: str, line: int, function: str, text: str = "") -> None:
        """Remember a line and what it says."""
        by_line = self._lines.setdefault(file, {}).setdefault(named(function), {})
        if text or line not in by_line:
            by_line[line] = text
            self._texts.pop(file, None)

    def note_frame(self, frame: Frame, text: str) -> None:
        """Remember the line of a frame."""
        self.note(frame.file, frame.line, frame.function, text)

    @property
    def frames(self) -> dict[tuple[str, str], dict[int, str]]:
        """What the log quotes by file and function; of libraries only where the file is here."""
        return {
            (file, function): lines
            for file, functions in self._lines.items()
            if not file.startswith("<") and (self.kind(file) != "library" or self.lines_of(file))
            for function, lines in functions.items()
        }

    def lines_of(self, file: str) -> Sequence[str]:
        """The lines of a file of this machine, if every line that the log quotes is there."""
        if file not in self._texts:
            self._texts[file] = self._read(file)
        return self._texts[file]

    def _read(self, file: str) -> Sequence[str]:
        parts = self._lines.get(file, {}).values()
        quoted = {number: text for lines in parts for number, text in lines.items() if text}
        if not file.endswith(".py") or not quoted:
            return ()
        try:
            lines = read_file(file, _SOURCE_LIMIT).decode("utf-8").splitlines(keepends=True)
        except (OSError, ValueError):
            return ()
        is_same = all(
            0 < number <= len(lines) and lines[number - 1].strip() == text.strip()
            for number, text in quoted.items()
        )
        return lines if is_same else ()


def _installed(file: str) -> tuple[str, str] | None:
    """The folder of libraries that a file lies in, and what a report calls it."""
    matches = ((p.match(file), n) for p, n in ((_SITE, "site-packages/"), (_LIBRARY, "python/")))
    return next(((match[0], shown) for match, shown in matches if match), None)


def named(function: str) -> str:
    """The user's name of a function that Dynamo resumes."""
    match = RESUMED.match(function)
    return match[1] if match else function


def parse_frames(trace: str) -> list[tuple[Frame, str]]:
    """The frames of a stack trace, outermost first, each with the text of its line."""
    return [
        (Frame(file, int(line), named(name.strip())), (text or "").strip())
        for file, line, name, text in _FRAME.findall(trace)
    ]
