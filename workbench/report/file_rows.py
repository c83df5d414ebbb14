"""The row types about a file: facts, members, inputs and outputs; its round trips."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.report.measures import number

WAYS = ("eager", "compile_cold", "compile_warm", "torch", "ours")
"""Ways to a first result in a fresh process, in the order in which they run: the original itself,
torch.compile with an empty cache folder and with the one that this left, torch's own loader of
the file, the workbench's."""

CPP = "cpp"
"""One more start-up mode of a package, last and only on request: a C++ program built for it."""

LOADING = ("model", "read", "unpack", "rebuild", "dlopen", "guards", "load", "compile")
"""The phases between the imports and the first call."""

PHASES = ("start", "torch", "imports", "inputs", *LOADING, "first_call")
"""Every phase of a process up to its first result, in this order where it has them."""


@dataclass(frozen=True, slots=True)
class RoundTripWay:
    """One start-up mode in its own process; times are seconds, None for phases that it lacks.

    `imports_s` is for imports beyond torch itself, `load_s` for all of `LOADING`. `first_result_s`
    is the time of imports, load and first call, after torch and the inputs are ready; `total_s` is
    the time from the start of the process. `steady_s` is the median (p50) of `steady_calls` later
    calls, `steady_p99_s` their 99th percentile (nearest rank: of fewer than 100, the slowest).
    `peak_rss_bytes` is the peak resident memory of its process, with Python and torch, without GPU
    memory and other processes. Errors are the largest over the outputs; `ok` is None if not all
    could be compared. `note` says why a mode did not run (`ran` is then False), or what it did
    differently.
    """

    way: str  # the start-up mode, by its name
    ran: bool
    ok: bool | None = None
    bit_exact: bool | None = None  # whether every byte is the same
    max_abs_error: float | None = None  # the largest absolute difference
    imports_s: float | None = number("Imports", "s", source="measured")
    load_s: float | None = number("Load", "s", source="measured")
    first_call_s: float | None = number(  # seconds of the first call
        "First call", "s", source="measured"
    )
    first_result_s: float | None = number("First result", "s", source="measured")
    total_s: float | None = None
    steady_s: float | None = number("p50", "s", "Median of later calls", source="measured")
    note: str | None = None
    steady_p99_s: float | None = number(
        "p99",
        "s",
        "99th percentile of later calls; below 100 calls, the slowest",
        source="measured",
    )
    steady_calls: int | None = number("Calls", "number")
    peak_rss_bytes: int | None = number(
        "Peak RSS",
        "B",
        "Peak resident memory of the process, including Python and torch",
        source="measured",
    )
    steady_least_s: float | None = None  # seconds of the shortest of the later calls


@dataclass(frozen=True, slots=True)
class RoundTripPhase:
    """One phase of a way: seconds from the start of its process, and seconds that it took.

    Stretches of one phase, such as the start of each of several libraries, are put together.
    """

    way: str  # the way, by its name
    phase: str  # the phase, by its name
    start_s: float  # seconds from the start
    duration_s: float  # seconds that it took


@dataclass(frozen=True, slots=True)
class RoundTripLeaf:
    """One output (or one input that was written to) of a way, compared with that of eager.

    `bit_exact` compares the bytes; `ok` the values, within `rtol` and `atol`. What there is nothing
    to compare with is not checked, and so not ok; the note says why.
    """

    way: str  # the way, by its name
    leaf: str  # the output, by its place in what is returned
    dtype: str  # its dtype
    shape: tuple[int, ...]  # its sizes
    bit_exact: bool
    max_abs_error: float  # the largest absolute difference
    max_rel_error: float  # the largest relative difference
    rtol: float
    atol: float
    ok: bool
    note: str = ""  # a remark, such as why a value is missing
    checked: bool = True  # whether there was something to compare with; what was not is never ok


def way_of(
    way: str,
    phases: tuple[RoundTripPhase, ...],
    leaves: tuple[RoundTripLeaf, ...],
    calls_s: Sequence[float],
    peak_rss_bytes: int | None,
) -> RoundTripWay:
    """A start-up mode that ran, from its phases, its outputs and the seconds of later calls."""
    import statistics  # which imports fractions and decimals: to start a package needs none

    took = {phase.phase: phase.duration_s for phase in phases}
    errors = [leaf.max_abs_error for leaf in leaves if leaf.checked]
    loading = [took[name] for name in LOADING if name in took]
    parts = (took.get("imports"), sum(loading) if loading else None, took["first_call"])
    return RoundTripWay(
        way=way,
        ran=True,
        ok=_verdict(leaves),
        bit_exact=all(leaf.bit_exact for leaf in leaves) if leaves else None,
        max_abs_error=math.nan if any(map(math.isnan, errors)) else max(errors, default=None),
        imports_s=parts[0],
        load_s=parts[1],
        first_call_s=parts[2],
        first_result_s=sum(part for part in parts if part is not None),
        total_s=sum(took.values()),
        steady_s=statistics.median(calls_s),
        steady_p99_s=sorted(calls_s)[math.ceil(0.99 * len(calls_s)) - 1],
        steady_calls=len(calls_s),
        steady_least_s=min(calls_s),
        peak_rss_bytes=peak_rss_bytes,
    )


def _verdict(leaves: Sequence[RoundTripLeaf]) -> bool | None:
    """Whether all agree; None if nothing differs, but not all were checked."""
    if any(leaf.checked and not leaf.ok for leaf in leaves):
        return False
    return True if leaves and all(leaf.checked for leaf in leaves) else None


@dataclass(frozen=True, slots=True)
class ArtifactFact:
    """One fact about the file: its path, size, digest, signer, or the versions that made it."""

    name: str  # its name
    value: str  # the fact, as text


@dataclass(frozen=True, slots=True)
class ArtifactMember:
    """One member of the file, or several of a kind; `size` is in bytes."""

    name: str  # its name
    what: str  # its content
    size: int  # bytes
    sha256: str = ""  # the hash of its bytes


@dataclass(frozen=True, slots=True)
class ContractLeaf:
    """One input or output of the file, a tensor or constant: `side` is "input" or "output".

    `shape` is written with its ranges, such as `[batch in 2..64, 512]`. `model` names one of
    several models in a package.
    """

    side: str  # "input" or "output"
    name: str  # its name
    dtype: str  # the required dtype
    shape: str
    device: str = ""  # the required device
    model: str = ""
