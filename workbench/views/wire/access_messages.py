"""What the Accesses pane shows: what the memory sees of each line of a kernel.

See `document.py`. Ids: `x3` is an access.
"""

from __future__ import annotations

from typing import TypedDict


class Access(TypedDict):
    """One access of a line, for one argument.

    `said` is what is wrong, or why nothing was counted. `lanes` is one instruction: bytes from the
    begin of its first sector of `sector_bytes`, by lane, -1 for one that takes no part; each lane
    moves `vector_bytes`. `bases` are those of registers, lanes, warps and blocks: the place of an
    element in `shape` is the XOR of the bases of the set bits.
    """

    id: str
    kernel: str
    line: str | None
    place: str
    text: str
    argument: str
    kind: str
    bytes: int | None
    layout: str
    vector_bytes: int | None
    sectors: float | None
    least_sectors: float | None
    used: float | None
    used_l1: float | None
    said: str
    looked: str
    lanes: list[int]
    sector_bytes: int
    shape: list[int]
    bases: list[list[list[int]]]
