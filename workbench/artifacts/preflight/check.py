"""Whether a file can be loaded on a machine: this one, or one that is only described."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.machine.machine import Machine, current_machine
from workbench.artifacts.machine.requirement import Requirement
from workbench.artifacts.preflight.file_needs import file_requirements

if TYPE_CHECKING:
    import pandas

_SIGNS = {"pass": "✓", "warn": "!", "fail": "✗"}


@dataclass(frozen=True)
class Check:
    """Every requirement of a file, each pass, warn or fail on one machine."""

    path: str
    machine: Machine
    requirements: tuple[Requirement, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing fails; a warning does not keep a file from being loaded."""
        return all(row.verdict != "fail" for row in self.requirements)

    @property
    def table(self) -> pandas.DataFrame:
        """A row for each requirement: name, verdict, needed, found, advice."""
        import pandas

        columns = [column.name for column in fields(Requirement)]
        return pandas.DataFrame(
            {name: [getattr(row, name) for row in self.requirements] for name in columns}
        )

    def __repr__(self) -> str:
        """A line for each requirement."""
        verdict = "can be loaded" if self.ok else "cannot be loaded"
        lines = [f"Check({os.path.basename(self.path)}: {verdict} on {self.machine!r})"]
        width = max(len(row.name) for row in self.requirements)
        for row in self.requirements:
            words = f"{row.needed}" if row.verdict == "pass" else f"{row.needed} / {row.found}"
            advice = f": {row.advice}" if row.advice else ""
            lines.append(f"  {_SIGNS[row.verdict]} {row.name:<{width}}  {words}{advice}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The table as HTML; what fails or warns is in bold."""
        head = "".join(f"<th>{name}</th>" for name in ("", "requirement", "needed", "found", ""))
        rows = "".join(f"<tr>{_cells(row)}</tr>" for row in self.requirements)
        verdict = "can be loaded" if self.ok else "cannot be loaded"
        title = f"{os.path.basename(self.path)} {verdict} on {self.machine!r}"
        return (
            f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def _cells(row: Requirement) -> str:
    sign = f'<span title="{row.verdict}">{_SIGNS[row.verdict]}</span>'
    name = escape(row.name) if row.verdict == "pass" else f"<b>{escape(row.name)}</b>"
    texts = (escape(row.needed), escape(row.found), escape(row.advice))
    return "".join(f"<td>{cell}</td>" for cell in (sign, name, *texts))


def check(path: str | PathLike[str], machine: Any = None) -> Check:
    """Compare what a file needs with a machine; executes nothing from the file.

    `machine` is None for this one, or what `Machine.of` reads. Raises `ArtifactError` when the
    file is of no kind that can be loaded or damaged, `UsageError` for a machine that cannot be
    read.
    """
    there = current_machine() if machine is None else Machine.of(machine)
    with open_any(path) as opened:
        return Check(os.fspath(path), there, tuple(file_requirements(opened, there)))
