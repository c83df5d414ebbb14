"""The small nested records of a report: where it ran, what was asked for, how it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SCHEMA = 1
OWN_KERNEL = "kernel"
"""The kind of a record of one kernel that a user wrote, called by itself."""
KERNEL_LOG = "kernel log"
"""The kind of a record that was read from a log of kernels: it only tells."""


@dataclass(frozen=True)
class Environment:
    """Where the compilation ran; `threads` is torch's intra-op thread count."""

    workbench: str = ""
    python: str = ""
    torch: str = ""
    triton: str | None = None
    platform: str = ""
    cpu: str = ""
    isa: str = ""
    cores: int = 0
    threads: int = 0
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def torch_release(self) -> tuple[int, ...]:
        """The first two numbers of torch's release, such as (2, 13); none where it is not known."""
        numbers = re.match(r"(\d+)\.(\d+)", self.torch)
        return () if numbers is None else tuple(map(int, numbers.groups()))


_CONDITIONS = 4  # on sizes, spelled out in one line


REQUIRES_GRAD = ", requires grad"
"""How the text of an input ends that asks for its gradient."""


@dataclass(frozen=True)
class Request:
    """What was asked for; `options` are the compiler options that differ from their default.

    `tf32` names what a GPU's libraries may compute in TF32: "products", "convolutions". `fusion`
    holds what `with_fusion` chose: "forbid" or "force", and the operations of both ends; "alone",
    and nodes of lowered graphs that write their values. `conditions` are what sizes have to meet
    together, such as `a.shape[0] < b.shape[0]`. `again` says in a sentence why a session compiled
    it once more, with code between backticks.
    """

    name: str = ""
    kind: str = "function"
    backend: str = "inductor"
    mode: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    target: str = "host"
    grad: bool = False
    autocast: str | None = None
    training: bool | None = None
    guards: str = "portable"
    capture: str = "full"
    dynamic_shapes: str | None = None
    inputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tf32: tuple[str, ...] = ()
    fusion: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    conditions: tuple[str, ...] = ()
    again: str = ""

    @property
    def together(self) -> str:
        """The conditions in one line, the first few spelled out; empty where there are none."""
        return together(self.conditions)


def together(conditions: Sequence[str]) -> str:
    """The conditions in one line, the first few spelled out; empty where there are none."""
    more = len(conditions) - _CONDITIONS
    shown = " and ".join(conditions[:_CONDITIONS])
    return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True)
class Outcome:
    """How the compilation ended; `step` and `error` are set when it failed or was cancelled.

    `file` and `line` are those of the program's own error, empty and 0 where it is none of its own.
    """

    ok: bool = True
    step: str | None = None
    error: str | None = None
    is_cancelled: bool = False
    file: str = ""
    line: int = 0

    @property
    def verb(self) -> str:
        """What became of it, in a word: done, failed or cancelled."""
        return "done" if self.ok else "cancelled" if self.is_cancelled else "failed"

    @property
    def clause(self) -> str:
        """The same of what did not end well, after a subject: failed, was cancelled."""
        return "was cancelled" if self.is_cancelled else "failed"

    @property
    def place(self) -> str:
        """Where it ended, behind the clause: ` in verify`; empty for compiling itself."""
        return f" in {self.step}" if self.step not in (None, "compile") else ""
