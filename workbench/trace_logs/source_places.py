"""Files of the machine that wrote a log: which are the user's, and their names in a report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property

from workbench.compiler.sources.break_messages import RESUMED
from workbench.compiler.sources.sources import Frame

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)(?:\n    (?! *\^)(.*))?')
_HOME = re.compile(r"(?:/home/[^/\s'\"]+|/Users/[^/\s'\"]+|/root)/")
_LIBRARY = re.compile(r"(.*/lib/python\d[\w.]*/)(?!site-packages)")
_SITE = re.compile(r".*/(?:site|dist)-packages/")
_TORCH = "/torch/_dynamo/"
_CELL = re.compile(r"<ipython-input-(\d+)-|.*/ipykernel_\d+/(\d+)\.py$")
_PYTHON = re.compile(r"/lib/python(\d+\.\d+)/")


class LogPlaces:
    """Names the files of one log; `lines` keeps what the log holds of their texts."""

    def __init__(self, files: Iterable[str]):
        self._files = tuple(dict.fromkeys(files))
        self._shown: dict[str, str] = {}
        self.lines: dict[tuple[str, str], dict[int, str]] = {}

    @cached_property
    def torch_folder(self) -> str:
        """Torch's folder on that machine, with its slash; empty when no file shows it."""
        found = (f.partition(_TORCH) for f in self._files)
        return next((f"{head}/torch/" for head, mark, _ in found if mark), "")

    @cached_property
    def python(self) -> str:
        """Python's version there, as far as the names of folders show it."""
        found = (_PYTHON.search(file) for file in self._files)
        return next((match[1] for match in found if match), "")

    def is_user(self, file: str) -> bool:
        """Whether a file is neither torch's nor made up by torch."""
        own = bool(self.torch_folder) and file.startswith(self.torch_folder)
        return not (own or "/site-packages/torch/" in file or file.startswith("<eval_with_key>"))

    def shown(self, file: str) -> str:
        """The name of a file in the report."""
        name = self._shown.get(file)
        if name is None:
            name = self._shown[file] = self._show(file)
        return name

    def _show(self, file: str) -> str:
        cell = _CELL.match(file)
        if cell is not None:
            return f"cell {cell[1] or cell[2]}"
        for pattern, shown in ((_SITE, "site-packages/"), (_LIBRARY, "python/")):
            found = pattern.match(file)
            if found is not None:
                return shown + file[found.end() :]
        return self.shared(file)

    def kind(self, file: str) -> str:
        """`user`, `notebook` or `library`."""
        shown = self.shown(file)
        if shown.startswith("cell "):
            return "notebook"
        return "library" if shown.startswith(("site-packages/", "python/")) else "user"

    def shared(self, text: str) -> str:
        """A text of torch's with the files in it under the names of the report."""
        for prefix, shown in self._prefixes:
            text = text.replace(prefix, shown)
        return _HOME.sub("~/", text)

    @cached_property
    def _prefixes(self) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        for file in self._files:
            for pattern, shown in ((_SITE, "site-packages/"), (_LIBRARY, "python/")):
                match = pattern.match(file)
                if match is not None:
                    found.setdefault(match[0], shown)
                    break
        here = os.getcwd() + os.sep
        return (*found.items(), *([(here, "")] if len(here) > 1 else []))

    def note(self, file: str, line: int, function: str, text: str = "") -> None:
        """Remember a line and what it says."""
        found = self.lines.setdefault((file, named(function)), {})
        if text or line not in found:
            found[line] = text


def named(function: str) -> str:
    """The user's name of a function that Dynamo resumes."""
    match = RESUMED.match(function)
    return match[1] if match else function


def frames_of(trace: str) -> list[tuple[Frame, str]]:
    """The frames of a stack trace, outermost first, each with the text of its line."""
    return [
        (Frame(file, int(line), named(name.strip())), (text or "").strip())
        for file, line, name, text in _FRAME.findall(trace)
    ]
