"""The program that the worker compiled, taken apart so that another process can keep or run it.

This module imports nothing of torch: the worker reads it before torch is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.artifacts.manifest.manifest import BuiltFor

if TYPE_CHECKING:
    from workbench.compiler.aot_files.writing.serialized import Serialized


@dataclass(frozen=True)
class Program:
    """What a file needs besides the report: code, contract, specialized values, guards.

    `contract`, `specialized` and `guards` are the JSON of a manifest. `not_packed` are the kernels
    whose machine code is not in `serialized`. `graphs` are the pickled graphs that were lowered,
    for a comparison kernel by kernel; where they are empty, `no_graphs` says why. `stages` has
    those of every stage, each pickled, by their ids in the record. `unreadable` says in a sentence
    why no load would take a file of it, where that is so. `sends_nothing` of one whose collectives
    are of a fake process group.
    """

    serialized: Serialized
    contract: Mapping[str, Any]
    specialized: tuple[Mapping[str, Any], ...]
    guards: Mapping[str, Any]
    built_for: BuiltFor
    not_packed: tuple[str, ...] = ()
    graphs: bytes = b""
    stages: Mapping[str, bytes] = field(default_factory=dict)
    no_graphs: str = "no graph was lowered"
    unreadable: str = ""
    sends_nothing: bool = False


@dataclass(frozen=True)
class NoProgram:
    """Why a compilation has no program that could be kept or run elsewhere: one sentence."""

    reason: str
