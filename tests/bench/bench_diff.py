"""Two records of a 6-layer GPT-2, with fixed and with dynamic sizes, compared."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import ROOT, Figure, child

REACH = 1.0
CONDITIONS = (
    "Width 256, length 64. Timed from two files in the page cache to the text, in a fresh "
    "process that has imported workbench"
)
WAYS = ("static", "dynamic", "train")


def figures(quick: bool = False) -> Iterator[Figure]:
    layers = "2" if quick else "6"
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        variables["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"
        child(__name__, "record", layers, folder, variables=variables)
        for other, words in (("dynamic", "dynamic sizes"), ("train", "a training step")):
            runs = [child(__name__, other, layers, folder, variables=variables) for _ in range(5)]
            seconds = statistics.median(run["seconds"] for run in runs)
            note = (
                f"{runs[0]['changes']} differences, {runs[0]['kernels']} kernels; files read, "
                f"text made; page {runs[0]['page']:.2f} s more"
            )
            name = f"diff of two {layers}-layer GPT-2 reports, {words} (s)"
            yield Figure(name, seconds, None, seconds, REACH, "s", note)


def record_here(layers: int, folder: Path) -> dict[str, int]:
    """Compile the model in every way, a report of each."""
    from torch.export import Dim

    import workbench as wb
    from tests.models import zoo

    case = zoo.build("gpt2", layers=layers, width=256, length=64, words=1000)
    batch = {"kwargs": {"input_ids": {0: Dim("batch", min=2, max=64)}}}  # forward is wrapped
    labelled = {**case.inputs, "labels": case.inputs["input_ids"]}
    case.model.loss_type = "ForCausalLM"  # else its code warns, which no graph can hold
    requests = {
        "static": (case.inputs, {"grad": False}),
        "dynamic": (case.inputs, {"grad": False, "dynamic_shapes": batch}),
        "train": (labelled, {"grad": True}),
    }
    for name in WAYS:
        inputs, options = requests[name]
        wb.aot_compile(case.model, (), inputs, **options).report.save(folder / f"{name}.wbr")
    return {"reports": len(WAYS)}


def compare_here(other: str, folder: Path) -> dict[str, float]:
    """Seconds from the two files to the text; what has to be imported is imported before."""
    import workbench as wb

    empty = wb.Report()
    repr(wb.diff(empty, empty))
    start = time.perf_counter()
    diff = wb.diff(folder / "static.wbr", folder / f"{other}.wbr")
    repr(diff)
    seconds = time.perf_counter() - start
    diff.to_html()
    page = time.perf_counter() - start - seconds
    return {
        "seconds": seconds,
        "page": page,
        "changes": len(diff.changes),
        "kernels": len(diff.b.kernels),
    }


if __name__ == "__main__":
    way, layers, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    found = record_here(layers, folder) if way == "record" else compare_here(way, folder)
    print(json.dumps(found))
