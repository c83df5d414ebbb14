"""One thing that an artifact needs, and whether a machine has it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.artifacts.machine import Machine


@dataclass(frozen=True)
class Requirement:
    """One thing that an artifact needs: `verdict` is pass, warn or fail."""

    name: str
    verdict: str
    needed: str
    found: str
    advice: str = ""


@dataclass(frozen=True)
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
