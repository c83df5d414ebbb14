"""Packages on a device: built with it and without it, two streams, weights that are swapped.

`python -m tests.gpu.packages`; each step has a process of its own, which foreign code may end.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

import workbench as wb
from tests.gpu.figures import Step, print_figure, print_unchecked, run_steps
from tests.gpu.models import MODELS
from workbench.handles.devices.local_gpu import describe_local_gpu

RTOL, ATOL = 1e-3, 1e-4
MODEL = MODELS["block"]
CALLS = 200
SWAPS = 20


def steps(folder: Path, device: str, target: str) -> Mapping[str, Step]:
    """What is measured of packages, by name."""
    own, sent = folder / "own.pt2", folder / "sent.pt2"
    return {
        "a package built without the device": lambda: sent_package(sent, device, target),
        "a package built on the device": lambda: own_package(own, device),
        "two runners on two streams": lambda: two_streams(_first(own, sent), device),
        "weights swapped while serving": lambda: swapped(_first(own, sent), device),
    }


def _first(*paths: Path) -> Path:
    """The first of the files that could be made."""
    found = next((path for path in paths if path.exists()), None)
    if found is None:
        raise RuntimeError("no package could be built")
    return found


def sent_package(path: Path, device: str, target: str) -> None:
    """Build for the virtual GPU, load here."""
    module, x = MODEL.made()
    wb.package(module, (x,), path=path, target=target)
    _agrees(path, device, "a package built without the device")


def own_package(path: Path, device: str) -> None:
    """Build and load here."""
    module, x = MODEL.made(device)
    wb.package(module, (x,), path=path)
    _agrees(path, device, "a package built on the device")


def opened(path: Path, num_runners: int = 1) -> Any:
    """A package that is ready to be called."""
    return wb.load(path, num_runners=num_runners)


def _agrees(path: Path, device: str, name: str) -> None:
    module, x = MODEL.made(device)
    start = time.perf_counter()
    with opened(path) as package, torch.no_grad():
        loaded_s = time.perf_counter() - start
        error = float((package(x) - module(x)).abs().max())
    print_figure(
        f"{name}: largest error against eager",
        error,
        "",
        reach=ATOL,
        note=f"loaded in {loaded_s:.2f} s",
    )


@contextmanager
def stream(device: str) -> Iterator[None]:
    """A stream of its own for what is started inside, which is waited for at the end."""
    if device != "cuda":
        yield
        return
    own = torch.cuda.Stream()
    own.wait_stream(torch.cuda.default_stream())
    with torch.cuda.stream(own):
        yield
    own.synchronize()


def two_streams(path: Path, device: str, calls: int = CALLS) -> None:
    """Two threads, each with its own stream and input, call two runners of one package."""
    module, x = MODEL.made(device)
    inputs = [x, x.flip(0).contiguous()]
    with torch.no_grad():
        wanted = [module(each) for each in inputs]
    results: list[tuple[int, Tensor]] = []
    with opened(path, num_runners=2) as package:

        def serve(n: int, count: int) -> None:
            with stream(device):
                found = [(n, package(inputs[n])) for _ in range(count)]
            results.extend(found)

        alone = _timed(lambda: serve(0, 2 * calls))
        together = _timed(lambda: in_threads(lambda: serve(0, calls), lambda: serve(1, calls)))
        right = sum(torch.allclose(found, wanted[n], RTOL, ATOL) for n, found in results)
    print_figure(
        "calls from two streams that match eager",
        right / len(results),
        "share",
        reach=1.0,
        rule=">=",
        note=f"{len(results)} calls",
    )
    print_figure(
        "speedup in calls per second, two streams instead of one", alone / together, "ratio"
    )


def _timed(run: Callable[[], object]) -> float:
    run()  # what the first calls allocate stays
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_threads(*runs: Callable[[], object]) -> None:
    """Run all at once; raises the first error of any."""
    errors: list[BaseException] = []

    def guarded(run: Callable[[], object]) -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def swapped(path: Path, device: str, calls: int = CALLS, swaps: int = SWAPS) -> None:
    """Calls go on while the weights are replaced: each computes with the old or the new ones."""
    old, x = MODEL.made(device)
    new, _ = MODEL.made(device, seed=1)
    with torch.no_grad():
        wanted = [old(x), new(x)]
    done = threading.Event()
    found: list[Tensor] = []
    with opened(path, num_runners=2) as package:

        def serve() -> None:
            while not done.is_set() or len(found) < calls:
                with stream(device):
                    found.append(package(x))

        def swap() -> None:
            try:
                for n in range(swaps):
                    package.update_weights((new if n % 2 == 0 else old).state_dict())
            finally:
                done.set()

        in_threads(serve, swap)
        tell_swapped(found, wanted, swaps)


def tell_swapped(found: list[Tensor], wanted: list[Tensor], swaps: int) -> None:
    """Print how many calls computed with one set of weights, never with a mixture."""
    kinds = [
        next((n for n, w in enumerate(wanted) if torch.allclose(each, w, RTOL, ATOL)), None)
        for each in found
    ]
    whole = sum(kind is not None for kind in kinds)
    note = (
        f"{len(found)} calls during {swaps} swaps: {kinds.count(0)} with the first weights, "
        f"{kinds.count(1)} with the others"
    )
    print_figure(
        "calls during swaps that use one set of weights",
        whole / max(len(found), 1),
        "share",
        reach=1.0,
        rule=">=",
        note=note,
    )


def main(arguments: Sequence[str]) -> int:
    """Every step, or the named one for a folder, a device and a target."""
    if arguments:
        folder, device, target, name = arguments
        return run_steps({name: steps(Path(folder), device, target)[name]})
    target, code = describe_local_gpu()[0].spec.name, 0
    with TemporaryDirectory() as folder:
        for name in steps(Path(folder), "cuda", target):
            command = [sys.executable, "-m", __spec__.name, folder, "cuda", target, name]
            ended = subprocess.run(command, check=False).returncode
            if ended < 0:
                print_unchecked(name, f"its process was ended by signal {-ended}")
            code |= int(ended != 0)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
