"""The ids of source lines, such as `L:s0:12`."""

from __future__ import annotations

import re

_LINE = re.compile(r"L:([^:]*):(\d{1,9})", re.ASCII)


def split_line(line: str) -> tuple[str, int]:
    """The source and the number of a line; an id of a later release is its own, with number 0.

    No line has that number, so that such an id leads nowhere and is shown as it is.
    """
    match = _LINE.fullmatch(line)
    return (match[1], int(match[2])) if match else (line, 0)
