"""Packages in use: start in a fresh process, the check of a call, runners, 1 GB of weights."""

from __future__ import annotations

import compileall
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

from tests.bench.bench_load import gpt2
from tests.bench.figure import ROOT, Figure, child, empty_caches, in_seconds, interleaved, ratio

LOAD = "load + first call of a .pt2, 6-layer GPT-2, empty cache / torch's loader, {} weights"
LOAD_REACH, LOAD_REACH_S = 0.01, 0.06
CONDITIONS = (
    "Width 256, length 64, 2 threads. Each run is a fresh process with empty caches, the file "
    "in the page cache and compiled bytecode"
)
HASHED = {
    "beside": "The weights are mapped, and their hash is compared outside the timed part",
    "inside": "The weights are in the library and are hashed in the timed part",
}
WEIGHTS = ("beside", "inside")
PLACES = {"beside": "separate", "inside": "embedded"}  # the words of the names
TOLERANCE = 1e-5
CHECK = "cost of checks per call of a package, 2 tensors (us)"
CHECK_REACH_US = 1.5
CALLS = 2000
CHECK_CONDITIONS = (
    "2 float32 tensors of 4 × 8, dynamic batch. Warm, in interleaved rounds of 2,000 calls"
)
RUNNERS = "time per call of 2 threads, 2 runners / 1 runner"
RUNNERS_REACH = 1 / 1.7
RUNNERS_CONDITIONS = (
    "6-layer GPT-2, one thread per kernel. Warm, with 20 calls per thread in each round"
)
BIG = "load of a package with 1 GB of mapped weights (s)"
BIG_REACH_S = 0.5
BIG_CONDITIONS = (
    "One embedding of 1 GiB next to the library. Each run is a fresh process with torch "
    "imported and the file in the page cache. The import of workbench is included"
)
BIG_ROWS, BIG_WIDTH = 1 << 20, 256  # float32: 1 GiB


def figures(quick: bool = False) -> Iterator[Figure]:
    compileall.compile_dir(ROOT / "workbench", quiet=1)  # as an installation does
    with tempfile.TemporaryDirectory() as folder:
        for weights in WEIGHTS:
            _package_gpt2(Path(folder), weights)
        for weights in WEIGHTS:
            yield from _start(Path(folder), weights, 1 if quick else 5)
        yield _runners(Path(folder), 3 if quick else 9)
        yield _check(Path(folder) / "add.pt2", 5 if quick else 31)
        yield from _big(Path(folder) / "big.pt2", 1 if quick else 3)


def _package_gpt2(folder: Path, weights: str) -> None:
    import workbench as wb

    case, path = gpt2(), folder / f"{weights}.pt2"
    wb.package(
        case.model, (), dict(case.inputs), path=path, weights=weights, capture="light"
    ).close()


def _start(folder: Path, weights: str, pairs: int) -> Iterator[Figure]:
    differences: list[float] = []

    def measure(way: str) -> float:
        with empty_caches() as variables:
            found = child(__name__, way, str(folder / f"{weights}.pt2"), variables=variables)
        differences.append(found["difference"])
        return float(found["seconds"])

    ours, theirs = interleaved(lambda: measure("ours"), lambda: measure("torch"), pairs)
    found = ratio(LOAD.format(PLACES[weights]), ours, theirs, LOAD_REACH)
    conditions = f"{CONDITIONS}. {HASHED[weights]}"
    yield replace(found, conditions=conditions)
    yield in_seconds(found, LOAD_REACH_S, conditions)
    worst = max(differences)
    yield Figure("  largest difference from eager", worst, None, worst, TOLERANCE, "")


def first_call(way: str, path: Path) -> dict[str, float]:
    """Seconds from having torch and the model to the first result."""
    import torch

    from tests.agreement import largest_difference

    case = gpt2()
    with torch.no_grad():
        start = time.perf_counter()
        if way == "ours":
            import workbench as wb

            found = wb.load(path)(**case.inputs)
        else:
            found = torch._inductor.aoti_load_package(str(path))(**case.inputs)
        seconds = time.perf_counter() - start
        difference = largest_difference(found, case.model(**case.inputs))
    return {"seconds": seconds, "difference": difference}


def _runners(folder: Path, pairs: int) -> Figure:
    with empty_caches() as variables:
        one_thread = {**variables, "OMP_NUM_THREADS": "1"}
        found = child(__name__, "runners", str(folder), str(pairs), variables=one_thread)
    measured = ratio(RUNNERS, found["two"], found["one"], RUNNERS_REACH)
    return replace(measured, conditions=RUNNERS_CONDITIONS)


def throughput(folder: Path, pairs: int) -> dict[str, list[float]]:
    """Seconds per call of two threads, with two runners and with one; kernels take one thread."""
    import workbench as wb

    inputs = gpt2().inputs
    two, one = interleaved(
        _of_two_threads(wb.load(folder / "inside.pt2", num_runners=2), inputs),
        _of_two_threads(wb.load(folder / "inside.pt2"), inputs),
        pairs,
    )
    return {"two": two, "one": one}


def _of_two_threads(package: Any, inputs: Any, calls: int = 20) -> Callable[[], float]:
    def work() -> None:
        for _ in range(calls):
            package(**inputs)

    def measure() -> float:
        threads = [Thread(target=work) for _ in range(2)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.perf_counter() - start) / (2 * calls)

    package(**inputs)
    return measure


def _check(path: Path, pairs: int) -> Figure:
    import torch

    import workbench as wb

    batch = torch.export.Dim("batch", min=1, max=64)
    x, y = torch.ones(4, 8), torch.ones(4, 8)
    shapes = {"x": {0: batch}, "y": {0: batch}}
    wb.package(_add().eval(), (x, y), path=path, dynamic_shapes=shapes, capture="light").close()
    checked, unchecked = wb.load(path), wb.load(path, check=False)
    runs = interleaved(_per_call(checked, x, y), _per_call(unchecked, x, y), pairs)
    with_check, without = map(statistics.median, runs)
    gap = statistics.median(a - b for a, b in zip(*runs, strict=True))
    return Figure(CHECK, with_check, without, gap, CHECK_REACH_US, "us", "", CHECK_CONDITIONS)


def _add() -> Any:
    import torch

    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y

    return Add()


def _per_call(package: Any, x: Any, y: Any) -> Callable[[], float]:
    def measure() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            package(x, y)
        return (time.perf_counter() - start) / CALLS * 1e6

    return measure


def _big(path: Path, repeats: int) -> Iterator[Figure]:
    import torch

    import workbench as wb

    torch.manual_seed(0)
    module = torch.nn.Embedding(BIG_ROWS, BIG_WIDTH).eval()
    wb.package(module, (_ids(),), path=path, weights="beside", capture="light").close()
    del module
    runs = []
    for _ in range(repeats):
        with empty_caches() as variables:
            runs.append(child(__name__, "big", str(path), variables=variables))
    note = f"{path.stat().st_size / 2**30:.2f} GiB"
    loaded, hashed = (statistics.median(run[part] for run in runs) for part in ("load", "hash"))
    beside = BIG_CONDITIONS + ". The hash comparison is not timed"
    yield Figure(BIG, loaded, None, loaded, BIG_REACH_S, "s", note, beside)
    inside = BIG_CONDITIONS + ". The hash comparison and a first call are timed, too"
    name = "  with the hash comparison"
    yield Figure(name, hashed, None, hashed, None, "s", note, inside)


def _ids() -> Any:
    import torch

    return torch.arange(0, BIG_ROWS, BIG_ROWS // 8).reshape(2, 4)


def load_big(path: Path) -> dict[str, float]:
    """Seconds of a load alone, and until its weights are known to be whole; it runs between."""
    import torch

    start = time.perf_counter()
    import workbench as wb

    package = wb.load(path)
    seconds = time.perf_counter() - start
    found = package(_ids())
    package.verified()
    whole = time.perf_counter() - start
    assert found.shape == (2, 4, BIG_WIDTH)
    assert torch.isfinite(found).all()
    return {"load": seconds, "hash": whole}


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    if what == "big":
        print(json.dumps(load_big(Path(place))))
    elif what == "runners":
        print(json.dumps(throughput(Path(place), int(rest[0]))))
    else:
        print(json.dumps(first_call(what, Path(place))))
