"""A profile as text, in sentences and as tables."""

from __future__ import annotations

from typing import Any

import pandas

from workbench.analysis.profile_changes.profiled_kernels import read_kernels
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report.profile.profile_rows import RanKernel
from workbench.report.profile.run_profile import RunProfile
from workbench.report.table import number_columns
from workbench.views.profile.profile_sentence import make_sentence


def text(profile: RunProfile) -> str:
    """One line, without times."""
    rows: list[RanKernel] = list(profile.tables["kernels"])
    what = "operator" if profile.header.on_cpu else "kernel"
    where = profile.gpu or profile.header.device_name or "an unknown GPU"
    calls = sum(row.calls for row in rows)
    return f"RunProfile({where}, {plural(len(rows), what)}, {plural(calls, 'call')})"


def sentences(profile: RunProfile) -> tuple[str, ...]:
    """How long it took and where the time went; then what the profile lacks."""
    return (_describe(profile), *profile.notes)


def _describe(profile: RunProfile) -> str:
    profile = profile.of_own_rank()
    changes = list(profile.tables["opportunities"])
    pieces = make_sentence(profile, read_kernels(profile, None), changes)
    return "".join(piece["text"] for piece in pieces)


def frame(profile: RunProfile, name: str) -> pandas.DataFrame:
    """One table; raises `UsageError` for another name."""
    table = profile.tables.get(name)
    if table is None:
        known = ", ".join(profile.tables)
        raise UsageError(f"A profile has no table {name!r}. It has: {known}.")
    made = pandas.DataFrame({key: list(column) for key, column in table.columns.items()})
    row_type: Any = table.row_type
    for column, number in number_columns(row_type).items():
        made[column] = made[column].astype("Int64" if number is int else "float64")
    made.attrs["omitted"] = table.omitted
    return made if "rank" not in made or made["rank"].notna().any() else made.drop(columns="rank")
