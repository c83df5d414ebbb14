"""What the inspector says of a kernel, a module, a line or a gap, and what belongs to each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from workbench.number_text import number_text, plural
from workbench.worlds.profiles.changes.profiled_kernels import ProfiledKernel
from workbench.worlds.profiles.rows.profile_rows import (
    Gap,
    LineTime,
    ModuleTime,
    ProfileOpportunity,
    RanKernel,
    RecordedKernel,
)
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.messages import ProfileCard, RecordFact
from workbench.worlds.profiles.views.profile_words import KernelWords, say_part

MOST_CARDS = 1000
"""Rows of a table with a card: the rest has its table and frame."""


def _us(value: float) -> str:
    return number_text(value * 1e-6, "seconds")


def _share(value: float) -> str:
    return number_text(value, "percent")


def make_cards(
    profile: RunProfile,
    kernels: Sequence[ProfiledKernel],
    words: Mapping[str, KernelWords],
    changes: Sequence[ProfileOpportunity],
) -> dict[str, ProfileCard]:
    """By id; kernels say what to change of them."""
    tables = profile.tables
    advised: dict[str, ProfileOpportunity] = {}
    for change in changes:
        for kernel in change.kernels:
            advised.setdefault(kernel, change)
    cards = {
        words[each.row.id].row: _card_kernel(each, words[each.row.id], advised.get(each.row.id))
        for each in kernels[:MOST_CARDS]
    }
    for name, make in (("modules", _card_module), ("lines", _card_line)):
        rows = list(tables[name])[:MOST_CARDS]
        cards |= {f"{name}:{place}": make(row) for place, row in enumerate(rows)}
    gaps = list(tables["gaps"])[:MOST_CARDS]
    cards |= {f"gaps:{place}": _card_gap(gap, words) for place, gap in enumerate(gaps)}
    for place, change in enumerate(changes):
        cards[f"changes:{place}"] = _card_change(change)
    for place, recorded in enumerate(list(tables["record"])[:MOST_CARDS]):
        said = _tell_record(recorded)
        cards[f"record:{place}"] = _card_recorded(recorded, said)
        if (card := cards.get(words[recorded.kernel].row)) is not None:
            card["record"] += [fact for fact in said if fact not in card["record"]]
    return cards


def _tell_record(row: RecordedKernel) -> list[RecordFact]:
    """What a record says of a kernel: its lines, what is fused, its nodes."""
    ids: list[str | None] = [*row.line_ids, *[None] * (len(row.lines) - len(row.line_ids))]
    facts: list[tuple[str, str, str | None]] = [("Kernel", f"{row.record} {row.name}", row.record)]
    facts += [("Line", line, id) for line, id in zip(row.lines, ids, strict=True)]
    fused = ", ".join(row.operations) if len(row.operations) > 1 else ""
    facts += [("Fused", fused, None), ("Nodes", ", ".join(row.nodes), None)]
    return [
        {"label": label, "text": text, "of": row.of, "id": id} for label, text, id in facts if text
    ]


def _card_recorded(row: RecordedKernel, said: list[RecordFact]) -> ProfileCard:
    facts = [("Per call of the program", _us(row.time_us))] if row.time_us is not None else []
    side = "Backward pass" if row.is_backward else "Forward pass"
    card = _make_card(
        side, row.record, facts, path=" → ".join(filter(None, (*row.lines[:1], row.record)))
    )
    return {**card, "record": said, "full": row.name}


def _card_kernel(
    kernel: ProfiledKernel, words: KernelWords, change: ProfileOpportunity | None
) -> ProfileCard:
    row, us = kernel.row, kernel.us
    calls = f"Measured, mean of {row.calls:,} calls" if row.calls > 1 else "Measured"
    facts = [(calls, _us(us)), ("All calls", f"{_us(row.time_us)}, {_share(row.share)}")]
    if row.calls > 1 and row.most_us > row.least_us:
        facts.append(("Minimum to maximum", f"{_us(row.least_us)} to {_us(row.most_us)}"))
    if row.bound_us is not None:
        facts.append(("Bound", f"≥ {_us(row.bound_us)} ({say_part(row.reached or 0.0)})"))
    facts += _tell_model(row)
    places = [
        ("Operator", row.operator),
        ("Module", row.module),
        ("Line", row.line),
        ("Compile", row.compile_id),
        ("Grid", _join(row.grid)),
        ("Block", _join(row.block)),
        ("Registers", str(row.registers) if row.registers else ""),
        ("Occupancy", _share(row.occupancy) if row.occupancy else ""),
    ]
    side = "backward of " if row.is_backward else ""
    path = [row.line, f"{side}{row.module}" if row.module else "", row.operator]
    path = [*filter(None, path), plural(row.calls, "call")]
    return {
        "caption": ", ".join(filter(None, (words.kind, kernel.work.dtype))),
        "title": words.title,
        "facts": [*facts, *(fact for fact in places if fact[1])],
        "why": row.why_slow,
        "next": "" if change is None else change.title,
        "code": "" if change is None else change.code,
        "record": [],
        "full": row.name,
        "path": " → ".join(path),
    }


def _tell_model(row: RanKernel) -> list[tuple[str, str]]:
    if row.modelled_us is None:
        return []
    error = ", error not measured"
    if row.modelled_error is not None:
        error = f" ± {_share(row.modelled_error)}"
    return [("Modelled", f"{_us(row.modelled_us)}{error}")]


def _join(sizes: Iterable[int]) -> str:
    return " × ".join(map(str, sizes))


def _card_module(row: ModuleTime) -> ProfileCard:
    facts = [
        ("On the device", f"{_us(row.time_us)}, {_share(row.share)}"),
        ("Excluding what it calls", _us(row.own_us)),
        ("Kernels", f"{row.kernels:,} in {plural(row.calls, 'call')}"),
    ]
    if row.backward_us:
        facts.append(("In the backward pass", _us(row.backward_us)))
    if row.host_us:
        facts.append(("On the CPU", _us(row.host_us)))
    return _make_card("Module", row.name or "outside modules", facts, path=row.name)


def _card_line(row: LineTime) -> ProfileCard:
    facts = [
        ("On the device", f"{_us(row.time_us)}, {_share(row.share)}"),
        ("Excluding what it calls", _us(row.own_us)),
        ("Kernels", f"{row.kernels:,} in {plural(row.calls, 'call')}"),
        ("On the CPU", _us(row.host_us)),
    ]
    why = "torch.profiler records the first line of a function, not the calling line."
    card = _make_card("Function", f"{row.function} at {row.line}", facts, why=why, path=row.line)
    return {**card, "full": row.file}


def _card_gap(gap: Gap, words: Mapping[str, KernelWords]) -> ProfileCard:
    facts = [("Idle", _us(gap.duration_us)), ("At", _us(gap.start_us)), ("Cause", gap.cause)]
    for caption, kernel in (("After", gap.before), ("Before", gap.after)):
        if kernel in words:
            facts.append((caption, words[kernel].title))
    facts += [fact for fact in (("Module", gap.module), ("Line", gap.line)) if fact[1]]
    path = " → ".join(filter(None, (gap.line, gap.module, f"idle {_us(gap.duration_us)}")))
    return _make_card("Idle", f"{_us(gap.duration_us)} without work", facts, why=gap.why, path=path)


def _card_change(change: ProfileOpportunity) -> ProfileCard:
    facts = [("Concerns", _us(change.of_us))]
    if change.most_us is not None:
        least = f"{_us(change.least_us)} to " if change.least_us is not None else "at most "
        facts.append(("Modelled saving", f"{least}{_us(change.most_us)}"))
    if change.line:
        facts.append(("Line", change.line))
    card = _make_card("What to change", change.title, facts, why=change.why, path=change.title)
    return {**card, "code": change.code}


def _make_card(
    caption: str, title: str, facts: list[tuple[str, str]], *, why: str = "", path: str = ""
) -> ProfileCard:
    return {
        "caption": caption,
        "title": title,
        "facts": facts,
        "why": why,
        "next": "",
        "code": "",
        "record": [],
        "full": "",
        "path": path,
    }


class _Ties:
    """What belongs to an id, each way, in the order in which it was found."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, None]] = defaultdict(dict)

    def join(self, one: str, other: str | None) -> None:
        """Each belongs to the other; nothing where there is no other."""
        if other is not None:
            self._of[one][other] = self._of[other][one] = None

    def as_lists(self) -> dict[str, list[str]]:
        """As it travels."""
        return {id: list(others) for id, others in self._of.items()}


def tie(
    profile: RunProfile,
    words: Mapping[str, KernelWords],
    changes: Sequence[ProfileOpportunity],
    boxes: Mapping[str, Sequence[str]],
) -> dict[str, list[str]]:
    """By id what belongs to it, each way: kernels, modules with their boxes, lines, gaps."""
    ties = _Ties()
    modules = {row.id: f"modules:{at}" for at, row in enumerate(profile.tables["modules"])}
    lines = {row.line: f"lines:{at}" for at, row in enumerate(profile.tables["lines"])}
    for kernel, module, line in {
        (event.kernel, event.module, event.line) for event in profile.tables["events"]
    }:
        ties.join(words[kernel].row, modules.get(module))
        ties.join(words[kernel].row, lines.get(line))
    for box, own in boxes.items():
        for inside in own:
            ties.join(box, inside)
    for place, gap in enumerate(profile.tables["gaps"]):
        ties.join(f"gaps:{place}", lines.get(gap.line))
    for place, change in enumerate(changes):
        own_ids = [words[kernel].row for kernel in change.kernels if kernel in words]
        for id in (*own_ids, *(f"gaps:{at}" for at in change.gaps), lines.get(change.line)):
            ties.join(f"changes:{place}", id)
    for place, recorded in enumerate(profile.tables["record"]):
        ties.join(f"record:{place}", words[recorded.kernel].row)
    return ties.as_lists()
