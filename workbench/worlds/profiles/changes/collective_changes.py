"""What to change where the device waited for other ranks: what could hide it, and slow links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from workbench.number_text import number_text, plural
from workbench.worlds.profiles.rows.profile_rows import CollectiveTime, ProfileOpportunity
from workbench.worlds.profiles.rows.run_profile import RunProfile

_LEAST_SENT = 1 << 20  # bytes: smaller messages are bound by latency, on any links
_SLOT_GBS = 15.75  # one way, of a PCIe 3.0 x16 slot by its specification
_SLOW_SHARE = 0.5  # of a slot: old hosts without other links come to more
_SLOW_RATIO = 3.0  # times what NCCL's model takes, which is within a third of published runs


def find_collective_changes(profile: RunProfile) -> Iterator[ProfileOpportunity]:
    """What of exposed collectives other work could hide, and collectives over slow links."""
    yield from _find_exposed(profile)
    yield from _find_slow_links(profile)


def _find_exposed(profile: RunProfile) -> Iterator[ProfileOpportunity]:
    """Collectives that run while nothing else does, as far as other work could hide them."""
    own = [each for each in profile.tables["collectives"] if each.exposed_us > 0]
    if not own:
        return
    work_us, beside_us = _measure_hiding(profile)
    # collectives next to each other wait for the same time
    of_us = min(sum(each.exposed_us for each in own), profile.busy_us - work_us)
    hiding_us = max(work_us - beside_us, 0.0)
    yield ProfileOpportunity(
        kind="collectives",
        title="Overlap collectives with compute",
        why=(
            f"{plural(len({each.name for each in own}), 'kind')} of collectives run while no other "
            "kernel runs. Part of this time may be waiting for slower ranks, and overlap does not "
            "remove such waits."
            + ("" if of_us <= hiding_us else _explain_limit(work_us, beside_us, hiding_us))
        ),
        code="DistributedDataParallel(model, bucket_cap_mb=…), or prefetch in FSDP",
        of_us=of_us,
        most_us=min(of_us, hiding_us),
        kernels=_list_kernels(profile, own),
    )


def _explain_limit(work_us: float, beside_us: float, hiding_us: float) -> str:
    return (
        f" Only {_say(hiding_us)} of other work can still be overlapped: of {_say(work_us)}, "
        f"{_say(beside_us)} already overlap collectives."
    )


def _measure_hiding(profile: RunProfile) -> tuple[float, float]:
    """µs in which other work ran, and how many of them next to a collective.

    Where events were left out of the record, collectives beside each other count twice.
    """
    rows = profile.tables["collectives"]
    own = {each.kernel for each in rows}
    events = profile.tables["events"]
    if events.omitted:
        beside = sum(each.time_us - each.exposed_us for each in rows)
        work = profile.busy_us - sum(each.exposed_us for each in rows)
        return max(work, 0.0), beside
    covered = _cover(
        (each.start_us, each.start_us + each.duration_us) for each in events if each.kernel in own
    )
    work = _cover(
        (each.start_us, each.start_us + each.duration_us)
        for each in events
        if each.kernel not in own
    )
    return work, max(work + covered - profile.busy_us, 0.0)


def _cover(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the spans is."""
    covered, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered


def _find_slow_links(profile: RunProfile) -> Iterator[ProfileOpportunity]:
    """Large messages whose fastest call is far below what links of such a GPU carry."""
    rows = [each for each in profile.tables["collectives"] if each.exposed_us > 0]
    fastest = {each.id: each.least_us for each in profile.tables["kernels"]}
    for name in dict.fromkeys(each.name for each in rows):
        named = [each for each in rows if each.name == name]
        own = [each for each in named if _is_slow(each, fastest.get(each.kernel, 0.0))]
        if own:
            yield _name_slow(profile, own)


def _is_slow(row: CollectiveTime, fastest_us: float) -> bool:
    if row.bus_gbs is None or (row.bytes or 0) < _LEAST_SENT:
        return False
    if row.model_us:
        return fastest_us > _SLOW_RATIO * row.model_us
    return row.bus_gbs < _SLOW_SHARE * _SLOT_GBS


def _name_slow(profile: RunProfile, own: Sequence[CollectiveTime]) -> ProfileOpportunity:
    """One kind of collective: its best rate beside that of links, and what faster ones save."""
    best = max(own, key=lambda each: each.bus_gbs or 0.0)
    rate = number_text((best.bus_gbs or 0.0) * 1e9, "bytes_per_second")
    size = number_text(best.bytes, "bytes")
    modelled = [each for each in own if each.model_us]
    than = f"A PCIe 3.0 x16 slot carries {number_text(_SLOT_GBS * 1e9, 'bytes_per_second')}."
    if best.model_us:
        than = f"NCCL's cost model expects {_say(best.model_us)} per call on this GPU's links."
    saved = [
        min(each.exposed_us, max(each.time_us - each.calls * (each.model_us or 0.0), 0.0))
        for each in modelled
    ]
    return ProfileOpportunity(
        kind="slow links",
        title=f"Find out why {best.name} reaches only {rate}",
        why=(
            f"Even the fastest call ({size}) reaches only {rate} of bus bandwidth per GPU. {than} "
            "Possible causes are the transport, links shared with other groups, or ranks that "
            "start late."
        ),
        code="NCCL_DEBUG=INFO  # names the transport of each channel: P2P, SHM or NET",
        of_us=sum(each.exposed_us for each in own),
        most_us=sum(saved) if len(modelled) == len(own) else None,
        kernels=_list_kernels(profile, own),
    )


def _list_kernels(profile: RunProfile, own: Iterable[CollectiveTime]) -> tuple[str, ...]:
    kernels = {each.id for each in profile.tables["kernels"]}
    return tuple(dict.fromkeys(each.kernel for each in own if each.kernel in kernels))


def _say(us: float) -> str:
    return number_text(us * 1e-6, "seconds")
