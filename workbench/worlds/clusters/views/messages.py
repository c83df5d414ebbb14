"""What the Streams pane shows: what runs at a time on one rank, by a model.

See `document.py`. Ids: a span has that of its kernel, `n3` is a collective.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class StreamSpan(TypedDict):
    """A kernel, a collective, or a pause that waits for one; µs from the start of the program.

    `lane` is the caption of what it stands in: the kernels, or a group of ranks.
    """

    id: str
    lane: str
    kind: Literal["kernel", "collective", "wait"]
    words: str
    start_us: float
    us: float


class CollectiveRow(TypedDict):
    """A collective of the table: `said` is by what its time is told, or why it has none."""

    id: str
    kernel: str | None
    wait_kernel: str | None
    op: str
    bytes: int | None
    group: str
    group_size: int | None
    group_nodes: int | None
    est_us: float | None
    exposed_us: float | None
    place: str
    line: str | None
    said: str


class Document(TypedDict):
    """What the world adds to the document of a report."""

    streams: list[StreamSpan]
    collectives: list[CollectiveRow]
