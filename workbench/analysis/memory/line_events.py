"""The common lines of a generated program, read without Python's parser.

Parsing takes most of the time of reading a program, and nearly all of its lines have one of a few
forms. A line that has none of them exactly is left to the parser.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Collection
from functools import lru_cache

from workbench.analysis.memory.events import (
    Allocate,
    Call,
    Drop,
    Event,
    Give,
    Share,
    Take,
    count_strided_bytes,
)

VIEWS = ("reinterpret_tensor", "alloc_from_pool", "as_strided")
NO_KERNELS = (
    "assert_size_stride",
    "assert_size_stride_grouped",
    "assert_tensor_metadata",
    "assert_alignment",
    "copy_misaligned",
    "clear",
    "set_device",
    "get_raw_stream",
    "size",
    "stride",
    "print",
    "check_memory_step",
    "track_tensor",
)
MADE = ("buf", "workspace")  # the names of what library calls make
_EMPTY = "empty_strided"
_BUFFER = r"(?:buf|workspace_|pool)\d+"
_NUMBERS = r"\(((?:\d+, )*(?:\d+,?)?)\)"
_DELETED = re.compile(r"del (\w+(?:, \w+)*)")
_REUSED = re.compile(rf"(\w+) = ({_BUFFER})(; del (\2))?")
_REUSED_INPUT = re.compile(r"(\w+) = ([A-Za-z_]\w*)(; del (\2))")
_VIEWED = re.compile(
    r"(\w+) = reinterpret_tensor\((\w+), \([^()]*\), \([^()]*\), [^(),]*\)(; del (\w+))?"
)
_PART = re.compile(rf"(\w+) = ({_BUFFER})\[(\d+)\]")
_TAKEN = re.compile(r"((?:[A-Za-z_]\w*, )*[A-Za-z_]\w*,?) = args")
_GIVEN = re.compile(r"return \(((?:[A-Za-z_]\w*, )+)\)")
_VIEW = re.compile(r"\breinterpret_tensor\((\w+), \([^()]*\), \([^()]*\), [^(),]*\)")
_ALLOCATED = re.compile(rf"{_EMPTY}\w*\({_NUMBERS}, {_NUMBERS}, torch\.(\w+)\)")
_CALLED = re.compile(r"(?:([A-Za-z_]\w*) = )?([A-Za-z_][\w.]*)\((.*)\)")
_NO_INPUT = re.compile(r"from [\w.]+ import \w+|return \[[\w, ]*\]|global \w+")
_NUMBER = re.compile(r"([A-Za-z_]\w*) = (\d+)")
_MADE_TENSOR = re.compile(
    r"([A-Za-z_]\w*) = rand_strided\((\([\d, ]*\), \([\d, ]*\)), device='[\w:]+', "
    r"dtype=torch\.(\w+)\)"
)
_COMMENT = re.compile(r"  # (?:reuse|alias)$")
_BRACKET = re.compile(r"[()]")
Events = tuple[Event, ...]


def read_line_events(line: str, sizes: Collection[str]) -> Events | None:
    """The events of a line without its indentation; None for one that has to be parsed.

    `sizes` are names of numbers.
    """
    code = _COMMENT.sub("", line)
    first = code[:4]
    if first == "del ":
        return _deleted(code)
    if first == "retu":
        return _given(code)
    if "'" in code or '"' in code or "#" in code or "\\" in code:
        return None
    found = _called(code)
    return _named(code, sizes) if found is None else found


def _deleted(code: str) -> Events | None:
    found = _DELETED.fullmatch(code)
    return None if found is None else tuple(map(Drop, found[1].split(", ")))


def _given(code: str) -> Events | None:
    found = _GIVEN.fullmatch(_VIEW.sub(r"\1", code))
    if found is None:
        return None
    names = found[1].removesuffix(", ").split(", ")
    if any(keyword.iskeyword(name) and name != "None" for name in names):
        return None
    return (Give(tuple(None if name == "None" else name for name in names)),)


def _named(code: str, sizes: Collection[str]) -> Events | None:
    """Another name for memory, the names of the inputs."""
    for pattern, made in _FORMS:
        found = pattern.fullmatch(code)
        if found is not None:
            return None if found[2] in sizes else made(found)
    return _taken(code)


def _taken(code: str) -> Events | None:
    found = _TAKEN.fullmatch(code)
    if found is None or "," not in found[1]:
        return None
    return (Take(tuple(found[1].replace(",", " ").split())),)


def _shared(found: re.Match[str]) -> Events:
    dropped = () if found[4] is None else (Drop(found[4]),)
    return (Share(found[1], found[2]), *dropped)


def _part(found: re.Match[str]) -> Events:
    return (Share(found[1], found[2], int(found[3])),)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Events]], ...] = (
    (_REUSED, _shared),
    (_REUSED_INPUT, _shared),
    (_VIEWED, _shared),
    (_PART, _part),
)


def _called(code: str) -> Events | None:
    """An allocation, a kernel or a library call."""
    found = _CALLED.fullmatch(code)
    if found is None or not _is_one_call(found[3]):
        return None
    name, function = found[1], found[2]
    short = function.rpartition(".")[2]
    if short.startswith(_EMPTY) and name is not None:
        size = _size(code[len(name) + 3 :])
        return None if size is None else (Allocate(name, size),)
    if short in VIEWS or keyword.iskeyword(function):
        return None
    if short in NO_KERNELS:
        return ()
    if name is None:
        return (Call(function.removesuffix(".run")),)
    if not name.startswith(MADE):
        return ()
    if "True" in found[3] or "False" in found[3] or "_attention" in function:
        return None
    return (Call(function, name),)


def _is_one_call(arguments: str) -> bool:
    """Whether the bracket that is opened before the arguments is closed behind them, and not in."""
    depth = 0
    for bracket in _BRACKET.findall(arguments):
        depth += 1 if bracket == "(" else -1
        if depth < 0:
            return False
    return depth == 0 and ";" not in arguments


def example(line: str) -> tuple[tuple[str, int, bool], ...] | None:
    """An input of the example call in a text: its name, its bytes or its value, which of them.

    None for a line that has to be parsed.
    """
    if _NO_INPUT.fullmatch(line):
        return ()
    found = _NUMBER.fullmatch(line)
    if found is not None:
        return ((found[1], int(found[2]), False),)
    found = _MADE_TENSOR.fullmatch(line)
    size = None if found is None else _size(f"{_EMPTY}({found[2]}, torch.{found[3]})")
    return None if found is None or size is None else ((found[1], size, True),)


@lru_cache(maxsize=4096)
def _size(code: str) -> int | None:
    """Bytes of `empty_strided` of plain numbers."""
    found = _ALLOCATED.fullmatch(code)
    if found is None:
        return None
    shape, stride = (
        tuple(int(part) for part in found[place].replace(",", " ").split()) for place in (1, 2)
    )
    return count_strided_bytes(shape, stride, found[3])
