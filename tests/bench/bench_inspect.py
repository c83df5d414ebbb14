"""Looking into a package of 1 GB in a fresh process: seconds and peak memory."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure, child, peak_bytes

SIZE = 1 << 30
NAME = "inspect of a 1 GB package, {place} weights: {what}"
CONDITIONS = (
    "1 GiB of zeros with a small library. Each run is a fresh process that has imported "
    "workbench, with the file in the page cache. The zeros are not hashed"
)
SECONDS, MEGABYTES = 0.3, 100
PLACES = {"beside": "separate", "inside": "embedded"}  # the words of the names


def figures(quick: bool = False) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        for place, words in PLACES.items():
            path = Path(folder) / f"{place}.pt2"
            _write(path, place)
            runs = [child(__name__, str(path), variables={}) for _ in range(1 if quick else 5)]
            path.unlink()
            seconds = statistics.median(run["seconds"] for run in runs)
            peak = max(run["megabytes"] for run in runs)
            name = NAME.format(place=words, what="seconds")
            yield Figure(name, seconds, None, seconds, SECONDS, "s", f"{len(runs)} processes")
            name = NAME.format(place=words, what="peak MB")
            yield Figure(name, peak, None, peak, MEGABYTES, "MB", "with Python itself")


def _write(path: Path, place: str) -> None:
    """A valid package whose bulk is zeros: `beside` in a blob, `inside` behind the library."""
    from tests.artifacts import package_sample as sample

    bulk = path.with_suffix(".bulk")
    library = sample.SHARED_LIBRARY.read_bytes()
    bulk.write_bytes(library if place == "inside" else b"")
    with bulk.open("r+b") as file:
        file.truncate(SIZE)
    member = sample.BLOB if place == "beside" else None
    model = sample.model(constants=(sample.weight(SIZE, member),), weights=place)
    content = sample.parts(**{"library" if place == "inside" else "blob": bulk})
    sample.write_package(path, model, members=content)
    bulk.unlink()


def measure_here(path: str) -> dict[str, float]:
    """Seconds and the largest memory of this process, once it has imported the workbench."""
    import workbench as wb

    start = time.perf_counter()
    report = wb.inspect(path)
    seconds = time.perf_counter() - start
    assert [m.state for m in report.members if m.size >= SIZE] == ["not hashed"]
    assert report.libraries[0].exports > 0
    return {"seconds": seconds, "megabytes": peak_bytes() / 1e6}


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1])))
