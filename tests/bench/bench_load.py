"""Load and first call of a saved 6-layer GPT-2 in a fresh process: ours, torch's two ways."""

from __future__ import annotations

import compileall
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.bench.figure import ROOT, Figure, child, empty_caches, in_seconds, interleaved, ratio

NAME = "load + first call of an .aot, 6-layer GPT-2, empty cache / {}"
REACH, REACH_S = 0.12, 0.25
READ_BACK_S = 0.05
PACKAGE_S = 0.14
CONDITIONS = (
    "Width 256, length 64, no gradients, 2 threads. Each run is a fresh process that already "
    "has torch and the model, with empty caches, the file in the page cache and compiled "
    "bytecode. The model has the weights, so none are hashed"
)
OTHERS = {
    "torch": (
        "torch's loader",
        "Compared with torch's own `aot_compile` file, which needs two fixes",
    ),
    "artifacts": (
        "torch.compile with its artifacts",
        "Torch calls `torch.compiler.load_cache_artifacts`, then `torch.compile`",
    ),
}
"""What torch has for the same: the words of the name, and how it is used."""
TOLERANCE = 1e-5


def figures(quick: bool = False) -> Iterator[Figure]:
    differences: list[float] = []
    compileall.compile_dir(ROOT / "workbench", quiet=1)  # as an installation does
    with tempfile.TemporaryDirectory() as folder:
        read_back_s = _save(Path(folder), 1 if quick else 5)

        def measure(way: str) -> float:
            with empty_caches() as variables:
                found = child(__name__, way, folder, variables=variables)
            differences.append(found["difference"])
            return float(found["seconds"])

        for way, (words, how) in OTHERS.items():
            pairs = interleaved(partial(measure, "ours"), partial(measure, way), 1 if quick else 3)
            found = ratio(NAME.format(words), *pairs, REACH if way == "torch" else None)
            yield replace(found, conditions=f"{CONDITIONS}. {how}")
            if way == "torch":
                yield in_seconds(found, REACH_S, CONDITIONS)
        packages = [measure("package") for _ in range(1 if quick else 9)]
    middle = statistics.median(packages)
    yield Figure(
        "load + first call of a .pt2 with the import of workbench, the same GPT-2",
        *(middle, None, middle, PACKAGE_S, "s"),
        note=f"{len(packages)} processes, {min(packages):.3f} to {max(packages):.3f}",
        conditions=CONDITIONS.replace("The model has the weights, so none", "The weights"),
    )
    yield Figure(
        "save of an .aot, 6-layer GPT-2: reading it back",
        *(read_back_s, None, read_back_s, READ_BACK_S, "s"),
        conditions="Median of five saves in one process. The model does not run",
    )
    worst = max(differences)
    yield Figure("  largest difference from eager", worst, None, worst, TOLERANCE, "")


def gpt2() -> Any:
    from tests.models import zoo

    return zoo.build("gpt2", layers=6, width=256, length=64, words=1000)


def _save(folder: Path, saves: int) -> float:
    """Write the files of every way; the seconds that ours takes to read its own back."""
    import torch

    import workbench as wb
    from tests.bench import torch_path
    from workbench.compiler.aot_files.writing import written_artifact

    case = gpt2()
    own = wb.aot_compile(case.model, (), dict(case.inputs), grad=False)
    seconds: list[float] = []
    read_back = written_artifact.require_readable

    def timed(*args: Any, **kwargs: Any) -> None:
        start = time.perf_counter()
        read_back(*args, **kwargs)
        seconds.append(time.perf_counter() - start)

    with patch.object(written_artifact, "require_readable", timed):
        for _ in range(saves):
            own.save(folder / "ours.aot", weights="later")
    wb.package(
        case.model,
        (),
        dict(case.inputs),
        path=folder / "ours.pt2",
        weights="inside",
        capture="light",
    ).close()
    with torch.no_grad():
        compiled = torch_path.compile_module(case.model, case.inputs)
    aliases = torch_path.save(compiled, folder / "torch.bin")
    (folder / "aliases.json").write_text(json.dumps(aliases))
    with empty_caches() as variables:
        child(__name__, "save-artifacts", str(folder), variables=variables)
    return statistics.median(seconds)


def save_artifacts(folder: Path) -> int:
    """Write what torch keeps of one compilation for the caches of other machines; its bytes."""
    import torch

    case = gpt2()
    with torch.no_grad():
        torch.compile(case.model, fullgraph=True)(**case.inputs)
    found = torch.compiler.save_cache_artifacts()
    if found is None:
        raise RuntimeError("torch kept no artifacts of its compilation")
    return (folder / "artifacts.bin").write_bytes(found[0])


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
        elif way == "package":
            import workbench as wb

            found = wb.load(folder / "ours.pt2")(**case.inputs)
        elif way == "artifacts":
            torch.compiler.load_cache_artifacts((folder / "artifacts.bin").read_bytes())
            found = torch.compile(case.model, fullgraph=True)(**case.inputs)
        else:
            from tests.bench import torch_path

            aliases = json.loads((folder / "aliases.json").read_text())
            found = torch_path.load(folder / "torch.bin", aliases)(case.model, **case.inputs)
        seconds = time.perf_counter() - start
        difference = largest_difference(found, case.model(**case.inputs))
    return {"seconds": seconds, "difference": difference}


if __name__ == "__main__":
    way, place = sys.argv[1], Path(sys.argv[2])
    print(
        json.dumps(save_artifacts(place) if way == "save-artifacts" else measure_here(way, place))
    )
