"""The part `compare:<config>:<config>:<stage>`: two texts of a stage, line by line."""

from __future__ import annotations

from workbench.errors import UsageError
from workbench.report.listing_diff import compare
from workbench.views.parts.stage import Stages
from workbench.views.wire.code import ComparePart

_PIECES = 5  # two configurations of two words each, and the stage


def compare_part(stages: Stages, name: str) -> ComparePart:
    """Build the part of `k0:c0:k0:c1:sass`; raises `UsageError` when a text is not there."""
    *words, last = name.split(":")
    is_loose = last == "loose"
    words = words if is_loose else [*words, last]
    if len(words) != _PIECES:
        raise UsageError(
            f"There is no comparison {name!r}: name two configurations and a stage, such as "
            "compare:k0:c0:k0:c1:sass."
        )
    stage = words[4]
    before, a = stages.text(":".join((*words[:2], stage)))
    after, b = stages.text(":".join((*words[2:4], stage)))
    return {
        "kind": "compare",
        "before": before.config,
        "after": after.config,
        "stage": stage,
        "blocks": [
            (kind, left.start + 1, left.stop, right.start + 1, right.stop)
            for kind, left, right in compare(a, b, loose=is_loose)
        ],
    }
