"""The buffers of a generated program: inputs, outputs and what is allocated between."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.trace_logs.tensor_types import Dims, bytes_of_dtype, dims

_INPUT = re.compile(r"assert_size_stride\((\w+), \((.*?)\), \(.*?\), 'input'")
_MADE = re.compile(
    r"(\w+) = empty_strided_(\w+?)(?:_pinned|_p2p)?\(\((.*?)\), \(.*?\), torch\.(\w+)"
)
_SHAPE = re.compile(r"assert_size_stride\((\w+), \((.*?)\), ")
_SAME = re.compile(
    r"(\w+) = (?:reinterpret_tensor\()?(\w+)(?:, .*\))?(?:;  ?del \w+.*)?(?:  #.*)?$"
)
_RETURN = re.compile(r"return \((.*)\)")
_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)")


@dataclass
class CodeBuffer:
    """One buffer; the program does not say the dtype of inputs and results of library calls."""

    name: str
    kind: str  # "input", "output" or "intermediate"
    shape: Dims | None
    dtype: str | None = None
    device: str | None = None

    def bytes(self) -> int | None:
        """The size, or None while a size is symbolic or the dtype is not known."""
        size = None if self.dtype is None else bytes_of_dtype(self.dtype)
        if self.shape is None:
            return None
        for dim in self.shape:
            size = size * dim if size is not None and isinstance(dim, int) else None
        return size


class BufferReader:
    """Follows the allocations of a program; a name that takes a buffer over means it."""

    def __init__(self) -> None:
        self._found: dict[str, CodeBuffer] = {}
        self._alias: dict[str, str] = {}

    def line(self, line: str) -> None:
        """Take one line of the program."""
        if line.startswith("return ("):
            returned = _RETURN.match(line)
            for name in self.arguments(returned[1] if returned else ""):
                if name is not None and self._found[name].kind == "intermediate":
                    self._found[name].kind = "output"
            return
        made = _MADE.match(line)
        if made is not None:
            self._add(CodeBuffer(made[1], "intermediate", dims(made[3]), made[4], made[2]))
            return
        given = _INPUT.match(line)
        if given is not None:
            self._add(CodeBuffer(given[1], "input", dims(given[2])))
            return
        shown = _SHAPE.match(line)
        if shown is not None:
            self._shape(shown[1], dims(shown[2]))
            return
        same = _SAME.match(line)
        if same is not None and self.resolved(same[2]) is not None:
            self._alias[same[1]] = same[2]

    def _add(self, buffer: CodeBuffer) -> None:
        self._found.setdefault(buffer.name, buffer)

    def _shape(self, name: str, shape: Dims) -> None:
        owner = self.resolved(name)
        if owner is not None and self._found[owner].shape is None:
            self._found[owner].shape = shape

    def result(self, name: str) -> None:
        """Take a name for what a call returned."""
        if self.resolved(name) is None:
            self._add(CodeBuffer(name, "intermediate", None))

    def resolved(self, name: str) -> str | None:
        """The buffer of a name; None when it is none."""
        seen = {name}
        while name not in self._found:
            name = self._alias.get(name, "")
            if not name or name in seen:
                return None
            seen.add(name)
        return name

    def arguments(self, text: str) -> list[str | None]:
        """The buffer in each argument of a call; None where there is none."""
        found: list[str | None] = []
        for part in _split(text):
            names = (self.resolved(name) for name in _NAME.findall(part))
            found.append(next((name for name in names if name is not None), None))
        return found

    def rows(self) -> tuple[CodeBuffer, ...]:
        """The buffers in the order in which they were met."""
        return tuple(self._found.values())


def _split(text: str) -> list[str]:
    """The arguments of a call: commas inside of brackets do not part them."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
