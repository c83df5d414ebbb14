"""What the Artifact pane shows besides facts: the file, what it needs, a round trip.

See `document.py`. Ids: `Z:m3` is a member, `Z:c3` a leaf of the contract, `Z:r3` a
requirement, `Z:ours` a way of the round trip, `Z:ours:guards` one of its phases, `Z:o3` an output.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.views.wire.table_messages import Tone

Verdict = Literal["pass", "warn", "fail", "not checked"]


class Member(TypedDict):
    """One member of the file, `short` without most of its hash; `size` in bytes."""

    id: str
    name: str
    short: str
    what: str
    size: int
    sha256: str


class ContractLeaf(TypedDict):
    """One tensor or constant that the file takes or gives; `model` is empty where there is one."""

    id: str
    side: Literal["input", "output"]
    name: str
    dtype: str
    shape: str
    device: str
    model: str


class Requirement(TypedDict):
    """One thing that the file needs, compared with the machine where it was saved or loaded."""

    id: str
    name: str
    verdict: Verdict
    tone: Tone
    needed: str
    found: str
    advice: str


class TripPhase(TypedDict):
    """One phase of a way; `start_s` counts from the start of its process."""

    id: str
    name: str
    title: str
    start_s: float
    duration_s: float


class TripWay(TypedDict):
    """One way of a round trip, see `RoundTripWay`; `against` compares its outputs with eager's.

    `note` says why it did not run.
    """

    id: str
    name: str
    title: str
    ran: bool
    ok: bool | None
    against: str
    tone: Tone
    imports_s: float | None
    load_s: float | None
    first_call_s: float | None
    first_result_s: float | None
    total_s: float | None
    steady_s: float | None
    steady_p99_s: float | None
    steady_calls: int | None
    peak_rss_bytes: int | None
    note: str | None
    phases: list[TripPhase]


class TripLeaf(TypedDict):
    """One output of a way beside that of eager; an error without a number is infinite.

    `compared` says in a few words how it compares, in a `tone`; `whole` is what was allowed or why.
    """

    id: str
    way: str
    leaf: str
    dtype: str
    shape: str
    bit_exact: bool
    ok: bool
    max_abs_error: float | None
    tolerance: str
    note: str
    compared: str
    tone: Tone
    whole: str


class FileQuestion(TypedDict):
    """The path of the file to write, as the kernel sees it."""

    path: str


class MachineQuestion(TypedDict):
    """The path of a file that describes a machine; empty for the kernel's own."""

    machine: str


class SavedFile(TypedDict):
    """Everything about the file.

    `advice` says in one line how to get one, or is None; it stands under `heading`. `checked` says
    how the file compares with a machine that was asked about; `requirements` are those of that
    comparison then.
    """

    heading: NotRequired[str]
    advice: str | None
    checked: str | None
    can_save: bool
    members: list[Member]
    contract: list[ContractLeaf]
    requirements: list[Requirement]
    ways: list[TripWay]
    leaves: list[TripLeaf]
