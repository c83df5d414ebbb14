"""Load and first call of a saved 6-layer GPT-2 in a fresh process with empty caches."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.figure import Figure, child, empty_caches, interleaved, ratio

NAME = "load + first call, 6-layer GPT-2, empty cache / torch's loader"
REACH = 0.12
TOLERANCE = 1e-5


def figures(quick: bool = False) -> Iterator[Figure]:
    differences: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        _save(Path(folder))

        def measure(way: str) -> float:
            with empty_caches() as variables:
                found = child(__name__, way, folder, variables=variables)
            differences.append(found["difference"])
            return float(found["seconds"])

        ours, theirs = interleaved(
            lambda: measure("ours"), lambda: measure("torch"), 1 if quick else 3
        )
    yield ratio(NAME, ours, theirs, REACH)
    worst = max(differences)
    yield Figure("  largest difference from eager", worst, None, worst, TOLERANCE, "")


def gpt2() -> Any:
    from tests.models import zoo

    return zoo.build("gpt2", layers=6, width=256, length=64, words=1000)


def _save(folder: Path) -> None:
    import torch

    import workbench as wb
    from tests.bench import torch_path

    case = gpt2()
    wb.aot_compile(case.model, (), dict(case.inputs), grad=False).save(folder / "ours.aot")
    with torch.no_grad():
        compiled = torch_path.compile_module(case.model, case.inputs)
    aliases = torch_path.save(compiled, folder / "torch.bin")
    (folder / "aliases.json").write_text(json.dumps(aliases))


def measure_here(way: str, folder: Path) -> dict[str, float]:
    """Seconds from having torch and the model to the first result."""
    import torch

    from tests.agreement import largest_difference

    case = gpt2()
    with torch.no_grad():
        start = time.perf_counter()
        if way == "ours":
            import workbench as wb

            found = wb.load(folder / "ours.aot", module=case.model)(**case.inputs)
        else:
            from tests.bench import torch_path

            aliases = json.loads((folder / "aliases.json").read_text())
            found = torch_path.load(folder / "torch.bin", aliases)(case.model, **case.inputs)
        seconds = time.perf_counter() - start
        difference = largest_difference(found, case.model(**case.inputs))
    return {"seconds": seconds, "difference": difference}


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], Path(sys.argv[2]))))
