"""What the names of Python frames in a trace say: a module of the model, or a line of a program."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import PurePosixPath

_NUMBERED = re.compile(r"(.+)_\d+$", re.DOTALL)
_MARK = "nn.Module: "
_FRAME = re.compile(r"(.+)\((\d+)\): (.*)$", re.DOTALL)
_LIBRARY = re.compile(r"(^|/)(site-packages/|dist-packages/)?(torch|triton)/|^<|<eval_with_key>")
_GENERATED = re.compile(
    r"torchinductor_|torch_compile_cache|/inductor_cache/|(^|/)c[a-z2-7]{51}\.py$"  # by their hash
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A function by its file and the line at which it begins."""

    file: str
    line: int
    function: str

    @property
    def place(self) -> str:
        """The line as `model.py:12`."""
        return f"{PurePosixPath(self.file.replace(chr(92), '/')).name}:{self.line}"


def read_module(name: str) -> str | None:
    """The module's class and number, such as `Linear_3`; None for a frame of another kind."""
    return name[len(_MARK) :] if name.startswith(_MARK) else None


def read_module_class(name: str) -> str:
    """The class of a module without its number: `Linear_3` is a `Linear`."""
    found = _NUMBERED.match(name)
    return found[1] if found else name


def read_program_frame(name: str) -> Frame | None:
    """A function of the program; None for one of torch, of Python itself and of generated code."""
    found = None if name.startswith(("<built-in", _MARK)) else _FRAME.match(name)
    if found is None or _LIBRARY.search(found[1]) or _GENERATED.search(found[1]):
        return None
    top = found[1].partition("/")[0].removesuffix(".py")
    if top in sys.stdlib_module_names:  # the profiler cuts what is on sys.path
        return None
    return Frame(found[1], int(found[2][:9]), found[3])
