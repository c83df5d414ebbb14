"""The program of the process that compiles in the background."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.processes.messages import Failed, Ready
from workbench.processes.parent import Parent

if TYPE_CHECKING:
    from workbench.processes.caller_context import CallerContext

RESULT = "result.aot"


def main(parent: Parent) -> None:
    """Compile what lies in a folder, and leave the artifact there."""
    folder, context = parent.receive()
    try:
        parent.done(_compile(Path(folder), context, parent))
    except WorkbenchError as error:
        parent.send(Failed.of(error))


def _compile(folder: Path, context: CallerContext, parent: Parent) -> str:
    from workbench.compiler.pipeline.pipeline import compile_ahead
    from workbench.handles.compiled import Compiled
    from workbench.handles.save import save_compiled
    from workbench.processes.shipping import unpack

    with context.entered():
        parcel = unpack(folder)
        with parcel["state"].reproduced():
            call = (parcel["function"], parcel["args"], parcel["kwargs"], parcel["options"])
            parent.send(Ready())
            compiled = Compiled.of(compile_ahead(*call, parent))
            parent("saving", 0.0)
            digest = save_compiled(
                compiled, folder / RESULT, weights="separate", isa="native", external_data={}
            )
            parent.end("saving", 0.0)
    return digest
