"""What the Fusion pane shows: kernels and library calls in their order, pairs that stayed apart.

See `document.py`. They are the parts `fusion:` and `pairs:`, made when the pane or a kernel is
opened: what eager would have moved, and the sentences of thousands of pairs, take their time.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.views.wire.table_messages import ColumnSpec

Side = Literal["", "forward", "backward"]


class FusionStep(TypedDict):
    """One kernel or library call: what it does in plain words, and its bytes before and after.

    `id` is the kernel's. Bytes are those of all its calls: of eager's operators (`before`, where
    they are not known `alone`), of its operations, each alone, and together (`after`); None where
    the record has none, or counts them with other kernels. `saved` is a share of `before` above
    zero; else `unsaved` says in words what is known, and `why_more` why fusion made it worse.
    `time_us` is the measured time of all its calls, None where nothing was measured.
    """

    id: str
    kernel: str
    side: Side
    kind: str
    words: str
    places: str
    before: int | None
    alone: int | None
    after: int | None
    time_us: float | None
    saved: float | None
    unsaved: str
    why_more: str | None


class FusionPart(TypedDict):
    """The kernels in the order of the program, with what fusion saves in a sentence."""

    kind: Literal["fusion"]
    id: str
    sentence: str
    steps: list[FusionStep]
    columns: list[ColumnSpec]


class Rejected(TypedDict):
    """One pair that stayed apart; `why` is the whole sentence, `help` a remedy where one is known.

    `names` are what the two compute, `said` the scheduler's own words. `reason` is the kind of
    reason, which many pairs have; `told` is that of this pair. `a_nodes` and `b_nodes` are FX
    nodes, `a_kernel` and `b_kernel` the kernels they ended in. `times` is how many pairs are told
    of alike, 0 for all but the first of them.
    """

    id: str
    graph: str
    side: Side
    a: str
    b: str
    names: str
    a_nodes: list[str]
    b_nodes: list[str]
    a_kernel: str | None
    b_kernel: str | None
    reason: str
    told: str
    why: str
    said: str
    help: str | None
    shared_bytes: int | None
    shared: list[str]
    rounds: int
    times: int


class PairsPart(TypedDict):
    """The pairs with most data in common first; `omitted` counts those that were left out."""

    kind: Literal["pairs"]
    id: str
    rows: list[Rejected]
    omitted: int
    columns: list[ColumnSpec]
