"""What a worker has to share with the process that asks: state of torch, threads, cells."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from workbench.compiler.internals.state import GlobalState
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.sources import sources
from workbench.errors import UsageError


@dataclass(frozen=True)
class Ambient:
    """What torch's answer depends on besides the code and its inputs.

    `guarded` is the state that torch's guards compare, as JSON.
    """

    threads: int
    torch: TorchState
    guarded: str

    @classmethod
    def current(cls) -> Ambient:
        """The state of this moment in this thread."""
        return cls(
            threads=torch.get_num_threads(),
            torch=TorchState.current(),
            guarded=json.dumps(GlobalState.current().snapshot, sort_keys=True),
        )


@contextlib.contextmanager
def as_in_parent(ambient: Ambient, cells: Mapping[str, int]) -> Iterator[None]:
    """Make this process like the one that asked.

    Raises `UsageError` where it cannot be made so.
    """
    torch.set_num_threads(ambient.threads)
    token = sources.CELLS.set(dict(cells))
    try:
        with ambient.torch.applied(keep=frozenset()):
            _compare(ambient)
            yield
    finally:
        sources.CELLS.reset(token)


def _compare(ambient: Ambient) -> None:
    wanted, here = json.loads(ambient.guarded), GlobalState.current().snapshot
    differing = [name for name in wanted if wanted[name] != here.get(name)]
    if differing:
        raise UsageError(
            f"The worker cannot have the same {', '.join(differing)} as this process. Compile it "
            "here with aot_compile."
        )
