"""What a file needs of a machine: a module of its own, as every load of a package reads it."""

from __future__ import annotations

from dataclasses import dataclass

NOT_CHECKED = "not checked"
"""The verdict on what nobody could compare: it is no pass."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a file needs, compared with a machine.

    `verdict` is pass, warn, fail or not checked, where what the machine has is not known.
    """

    name: str  # its name
    verdict: str  # pass, warn, fail or not checked
    needed: str  # what is needed
    found: str  # what the machine has
    advice: str = ""  # what to do about it
