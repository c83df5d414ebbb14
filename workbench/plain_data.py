"""JSON and TOML from outside, and the files that hold them: bounded before they are parsed."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from workbench.file_path import check_file_path, open_flags

BY_HAND = 1 << 18
"""Bytes of a file that a person writes or that describes one machine; they take a few KiB."""

_DEEPEST = 500  # lists and objects within each other; records have less than ten
_SAFE_LIMIT = 5_000  # of Python's recursion: json's C code ends the process above 50,000
_MOST_DOTS = 1_000  # of a line of TOML: tomllib takes quadratic time for the parts of a key
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def read_file(
    path: str | os.PathLike[str],
    most: int,
    check: Callable[[BinaryIO, int], None] | None = None,
) -> bytes:
    """The content of a regular file of at most `most` bytes; what is no such file is not read.

    `check` gets the open file and its size first: what it refuses is not read into memory.
    Raises `OSError` where there is none, `ValueError` in words for a pipe or device, which might
    never end, and for more bytes.
    """
    name = check_file_path(path)
    handle = os.open(name, os.O_RDONLY | open_flags("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
    try:
        inode = os.fstat(handle)
        if stat.S_ISDIR(inode.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(inode.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        if inode.st_size > most:
            raise ValueError(f"it has {inode.st_size:,} bytes; the limit is {most:,}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            if check is not None:
                check(file, inode.st_size)
                file.seek(0)
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:  # of files in /proc the system tells no size
        raise ValueError(f"it has more than {most:,} bytes")
    return content


def parse_json(content: str | bytes) -> Any:
    """The value of a JSON text; raises `ValueError` in words also for one nested too deeply."""
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content))
    if sys.getrecursionlimit() > _SAFE_LIMIT and _depth(text) > _DEEPEST:
        raise ValueError(f"its lists are nested more than {_DEEPEST} deep")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its lists are nested too deeply") from None


def _depth(text: str) -> int:
    """How deeply lists and objects lie within each other."""
    if text.count("[") + text.count("{") <= _DEEPEST:
        return 0
    deepest = depth = 0
    for sign in re.findall(r"[][{}]", _STRING.sub("", text)):
        depth += 1 if sign in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def parse_toml(content: bytes) -> dict[str, Any]:
    """The tables of a TOML text; raises `ValueError` in words also for one nested too deeply."""
    import tomllib  # most processes read none

    text = content.decode()
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"it has a line with more than {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
