"""A profile as text, in sentences and as tables."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas

from workbench.errors import UsageError
from workbench.number_text import ABSENT, number_text, plural
from workbench.report.table import number_columns
from workbench.views.words.record_words import short
from workbench.worlds.profiles.changes.profiled_kernels import read_kernels
from workbench.worlds.profiles.rows.profile_rows import ProfileOpportunity
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.profile_sentence import make_sentence
from workbench.worlds.profiles.views.profile_words import name_kernels, say_part

_WIDTH, _HEIGHT = 80, 25
_FEW = 3  # changes, and kernels where notes take the rest
_HEAD, _NAME = 14, 46


def text(profile: RunProfile) -> str:
    """One screen of a terminal, 25 lines of 80 columns: what matters, what to change, kernels."""
    said = [textwrap.wrap(each, _WIDTH, subsequent_indent="  ") for each in sentences(profile)]
    lines = [line for each in said for line in each]
    changes = profile.opportunities
    for change in changes[:_FEW]:
        gain = _format_range(change)
        lines.append(
            f"{'do':<{_HEAD}}{short(change.title, _WIDTH - _HEAD - 2 - len(gain))}  {gain}"
        )
    if len(changes) > _FEW:
        more = plural(len(changes) - _FEW, "change")
        lines.append(f'{"…":<{_HEAD}}{more} more: .frame("opportunities")')
    kernels = read_kernels(profile.of_own_rank(), None)
    words = name_kernels(kernels, profile.of_own_rank().tables["collectives"])
    rows = kernels[: max(_FEW, _HEIGHT - len(lines) - 2)]
    if rows:
        lines.append(f"{'kernel':<{_NAME}} {'calls':>6} {'time':>8} {'share':>6} {'of bound':>9}")
    for each in rows:
        row, title = each.row, words[each.row.id].title
        reached = ABSENT if row.reached is None else say_part(row.reached)
        share = number_text(row.share, "percent")
        lines.append(
            f"{short(title, _NAME):<{_NAME}} {row.calls:>6,} {_us(row.time_us):>8} {share:>6} "
            f"{reached:>9}"
        )
    if len(kernels) > len(rows):
        more = plural(len(kernels) - len(rows), "kernel")
        lines.append(f'… {more} more: .frame("kernels")')
    return "\n".join(lines)


def _format_range(change: ProfileOpportunity) -> str:
    """What a change may save, by its model; without one, the time that it concerns."""
    if change.most_us is None:
        return f"concerns {_us(change.of_us)}"
    if change.least_us is None:
        return f"saves up to {_us(change.most_us)}"
    return f"saves {_us(change.least_us)} to {_us(change.most_us)}"


def _us(value: float) -> str:
    return number_text(value * 1e-6, "seconds")


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
