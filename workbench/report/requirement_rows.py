"""The requirements of a file: a separate module, since every load of a package imports it."""

from __future__ import annotations

from dataclasses import dataclass

NOT_CHECKED = "not checked"
"""The verdict on a requirement that could not be compared; it is not a pass."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a file needs, compared with a machine.

    `verdict` is pass, warn, fail, or not checked if the value of the machine is not known.
    """

    name: str  # its name
    verdict: str  # pass, warn, fail or not checked
    needed: str  # the needed value
    found: str  # the value of the machine
    advice: str = ""  # what to do
