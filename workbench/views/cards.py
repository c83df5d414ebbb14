"""Cards of the inspector, described once: what is said of a row that is selected.

In texts `{name}` is a field of the row; what stands in brackets is left out where a field in it is
missing, and a text without anything is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.views.tables.column import Column
from workbench.views.wire.block_messages import CardSpec


@dataclass(frozen=True)
class Card:
    """What kind of thing a row is, its title, its short name; a fact without a value is left out.

    `place` is where the document has the rows, `of` what the glossary calls the facts. `tag` is a
    word and its tone, `says` stands above the facts, `parts` below them under their headings;
    `chips` are headings with fields of ids, `without` kinds of what belongs to it. `ties` are
    fields with ids that belong to the row as it belongs to them, `leads` those that only do the
    first.
    """

    place: str
    caption: str
    title: str
    label: str
    facts: Sequence[Column]
    of: str = ""
    tag: tuple[str, str] | None = None
    says: str = ""
    parts: Sequence[tuple[str, str]] = ()
    chips: Sequence[tuple[str, str]] = ()
    without: Sequence[str] = ()
    ties: Sequence[str] = ()
    leads: Sequence[str] = ()

    def spec(self) -> CardSpec:
        """The card as it travels."""
        return {
            "place": self.place,
            "of": self.of or self.place.rpartition(".")[2],
            "caption": self.caption,
            "title": self.title,
            "label": self.label,
            "tag": self.tag,
            "says": self.says,
            "facts": [column.spec() for column in self.facts],
            "parts": list(self.parts),
            "chips": list(self.chips),
            "without": list(self.without),
            "ties": list(self.ties),
            "leads": list(self.leads),
        }


_NO = "–"

CARDS: Mapping[str, Sequence[Card]] = {
    "collective": [
        Card(
            "collectives",
            "Collective",
            "{op}",
            "{op}",
            (
                Column("Message", "bytes", "B", absent=_NO),
                Column("Group", "group"),
                Column("Modelled, µs", "est_us", "us", absent=_NO),
                Column("Exposed, µs", "exposed_us", "us", absent=_NO),
                Column("By", "said"),
                Column("Place", "place"),
            ),
            ties=("kernel", "wait_kernel", "line"),
        )
    ],
    "access": [
        Card(
            "accesses",
            "Access, {kind}",
            "{argument}[, {place}]",
            "{kind} {argument}",
            (
                Column("Width", "vector_bytes", "B", absent=_NO),
                Column("Sectors", "sectors", "amount", absent=_NO),
                Column("Least", "least_sectors", "amount", absent=_NO),
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
            parts=[("", "Self is the time that none of its own phases accounts for.")],
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
            says="Compiled, not run: its time is what a model gives it.",
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
            parts=[("What would help", "{help}")],
            without=["node"],
            ties=("kernels",),
            leads=("lines",),
        )
    ],
    "saved": [
        Card(
            "file.members",
            "Member of the file",
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


def list_cards(document: Mapping[str, Any]) -> dict[str, list[CardSpec]]:
    """The cards of the rows that a document has, as they travel."""
    by_kind = {
        kind: [card.spec() for card in cards if _find(document, card.place)]
        for kind, cards in CARDS.items()
    }
    return {kind: cards for kind, cards in by_kind.items() if cards}


def _find(document: Mapping[str, Any], place: str) -> Any:
    value: Any = document
    for name in place.split("."):
        value = None if value is None else value.get(name)
    return value
