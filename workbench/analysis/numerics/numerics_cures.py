"""What would change a deviation: the options that are worth a trial, as changes to try."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from workbench.analysis.numerics.causes import EMULATE, FALLBACK_RANDOM
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.report.numerics.numerics_rows import Deviation

_TEXTS = {
    EMULATE: "Round to 16 bits wherever eager does: the program then agrees with eager more "
    "closely, which is not the same as with float64.",
    FALLBACK_RANDOM: "Draw random numbers as eager does: by a library call, which is not fused.",
}
RULE = "numerics"
"""The rule of a change that was asked for because of the numbers."""


def read_option(option: str) -> tuple[str, Any]:
    """The name and the value of an option as a row has it, such as `fallback_random=True`."""
    name, _, value = option.partition("=")
    return name, ast.literal_eval(value)


def list_cures(rows: Sequence[Deviation]) -> tuple[Opportunity, ...]:
    """The changes that rows name, each once, with the kernels that they concern."""
    by_option: dict[str, list[str]] = {}
    for row in rows:
        if row.option:
            by_option.setdefault(row.option, []).append(row.kernel or "")
    return tuple(
        Opportunity(
            id=f"n{number}",
            rule=RULE,
            kind="option",
            text=_TEXTS.get(option, f"Compile with {option}."),
            sure="possible",
            source="the cause of the deviation; measured when it is tried",
            kernels=tuple(dict.fromkeys(filter(None, kernels))),
            settings=(read_option(option),),
            changes_numbers=True,
        )
        for number, (option, kernels) in enumerate(by_option.items())
    )
