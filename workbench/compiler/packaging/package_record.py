"""What the record of a package says: what was asked for, here or elsewhere, and what to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch.export import ExportedProgram

from workbench.compiler.internals.torch_state import GlobalState
from workbench.compiler.packaging.exporting import Exportable
from workbench.report import Report, Request


def request_for(found: Exportable, chosen: Mapping[str, Any], notes: tuple[str, ...]) -> Request:
    """What was asked for, as the record has it."""
    asked, state = found.request, GlobalState.current()
    return Request(
        name=found.title,
        kind="package",
        mode=asked.mode,
        options=tuple((name, repr(value)) for name, value in sorted(chosen.items())),
        grad=False,
        autocast=state.autocast,
        training=None if isinstance(asked.model, ExportedProgram) else found.module.training,
        guards="contract",
        capture=asked.capture,
        dynamic_shapes=None if asked.dynamic_shapes is None else str(asked.dynamic_shapes),
        notes=notes,
    )


def report_of_elsewhere(report: Report, there: Report) -> Report:
    """The record of a compilation in another process, with what was asked for here."""
    target = there.request.target
    request = replace(report.request, target=target)
    return replace(there, request=request, extra={**there.extra, **report.extra})


def note_operators(operators: Sequence[str]) -> Iterator[str]:
    """What the user of a package has to know of its custom operators."""
    if operators:
        yield (
            f"it calls {', '.join(operators)}, which is not in the file: register custom operators "
            "wherever it is loaded (import their module, or torch.ops.load_library(path))"
        )
