"""The program of the process in which triton-viz looks at one call of a kernel.

It replaces functions of Triton while it works and keeps what it was asked, so that its process
answers once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.kernels.kernel_call import unship
from workbench.errors import CaptureError
from workbench.processes.parent import Failed, Parent
from workbench.processes.shipping.caller_context import CallerContext


@dataclass(frozen=True)
class Stray:
    """An access that triton-viz says leaves its argument."""

    does: str  # "Load" or "Store"
    argument: str
    file: str
    line: int


def main(parent: Parent) -> None:
    """Answer one request, the folder of a call and where its code imports from."""
    folder, context = parent.receive()
    try:
        parent.done(find_strays(folder, context))
    except (Exception, SystemExit) as error:  # whatever it and the kernel raise is its answer
        words = " ".join(str(error).split()) or "no further output"
        parent.send(Failed.of(CaptureError(f"{type(error).__name__}: {words:.200}")))


def find_strays(folder: str, context: CallerContext) -> tuple[Stray, ...]:
    """What triton-viz's sanitizer reports of the call, in its autotuner's first configuration."""
    import triton_viz
    from triton_viz.clients import Sanitizer

    with context.entered():
        call = unship(Path(folder))
        config = call.configs[0].all_kwargs() if call.configs else {}
        named = {name: v for name, v in call.all_meta(config).items() if name in call.parameters}
        sanitizer = Sanitizer(abort_on_error=False)
        traced: Any = triton_viz.trace(sanitizer)(call.jit)
        arguments = {name: _move_to_start(value) for name, value in call.arguments.items()}
        traced[call.resolve_grid(config)](**arguments, **named)
        return tuple(dict.fromkeys(_read(record) for record in sanitizer.records))


def _move_to_start(value: Any) -> Any:
    """A view whose rows have gaps as one at the start of a storage: 3.0 adds an offset twice."""
    if not isinstance(value, torch.Tensor) or not value.storage_offset() or 0 in value.stride():
        return value
    if value.is_contiguous():
        return value
    moved = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
    return moved.copy_(value)


def _read(record: Any) -> Stray:
    place = record.user_code_tracebacks[-1]
    name = record.tensor_name or ""
    return Stray(record.op_type.__name__, name, str(place.filename), int(place.lineno))
