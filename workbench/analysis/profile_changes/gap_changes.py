"""What to change where the device had nothing to do, or waited for other ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from workbench.number_text import plural
from workbench.report.profile.profile_rows import Gap, ProfileOpportunity
from workbench.report.profile.run_profile import RunProfile


@dataclass(frozen=True)
class _Cure:
    kind: str
    title: str
    why: str
    code: str


_CURES = {
    "data loading": _Cure(
        "data loading",
        "Load the next batch while this one runs",
        "The device has nothing to do while the CPU makes the batch.",
        "DataLoader(…, num_workers=4, pin_memory=True)",
    ),
    "memcpy": _Cure(
        "copies",
        "Copy from pinned memory, beside the computation",
        "The device waits for a copy from memory that is not pinned.",
        "x = x.pin_memory().to(device, non_blocking=True)",
    ),
    "allocation": _Cure(
        "allocation",
        "Keep the allocator from asking the driver",
        "Asking the driver for memory, or giving it back, stops what is launched meanwhile.",
        "PYTORCH_ALLOC_CONF=expandable_segments:True",
    ),
}


def find_gap_changes(profile: RunProfile, *, is_whole: bool) -> Iterator[ProfileOpportunity]:
    """One for each cause, of a synchronisation one for each line.

    Where shorter gaps were left out of the table, it is not whole: counts are at least so many.
    """
    gaps = list(enumerate(profile.tables["gaps"]))
    least = "" if is_whole else "at least "
    yield from _find_synchronisations(gaps, least)
    yield from _find_known(gaps, least)
    yield from _find_launches(profile, gaps, least)
    yield from _find_exposed(profile)


Numbered = Sequence[tuple[int, Gap]]


def _find_synchronisations(gaps: Numbered, least: str) -> Iterator[ProfileOpportunity]:
    waits = sorted(
        (each for each in gaps if each[1].cause == "synchronisation"), key=lambda each: each[1].line
    )
    for line, group in groupby(waits, key=lambda each: each[1].line):
        own = list(group)
        of_us = sum(gap.duration_us for _, gap in own)
        where = f" at `{line}`" if line else ""
        yield ProfileOpportunity(
            kind="synchronisation",
            title=f"Do not wait for the device{where}",
            why=(
                "The CPU reads a value of the device (`.item()`, `.tolist()`, `nonzero`, a copy to "
                "the CPU), and launches the next kernel only then: "
                f"{least}{plural(len(own), 'time')} in this profile. The device is idle "
                "until that arrives. How much of it stays idle without the wait, the profile "
                "cannot tell."
            ),
            code="keep the value on the device: torch.where, index_select, a mask",
            of_us=of_us,
            most_us=of_us,
            gaps=tuple(place for place, _ in own),
            line=line,
        )


def _find_known(gaps: Numbered, least: str) -> Iterator[ProfileOpportunity]:
    for cause, cure in _CURES.items():
        own = [each for each in gaps if each[1].cause == cause]
        if own:
            of_us = sum(gap.duration_us for _, gap in own)
            yield ProfileOpportunity(
                kind=cure.kind,
                title=cure.title,
                why=f"{cure.why} {least.capitalize()}{plural(len(own), 'time')} in this profile.",
                code=cure.code,
                of_us=of_us,
                most_us=of_us,
                gaps=tuple(place for place, _ in own),
                line=max(own, key=lambda each: each[1].duration_us)[1].line,
            )


def _find_launches(profile: RunProfile, gaps: Numbered, least: str) -> Iterator[ProfileOpportunity]:
    """Gaps that are there since the CPU launches slower than the device works."""
    own = [each for each in gaps if each[1].cause in ("launch", "between kernels")]
    launches = profile.tables["launches"]
    is_replayed = any(each.is_graph for each in launches)
    if not own or is_replayed:
        return
    of_us = sum(gap.duration_us for _, gap in own)
    late_us = sum(gap.duration_us for _, gap in own if gap.cause == "launch")
    yield ProfileOpportunity(
        kind="launches",
        title=f"Record a CUDA graph: {least}{plural(len(own), 'short gap')}",
        why=(
            f"{sum(each.calls for each in launches):,} launches, one after the other. A graph is "
            "launched once, and the device goes from kernel to kernel by itself. It needs sizes "
            "that stay the same, and no waiting for the device inside."
        ),
        code='torch.compile(model, mode="reduce-overhead")',
        of_us=of_us,
        least_us=None,
        most_us=late_us or of_us,
        gaps=tuple(place for place, _ in own),
    )


def _find_exposed(profile: RunProfile) -> Iterator[ProfileOpportunity]:
    """Collectives that run while nothing else does."""
    own = [each for each in profile.tables["collectives"] if each.exposed_us > 0]
    if not own:
        return
    of_us = sum(each.exposed_us for each in own)
    kernels = {each.id for each in profile.tables["kernels"]}
    yield ProfileOpportunity(
        kind="collectives",
        title="Hide collectives behind computation",
        why=(
            f"{plural(len({each.name for each in own}), 'kind')} of collectives, during which no "
            "other kernel runs. It includes waiting for slower ranks, which overlap does not mend."
        ),
        code="DistributedDataParallel(model, bucket_cap_mb=…), or prefetch in FSDP",
        of_us=of_us,
        most_us=of_us,
        kernels=tuple(dict.fromkeys(each.kernel for each in own if each.kernel in kernels)),
    )
