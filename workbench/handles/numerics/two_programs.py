"""Two compiled programs of one call, compared bit for bit on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.analysis.numerics.numerics_record import ProgramsApart
from workbench.compiler.numerics.comparisons import (
    KeptCall,
    compare_calls,
    compare_outputs,
    keep_call,
    list_unlike,
    load_call,
)
from workbench.errors import UsageError
from workbench.file_path import check_file_path, explain_no_path
from workbench.handles.compiled_base import CompiledBase
from workbench.handles.numerics.watched_numbers import watch_numbers
from workbench.tasks.progress_events import ProgressCallback


def compare_programs(
    compiled: CompiledBase,
    other: CompiledBase | str | PathLike[str],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> ProgramsApart:
    """Where two programs part, the other of which may have run elsewhere and left a file.

    Raises `UsageError` for what is neither, and where both were not given the same.
    """
    if not isinstance(other, CompiledBase) and explain_no_path(other) is not None:
        raise UsageError(
            f"against is of type {type(other).__name__}: expected what aot_compile made, or the "
            "path of a file that numerics(x, args).save_values(path) wrote."
        )
    notes: list[str] = []

    def kept(each: CompiledBase) -> KeptCall:
        with watch_numbers(each, args, kwargs, progress) as (program, own):
            notes.extend(own)
            return keep_call(program, each.name)

    one = kept(compiled)
    two = (
        kept(other) if isinstance(other, CompiledBase) else load_call(Path(check_file_path(other)))
    )
    if one.place != two.place:
        notes.append(f"They ran with {one.place} and with {two.place}.")
    values = tuple(compare_calls(one, two))
    outputs = tuple(compare_outputs(one, two, values))
    remarks = tuple(dict.fromkeys(notes))
    unlike = tuple(list_unlike(one, two))
    return ProgramsApart(one.name, two.name, values, outputs, remarks, unlike)
