"""Whether a file can be loaded on a machine: this one, or one that is only described."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.file_path import check_file_path
from workbench.number_text import plural
from workbench.report.presenter import FormerTable, Presented, presenter
from workbench.report.requirement_rows import NOT_CHECKED, Requirement

if TYPE_CHECKING:
    import pandas

    from workbench.artifacts.machine.machine_description import Machine

SIGNS = {"pass": "✓", "warn": "!", "fail": "✗", NOT_CHECKED: "?"}
"""A sign for each verdict."""
_AGAIN = "get the file again: loading it is refused"


@dataclass(frozen=True)
class Check(Presented):
    """Every requirement of a file: each pass, warn, fail or not checked on one machine."""

    path: str
    machine: Machine
    requirements: tuple[Requirement, ...]

    @property
    def ok(self) -> bool:
        """Whether all was checked and nothing fails; a warning keeps no file from being loaded."""
        return all(row.verdict in ("pass", "warn") for row in self.requirements)

    @property
    def verdict(self) -> str:
        """Whether it can be loaded, and where; that is not said where something was not checked."""
        verdicts = [row.verdict for row in self.requirements]
        unknown = verdicts.count(NOT_CHECKED)
        there = f"a machine with {repr(self.machine).removeprefix('Machine(').removesuffix(')')}"
        if "fail" in verdicts or not unknown:
            return f"{'can' if self.ok else 'cannot'} be loaded on {there}"
        needs = plural(len(verdicts), "need")
        return f"not checked: {unknown} of {needs}, unknown of {there}"

    table = FormerTable()

    def frame(self) -> pandas.DataFrame:
        """A row for each requirement: name, verdict, needed, found, advice."""
        return presenter().rows_frame(self.requirements, Requirement)

    def __repr__(self) -> str:
        """A line for each requirement."""
        lines = [f"Check({os.path.basename(self.path)}: {self.verdict})"]
        width = max(len(row.name) for row in self.requirements)
        for row in self.requirements:
            words = f"{row.needed}" if row.verdict == "pass" else f"{row.needed} / {row.found}"
            advice = f": {row.advice}" if row.advice else ""
            sign = SIGNS.get(row.verdict, SIGNS[NOT_CHECKED])
            lines.append(f"  {sign} {row.name:<{width}}  {words}{advice}")
        return "\n".join(lines)


def check(path: str | PathLike[str], machine: Any = None) -> Check:
    """Compare what a file needs with a machine, and its content with its hashes; executes nothing.

    `machine` is None for this one, or what `Machine.of` reads. Raises `ArtifactError` when the
    file is of no kind that can be loaded or damaged, `UsageError` for a machine that cannot be
    read.
    """
    from workbench.artifacts.archive.file_kinds import open_any
    from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
    from workbench.artifacts.preflight.file_needs import check_file_requirements

    there = describe_current_machine() if machine is None else Machine.of(machine)
    with open_any(path, libraries=True) as opened:
        damaged = opened.damaged()
        rows = [
            Requirement("content", "fail", "as it was written", f"{name} was changed", _AGAIN)
            for name in damaged[:1]
        ]
        return Check(check_file_path(path), there, (*rows, *check_file_requirements(opened, there)))
