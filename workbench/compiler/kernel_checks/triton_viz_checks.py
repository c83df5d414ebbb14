"""What triton-viz says of a call, where it is installed: its own verdict, beside that of the run.

Its sanitizer solves for an address outside of every argument, for all programs and lanes at once.
Release 3.0 was tried with torch 2.13 and Triton 3.7.1: it finds what is there in kernels that it
follows, and what it misses is in `_GAPS`, so that nothing found is not called a proof.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from importlib import metadata
from importlib.util import find_spec

from workbench.analysis.kernel_checks.kernel_check import NOT_JUDGED
from workbench.compiler.kernel_checks.triton_viz_run import Stray
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError
from workbench.number_text import number_text
from workbench.processes.child import Child
from workbench.processes.shipping.caller_context import CallerContext
from workbench.report.machine_rows import CheckedCase, KernelFinding

_PROGRAM = "workbench.compiler.kernel_checks.triton_viz_run"
_HIDDEN = (
    "TRITON_INTERPRET", "ENABLE_SANITIZER", "SANITIZER_ENABLE_FAKE_TENSOR", "TRITON_VIZ_NUM_SMS",
    "TRITON_VIZ_VERBOSE",
)  # fmt: skip
_GAPS = (
    "It is no proof: two tl.arange with the same bounds are one to it, atomics are not looked at, "
    "what lies in another argument counts as inside, addresses that are loaded have the values "
    "of this call"
)
_DOES = {"Load": "reads", "Store": "writes"}


def find_release() -> str | None:
    """The name and release of triton-viz where it is installed."""
    if find_spec("triton_viz") is None:
        return None
    return f"triton-viz {metadata.version('triton-viz')}"


def ask_triton_viz(
    call: KernelCall, release: str, time_limit: float, run: CheckedCase | None,
    known: Collection[KernelFinding],
) -> tuple[CheckedCase, list[KernelFinding]]:  # fmt: skip
    """Its row of the call and its findings, without those of `known`.

    `run` is the row of the same call from the run under watch: where every program of it was run,
    an access that left no argument there is said, and is no finding.
    """
    start = time.monotonic()
    strays = _ask(call, time_limit)
    seconds = time.monotonic() - start
    grid = run.grid if run else ()
    if isinstance(strays, str):
        note = f"Not judged by {release}: {strays}."
        row = CheckedCase(call.name, "", "not checked", grid, 0, not_judged=(strays,),
                          notes=(note,), seconds=seconds, by=release)  # fmt: skip
        return row, []
    is_whole = run is not None and run.least_read_bytes is not None
    told = {row.line if is_whole else (row.line, row.argument)
            for row in known if row.kind == "out of bounds"}  # fmt: skip
    new = [each for each in strays
           if (each.line if is_whole else (each.line, each.argument)) not in told]  # fmt: skip
    found = [_describe(call, release, each, is_refuted=is_whole) for each in new]
    notes: tuple[str, ...] = ()
    if not strays:
        verdict, took = "nothing found", number_text(seconds, "seconds")
        notes = (f"{release} found no access out of bounds, in {took}. {_GAPS}.",)
    elif new and is_whole:
        verdict, notes = "contradicted", tuple(row.text for row in found)
    else:
        verdict = "failed"
    return CheckedCase(
        call.name, "", verdict, grid, 0, judged=("accesses out of bounds",), notes=notes,
        seconds=seconds, by=release,
    ), found  # fmt: skip


def _describe(call: KernelCall, release: str, stray: Stray, *, is_refuted: bool) -> KernelFinding:
    said = f"line {stray.line} {_DOES.get(stray.does, 'accesses')} {stray.argument or 'memory'}"
    text = f"Out of bounds, by {release}: {said} outside of its elements."
    if is_refuted:
        text = (
            f"Not judged: {release} says that {said} outside of its elements; every program of the "
            "call was run, and none did."
        )
    return KernelFinding(
        call.name, NOT_JUDGED if is_refuted else "out of bounds", text,
        Places().shown(stray.file), stray.line, argument=stray.argument, by=release,
    )  # fmt: skip


def _ask(call: KernelCall, time_limit: float) -> tuple[Stray, ...] | str:
    """What it reports, or why it reports nothing, in words."""
    with call.make_parcel() as folder, Child(_PROGRAM, hidden=_HIDDEN) as child:
        try:
            found: tuple[Stray, ...] = child.ask(
                (folder, CallerContext.current()), deadline=time.monotonic() + time_limit
            )
        except TimeoutError:
            return f"it took longer than {time_limit:g} s"
        except EOFError:
            last = (child.last_words().splitlines() or [""])[-1]
            return f"its process {child.how_it_ended()}" + (f" ({last:.200})" if last else "")
        except CaptureError as error:
            return str(error).rstrip(".")
    return found
