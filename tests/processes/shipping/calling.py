"""The program of a process that calls what was sent to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.processes.parent import Done, Failed, Parent
from workbench.processes.shipping.caller_context import CallerContext
from workbench.processes.shipping.shipped_values import unpacked


def main(parent: Parent) -> None:
    """Answers one folder after the other with the sum of what the function gives."""

    def answer(order: tuple[str, CallerContext]) -> Done | Failed:
        folder, context = order
        with context.entered(), unpacked(Path(folder)) as parcel:
            return Done(_call(parcel))

    parent.serve(answer)


def _call(parcel: dict[str, Any]) -> Any:
    return parcel["target"](*parcel["args"]).sum().item()
