"""Cards of the inspector for rows of the panes, each described once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from workbench.views.kit.card import Card
from workbench.views.tables.column import Column
from workbench.views.wire.block_messages import CardSpec
from workbench.worlds.world import World, gather

_NO = "–"

_OWN: Mapping[str, Sequence[Card]] = {
    "access": [
        Card(
            "accesses",
            "Access, {kind}",
            "{argument}[, {place}]",
            "{kind} {argument}",
            (
                Column("Width", "vector_bytes", "B", absent=_NO),
                Column("Sectors", "sectors", "amount", absent=_NO),
                Column("Ideal", "least_sectors", "amount", absent=_NO),
                Column("Used", "used", "share", absent=_NO),
                Column("Used, L1", "used_l1", "share", absent=_NO),
            ),
            parts=[("Why", "{said}"), ("Layout", "{layout}"), ("", "[Counted: {looked}]")],
            ties=("kernel", "line"),
        )
    ],
    "finding": [
        Card(
            "check_findings",
            "Finding",
            "{kind}",
            "{kind}[, line {number}]",
            (
                Column("Kernel", "kernel"),
                Column("Argument", "argument", absent=_NO),
                Column("Call", "case", absent="as given"),
            ),
            says="{text}",
            ties=("line",),
        )
    ],
    "phase": [
        Card(
            "phases",
            "Compile phase {name}",
            "{words}",
            "{name}",
            (
                Column("Start", "start_s", "s"),
                Column("Total", "duration_s", "s"),
                Column("Self", "self_s", "s"),
                Column("Share", "share", "share"),
                Column("Thread", "thread"),
            ),
            parts=[("", "Self is the phase's time without nested phases.")],
        )
    ],
    "choice": [
        Card(
            "choices",
            "Choice for {op}",
            "{choice}",
            "{choice}",
            (
                Column("Kind", "kind"),
                Column("Time", "time_ms", "ms", absent="not timed"),
            ),
            tag=("Chosen", "{tone}"),
            ties=("op",),
            parts=[("", "{note}")],
        )
    ],
    "ranked": [
        Card(
            "ranked",
            "Configuration of {kernel} on {target}",
            "{choice}",
            "{kernel} with {choice}, {warps} warps",
            (
                Column("Rank", "rank", "count"),
                Column("Time (estimate)", "model_us", "us"),
                Column("With the prior", "placed_us", "us"),
                Column("Warps", "warps", "count"),
                Column("Stages", "stages", "count"),
                Column("Registers", "registers", "count"),
                Column("Spills", "spills", "count"),
                Column("Shared memory", "smem_bytes", "B"),
                Column("Occupancy (estimate)", "occupancy", "share"),
                Column("Limited by", "limiter"),
            ),
            tag=("{rejection}", "fallback"),
            says="Compiled, not run; its time is modelled.",
            parts=[("", "[{note}.]")],
            chips=[("Kernel", "kernel")],
        )
    ],
    "cuda-graph": [
        Card(
            "cuda_graphs.parts",
            "Part of the program",
            "Part {name}",
            "part {name}",
            (
                Column("Kernels", "kernels", "length"),
                Column("Copied per call", "copied_bytes", "B", absent=_NO),
            ),
            of="cuda_graphs",
            tag=("{verdict}", "{tone}"),
            says="{said}",
            parts=[("Fix", "{help}")],
            without=["node"],
            ties=("kernels",),
            leads=("lines",),
        )
    ],
    "saved": [
        Card(
            "file.members",
            "File member",
            "{short}",
            "{name}",
            (
                Column("Name", "name"),
                Column("What", "what"),
                Column("Size", "size", "B"),
                Column("SHA-256", "sha256"),
            ),
            of="file",
        ),
        Card(
            "file.requirements",
            "Requirement",
            "{name}",
            "{name}",
            (Column("Needs", "needed"), Column("Here", "found")),
            tag=("{verdict}", "{tone}"),
            parts=[("", "{advice}")],
        ),
        Card(
            "file.contract",
            "{side}",
            "{name}",
            "{name}",
            (
                Column("Dtype", "dtype"),
                Column("Shape", "shape"),
                Column("Device", "device"),
                Column("Model", "model"),
            ),
        ),
        Card(
            "file.leaves",
            "Output of {way}",
            "{leaf}",
            "{leaf}",
            (
                Column("Dtype", "dtype"),
                Column("Shape", "shape"),
                Column("Allowed", "tolerance"),
            ),
            tag=("{compared}", "{tone}"),
            parts=[("", "{note}")],
        ),
    ],
}
"""By the kind of the thing, as its id names it."""


@cache
def find_cards() -> Mapping[str, Sequence[Card]]:
    """By kind of thing, also those of worlds."""
    return gather(_read_cards, _OWN, "card")


def _read_cards(world: World) -> Mapping[str, Sequence[Card]]:
    """Those of a world; raises `TypeError` for what is not a card, which no view could draw."""
    listed: Mapping[str, Sequence[Card]] = world.list_cards()
    for kind, cards in listed.items():
        for card in cards:
            if not isinstance(card, Card):
                raise TypeError(f"a card of {kind} is of type {type(card).__name__}")
    return listed


def list_cards(document: Mapping[str, Any]) -> dict[str, list[CardSpec]]:
    """The cards of the rows that a document has, as they travel."""
    by_kind = {
        kind: [card.spec() for card in cards if _find(document, card.place)]
        for kind, cards in find_cards().items()
    }
    return {kind: cards for kind, cards in by_kind.items() if cards}


def _find(document: Mapping[str, Any], place: str) -> Any:
    value: Any = document
    for name in place.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
