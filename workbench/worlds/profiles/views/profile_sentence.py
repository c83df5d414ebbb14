"""The sentence that matters for a profile, what else is remarkable, and all figures behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from workbench.number_text import number_text, plural
from workbench.views.wire.overview_messages import Piece
from workbench.worlds.profiles.changes.profiled_kernels import ProfiledKernel
from workbench.worlds.profiles.rows.profile_rows import ProfileOpportunity
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.messages import ProfileAnswer, ProfileChip, ProfileKind
from workbench.worlds.profiles.views.profile_words import say_part

_KINDS: dict[ProfileKind, str] = {
    "product": "matmuls",
    "attention": "attention",
    "elementwise": "elementwise kernels",
    "reduction": "reductions",
    "copy": "copies",
    "collective": "collectives",
    "other": "other kernels",
}
_CAUSES = {
    "launch": "late launch",
    "synchronisation": "CPU wait for the device",
    "data loading": "wait for data",
    "memcpy": "copy",
    "collective": "wait for other ranks",
    "allocation": "allocation",
    "first launch": "first launch",
    "Python": "stretch of Python",
    "another process": "CPU wait for a thread or process",
    "another stream": "wait for work outside the profile",
    "unknown": "wait of unknown cause",
}
_MUCH_IDLE = 0.1  # of the whole: what explains none of it, the sentence says
_MOST_UNKNOWN = 0.1  # of the time of a kind: with more of it no share of a bound is said


def say(text: str) -> Piece:
    """Plain words."""
    return {"text": text, "look": "plain", "select": None}


def _figure(text: str) -> Piece:
    return {"text": text, "look": "figure", "select": None}


def _us(value: float) -> str:
    return number_text(value * 1e-6, "seconds")


def answer(
    profile: RunProfile, kernels: Sequence[ProfiledKernel], changes: Sequence[ProfileOpportunity]
) -> ProfileAnswer:
    """The sentence, the chips, the figures behind *Details*."""
    return {
        "sentence": list(make_sentence(profile, kernels, changes)),
        "chips": list(_make_chips(profile, kernels)),
        "details": list(_list_details(profile, kernels)),
    }


def make_sentence(
    profile: RunProfile, kernels: Sequence[ProfiledKernel], changes: Sequence[ProfileOpportunity]
) -> Iterator[Piece]:
    """How long, on what, how busy; what took longest; what would help most."""
    header = profile.header
    if not kernels:
        yield say("This profile has no device work and no CPU operators.")
        return
    if header.on_cpu:
        yield _figure(_us(profile.busy_us))
        yield say(" of CPU operators; this profile has no GPU work")
    else:
        yield _figure(_us(profile.total_us))
        yield say(f" on {_name_device(profile)}: ")
        yield _figure(number_text(profile.busy_us / (profile.total_us or 1), "percent"))
        yield say(" busy")
    times = _sum_by_kind(kernels)
    kind = max(times, key=times.__getitem__)
    name = _KINDS.get(kind, kind)
    takes = "take" if name.endswith("s") else "takes"
    yield say(f". {name[:1].upper()}{name[1:]} {takes} {_us(times[kind])}")
    reached = _reach(kernels, kind)
    if reached is not None:
        yield say(f" at {say_part(reached)} of their bound")
    unexplained = _sum_unexplained(profile)
    if unexplained > _MUCH_IDLE * profile.total_us:
        yield say(". The device is idle for ")
        yield _figure(_us(unexplained))
        yield say(" for an unknown reason")
    best = next(iter(changes), None)
    if best is not None and best.kind == "fusion":
        yield say(f". torch.compile could fuse kernels that take {_us(best.of_us)}")
    elif best is not None:
        saved = f"{_us(best.of_us)} affected"
        if best.most_us is not None:
            saved = f"saves at most {_us(best.most_us)}"
        yield say(f". Suggested: {best.title[:1].lower()}{best.title[1:]} ({saved})")
    yield say(".")


def _sum_unexplained(profile: RunProfile) -> float:
    """µs of idle time whose cause is unknown, or is work that the profile does not hold."""
    unexplained = (
        us
        for gap in profile.tables["gaps"]
        for cause, us, _ in gap.divide()
        if cause in ("unknown", "another stream")
    )
    return float(sum(unexplained))


def _name_device(profile: RunProfile) -> str:
    header = profile.header
    named = header.gpu_title or header.device_name or "an unnamed GPU"
    return f"{named} (likely gpu={header.likely_gpu!r})" if header.likely_gpu else named


def _sum_by_kind(kernels: Iterable[ProfiledKernel]) -> dict[ProfileKind, float]:
    times: dict[ProfileKind, float] = defaultdict(float)
    for each in kernels:
        times[each.kind] += each.row.time_us
    return times


def _reach(kernels: Iterable[ProfiledKernel], kind: ProfileKind) -> float | None:
    """The bound of all kernels of a kind by their time; None where too many have no bound."""
    own = [each.row for each in kernels if each.kind == kind]
    known = [row for row in own if row.bound_us is not None]
    time, known_time = (sum(row.time_us for row in rows) for rows in (own, known))
    if not known_time or time - known_time > _MOST_UNKNOWN * time:
        return None
    return sum((row.bound_us or 0.0) * row.calls for row in known) / known_time


def _make_chips(profile: RunProfile, kernels: Sequence[ProfiledKernel]) -> Iterator[ProfileChip]:
    gaps = profile.tables["gaps"]
    longest = max(gaps, key=lambda gap: gap.duration_us, default=None)
    if longest is not None:
        cause = _CAUSES.get(longest.cause)
        more = f", {_us(longest.duration_us)} of it in one {cause}" if cause else ""
        yield _chip("gaps", "Idle ", _us(profile.idle_us), more)
    modelled = _sum_modelled(kernels)
    if modelled is not None:
        us, error, of_us = modelled
        how_far = "error not measured" if error is None else f"± {_us(error)}"
        yield _chip("kernels", "Modelled ", _us(us), f" of {_us(of_us)}, {how_far}")
    launches = profile.tables["launches"]
    if len(launches):
        calls = sum(each.calls for each in launches)
        graphs = sum(each.calls for each in launches if each.is_graph)
        more = f", {graphs:,} of them CUDA graphs" if graphs else ", no CUDA graph"
        yield _chip("launches", "", f"{calls:,}", f" launches{more}")
    exposed = sum(each.exposed_us for each in profile.tables["collectives"])
    if exposed:
        yield _chip("collectives", "Collectives exposed for ", _us(exposed), "")
    held = [each.allocated for each in profile.tables["memory"] if each.device != "cpu"]
    peak = max((each for each in held if each is not None), default=0)
    if peak:
        yield _chip("memory", "Peak ", number_text(peak, "bytes"), "")


def _chip(table: str, before: str, figure: str, after: str) -> ProfileChip:
    pieces = [*([say(before)] if before else []), _figure(figure)]
    return {"table": table, "pieces": [*pieces, *([say(after)] if after else [])]}


def _sum_modelled(kernels: Iterable[ProfiledKernel]) -> tuple[float, float | None, float] | None:
    """Modelled, its error and measured, of the kernels that have a model.

    Errors add up: kernels of one family are off in the same direction. None where one is not known.
    """
    rows = [each.row for each in kernels if each.row.modelled_us is not None]
    if not rows:
        return None
    sums = [(row.modelled_us or 0.0) * row.calls for row in rows]
    error: float | None = 0.0
    for us, row in zip(sums, rows, strict=True):
        is_known = error is not None and row.modelled_error is not None
        error = (error or 0.0) + us * (row.modelled_error or 0.0) if is_known else None
    return sum(sums), error, sum(row.time_us for row in rows)


def _list_details(
    profile: RunProfile, kernels: Sequence[ProfiledKernel]
) -> Iterator[tuple[str, str]]:
    header = profile.header
    yield "Total", _us(profile.total_us)
    yield "Busy, any stream", _us(profile.busy_us)
    yield "Idle", _us(profile.idle_us)
    for kind, us in sorted(_sum_by_kind(kernels).items(), key=lambda each: -each[1]):
        reached = _reach(kernels, kind)
        more = f", {say_part(reached)} of the bound" if reached is not None else ""
        yield _KINDS.get(kind, kind).capitalize(), f"{_us(us)}{more}"
    compiled = sum(each.row.time_us for each in kernels if each.is_compiled)
    if compiled:
        yield "In Inductor kernels", _us(compiled)
    if header.unlaunched:
        calls = plural(header.unlaunched, "call")
        note = f"{calls}, {_us(header.unlaunched_us)}, excluded from the total"
        yield "Launched before the profile", note


def facts(profile: RunProfile) -> str:
    """How much was recorded, and what of it."""
    header = profile.header
    recorded = [
        f"{name} {'yes' if has else 'not recorded'}"
        for name, has in (
            ("shapes", header.has_shapes),
            ("stacks", header.has_stacks),
            ("memory", header.has_memory),
        )
    ]
    known = len({row.record for row in profile.tables["record"]})
    more = f" · {plural(known, 'kernel')} matched to a report" if known else ""
    return f"{plural(header.events, 'event')} · {', '.join(recorded)}{more}"
