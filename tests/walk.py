"""Through how many functions a call of ours is handed: `python -m tests.walk` prints four walks.

The walk of a call is what somebody reads who follows it through the files. A *stop* is a function
of ours that is entered from a function of ours in another file, and that hands on to a further
file itself: what only answers is looked up, not walked through. Methods, closures and properties
count; what torch calls (hooks of the record, fake tensors) does not, nor does what these call,
since a stack with a function of torch in it is left out. A *room* is a folder. The *depth* is the
most hand-overs from file to file on one stack. The *road* of a call is shorter: the functions of
ours that it is handed through until torch's own compiler is called. A call is measured when it is
warm: a first one fills caches and imports. Counted by `sys.setprofile` in the thread of the call.
"""

from __future__ import annotations

import gc
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

import workbench as wb

_OURS = str(Path(wb.__file__).parent) + "/"
COMPILER = "aot_compile_fullgraph"
_TORCH = str(Path(torch.__file__).parent) + "/"
Place = tuple[str, str]
"""The file of a function below the package, and its qualified name."""


@dataclass(frozen=True)
class Walk:
    """The stops of one call in the order in which they are first reached."""

    stops: tuple[Place, ...]
    depth: int

    @property
    def rooms(self) -> int:
        """In how many folders the stops lie."""
        return len({file.rpartition("/")[0] for file, _ in self.stops})


def walk(call: Callable[[], Any]) -> Walk:
    """Run a call twice, and give the walk of the second time."""
    call()
    entered: dict[Place, None] = {}
    handing: set[Place] = set()
    depth = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth
        if event != "call" or not frame.f_code.co_filename.startswith(_OURS):
            return
        stack = _stack(frame, root)
        if stack is None:
            return
        changes = sum(a[0] != b[0] for a, b in itertools.pairwise(stack))
        depth = max(depth, changes)
        if len(stack) == 1 or stack[0][0] != stack[1][0]:
            entered.setdefault(stack[0])
            handing.update(stack[1:2])

    root = call.__code__  # type: ignore[attr-defined]
    # what a collection finalizes runs on top of whichever function allocates, and is none of its
    gc.collect()
    gc.disable()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return Walk(tuple(place for place in entered if place in handing), depth)


def find_road(call: Callable[[], Any], until: str) -> tuple[Place, ...]:
    """Our functions from a call down to the first call of torch's function of this name."""
    call()
    road: list[Place] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == until and not road:
            road.extend(reversed(_stack(frame.f_back or frame, root) or []))

    root = call.__code__  # type: ignore[attr-defined]
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return tuple(road)


def _stack(frame: FrameType, root: CodeType) -> list[Place] | None:
    """Our functions from this one up to the call; None where torch stands between them."""
    found: list[Place] = []
    at: FrameType | None = frame
    while at is not None and at.f_code is not root:
        file = at.f_code.co_filename
        if file.startswith(_TORCH):
            return None
        if file.startswith(_OURS):
            found.append((file.removeprefix(_OURS), at.f_code.co_qualname))
        at = at.f_back
    return found if at is not None else None  # another thread's


RECORD = Path(__file__).parent / "records" / "block.wbr"


def walk_page() -> Walk:
    """From a report to its page."""
    report = wb.Report.load(RECORD)
    return walk(lambda: report.to_html())


def walk_launches() -> Walk:
    """From a record of another kind to what a notebook keeps of it."""
    found = wb.launches([10.0] * 20, kernel_us=3)
    return walk(lambda: found._repr_html_())


def compile_small() -> None:
    """One function that becomes one kernel, compiled for this machine."""

    def small(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2

    wb.aot_compile(small, (torch.ones(64, 64),))


def _walks(folder: Path) -> Iterator[tuple[str, Walk]]:
    yield "wb.aot_compile of a function", walk(compile_small)
    path = folder / "relu.pt2"
    wb.package(torch.nn.ReLU().eval(), (torch.ones(4, 4),), path=path).close()
    yield "wb.load of a package", walk(lambda: wb.load(path))
    yield "report.to_html", walk_page()
    yield "launches in a notebook", walk_launches()


def main() -> None:
    """Print each walk, a stop a line, and the road of a compilation."""
    with tempfile.TemporaryDirectory() as folder:
        for title, found in _walks(Path(folder)):
            print(f"{title}: {len(found.stops)} stops in {found.rooms} rooms, depth {found.depth}")
            print(*(f"  {file}: {name}" for file, name in found.stops), sep="\n")
    road = find_road(compile_small, COMPILER)
    print(f"handed through {len(road)} functions until torch compiles")
    print(*(f"  {file}: {name}" for file, name in road), sep="\n")


if __name__ == "__main__":
    main()
