"""One thing that an artifact needs, and whether a machine has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import ArtifactError

if TYPE_CHECKING:
    from workbench.artifacts.machine.machine import Machine


@dataclass(frozen=True)
class Requirement:
    """One thing that an artifact needs: `verdict` is pass, warn or fail."""

    name: str
    verdict: str
    needed: str
    found: str
    advice: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Makes the rows for one machine; what its description leaves out is a warning."""

    machine: Machine

    def row(
        self, name: str, fits: bool, needed: str, found: str | None, advice: str = ""
    ) -> Requirement:
        """Pass or fail by `fits`, and a warning for what is not described."""
        if not found and not self.machine.is_whole:
            return Requirement(
                name, "warn", needed, "not described", "the description leaves it out"
            )
        verdict = "pass" if fits else "fail"
        return Requirement(name, verdict, needed, found or "none", "" if fits else advice)


def refuse_failed(path: str, rows: Iterable[Requirement], again: str) -> None:
    """Raise `ArtifactError` that names every row that fails; `again` is how to mend it."""
    failed = [row for row in rows if row.verdict == "fail"]
    if failed:
        lines = [
            f"  {row.name}: needs {row.needed}, this machine has {row.found}"
            + (f" ({row.advice})" if row.advice else "")
            for row in failed
        ]
        raise ArtifactError("\n".join((f"{path} does not fit this machine:", *lines, again)))
