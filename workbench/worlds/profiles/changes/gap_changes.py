"""What to change where the device had nothing to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from workbench.number_text import plural
from workbench.worlds.profiles.rows.profile_rows import Gap, ProfileOpportunity
from workbench.worlds.profiles.rows.run_profile import RunProfile

_SHORT = 1_000.0  # µs: in a longer gap the CPU did more than launch the next kernel


_CURES = {
    "data loading": ProfileOpportunity(
        "data loading",
        "Load the next batch while this one runs",
        "The device is idle while the CPU prepares the batch.",
        "DataLoader(…, num_workers=4, pin_memory=True)",
    ),
    "memcpy": ProfileOpportunity(
        "copies",
        "Copy from pinned memory, overlapped with compute",
        "The device waits for a copy from pageable memory.",
        "x = x.pin_memory().to(device, non_blocking=True)",
    ),
    "first launch": ProfileOpportunity(
        "first launch",
        "Warm up before profiling and serving",
        "The driver loads a kernel's code at its first launch in a process.",
        "schedule(wait=1, warmup=3, active=3)  # run every shape once before the first request",
    ),
    "Python": ProfileOpportunity(
        "Python",
        "Do less in Python between launches",
        "The device waits while the CPU runs code outside torch operators.",
        "move it out of the step, or into a separate thread or process",
    ),
    "another process": ProfileOpportunity(
        "another process",
        "Avoid waiting for another thread or process",
        "The CPU waits for a queue, lock or pipe before it launches.",
        "fill the queue ahead, or fetch the next item while the device works",
    ),
    "allocation": ProfileOpportunity(
        "allocation",
        "Keep the allocator from calling the driver",
        "Driver calls that allocate or free memory delay other launches.",
        "PYTORCH_ALLOC_CONF=expandable_segments:True",
    ),
}


def find_gap_changes(profile: RunProfile, *, is_whole: bool) -> Iterator[ProfileOpportunity]:
    """One for each cause, of a synchronisation one for each line, with the parts that it explains.

    Where shorter gaps were left out of the table, it is not whole: counts are at least so many.
    """
    parts = _sort_parts(profile.tables["gaps"])
    least = "" if is_whole else "at least "
    yield from _find_synchronisations(parts, least)
    yield from _find_known(parts, least)
    yield from _find_launches(profile, parts, least)


@dataclass(frozen=True)
class _GapPart:
    """What one cause explains of the gap at a place of the table."""

    place: int
    us: float
    line: str
    gap_us: float


Parts = Mapping[str, Sequence[_GapPart]]


def _sort_parts(gaps: Iterable[Gap]) -> Parts:
    """By cause the parts of all gaps that it explains, and only those."""
    found: defaultdict[str, list[_GapPart]] = defaultdict(list)
    for place, gap in enumerate(gaps):
        for cause, us, line in gap.divide():
            found[cause].append(_GapPart(place, us, line, gap.duration_us))
    return found


def _find_synchronisations(parts: Parts, least: str) -> Iterator[ProfileOpportunity]:
    waits = sorted(parts.get("synchronisation", ()), key=lambda each: each.line)
    for line, group in groupby(waits, key=lambda each: each.line):
        own = list(group)
        of_us = sum(part.us for part in own)
        where = f" at `{line}`" if line else ""
        yield ProfileOpportunity(
            kind="synchronisation",
            title=f"Avoid waiting for the device{where}",
            why=(
                "The CPU reads a device value (`.item()`, `.tolist()`, `nonzero`, a copy to the "
                f"CPU) before it launches the next kernel: {least}{plural(len(own), 'time')} in "
                "this profile. The device is idle meanwhile. The profile cannot show how much of "
                "it would remain without the wait."
            ),
            code="keep the value on the device: torch.where, index_select, a mask",
            of_us=of_us,
            most_us=of_us,
            gaps=tuple(part.place for part in own),
            line=line,
        )


def _find_known(parts: Parts, least: str) -> Iterator[ProfileOpportunity]:
    for cause, cure in _CURES.items():
        own = parts.get(cause, ())
        if own:
            of_us = sum(part.us for part in own)
            yield replace(
                cure,
                why=f"{cure.why} This happens {least}{plural(len(own), 'time')} in this profile.",
                of_us=of_us,
                most_us=of_us,
                gaps=tuple(part.place for part in own),
                line=max(own, key=lambda part: part.us).line,
            )


def _find_launches(profile: RunProfile, parts: Parts, least: str) -> Iterator[ProfileOpportunity]:
    """Short gaps that are there since the CPU launches slower than the device works.

    A gap before a kernel that was launched in time is none of them: a graph has it, too.
    """
    own = [part for part in parts.get("launch", ()) if part.gap_us <= _SHORT]
    launches = profile.tables["launches"]
    is_replayed = any(each.is_graph for each in launches)
    if not own or is_replayed:
        return
    of_us = sum(part.us for part in own)
    places = tuple(sorted({part.place for part in own}))
    yield ProfileOpportunity(
        kind="launches",
        title=f"Record a CUDA graph: {least}{plural(len(places), 'short gap')}",
        why=(
            f"{sum(each.calls for each in launches):,} launches follow each other with short gaps. "
            "A CUDA graph "
            "is launched once and runs its kernels without the CPU. It needs static shapes, and "
            "nothing inside may wait for the device."
        ),
        code='torch.compile(model, mode="reduce-overhead")',
        of_us=of_us,
        most_us=of_us,
        gaps=places,
    )
