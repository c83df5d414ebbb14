"""How many of twenty models reach a result in a fresh process: our way and torch's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure, child, empty_caches

TOLERANCE = 1e-5
CONDITIONS = (
    "Twenty small transformers models. Saved by one process, loaded by another with empty "
    "caches. Torch's path has no fixes applied"
)


def figures(quick: bool = False) -> Iterator[Figure]:
    from tests.models import zoo

    names = tuple(zoo.BUILDERS)[: 3 if quick else None]
    worked = {}
    for way in ("ours", "torch"):
        with tempfile.TemporaryDirectory() as folder:
            worked[way] = sum(_works(way, name, Path(folder)) for name in names)
    failed = len(names) - worked["ours"]
    note = f"of {len(names)} models we load {worked['ours']}, torch's own path {worked['torch']}"
    name = "models lost from source to a result in a fresh process"
    yield Figure(name, failed, len(names) - worked["torch"], failed, 0, "count", note)


def _works(way: str, name: str, folder: Path) -> bool:
    """Whether one process can save the model and another gets eager's result from the file."""
    path = str(folder / f"{name}.{way}")
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor"}
    try:
        child(__name__, way, "save", name, path, variables=variables)
        with empty_caches() as fresh:
            return bool(child(__name__, way, "load", name, path, variables=fresh) <= TOLERANCE)
    except (RuntimeError, subprocess.TimeoutExpired):
        return False


def save_here(way: str, name: str, path: Path) -> bool:
    import torch

    import workbench as wb
    from tests.bench import torch_path
    from tests.models import zoo

    case = zoo.build(name)
    if way == "ours":
        wb.aot_compile(case.model, (), dict(case.inputs), grad=False).save(path, weights="later")
    else:
        with torch.no_grad():
            torch_path.compile_plainly(case.model, case.inputs).save_compiled_function(str(path))
    return True


def difference_here(way: str, name: str, path: Path) -> float:
    import torch

    from tests.agreement import largest_difference
    from tests.bench import torch_path
    from tests.models import loads, zoo

    if way == "ours":
        return loads.difference(name, str(path))
    case = zoo.build(name)
    with torch.no_grad():
        found = torch_path.load(path, {})(case.model, **case.inputs)
        return largest_difference(found, case.model(**case.inputs))


if __name__ == "__main__":
    way, step, name, path = sys.argv[1:]
    do = save_here if step == "save" else difference_here
    print(json.dumps(do(way, name, Path(path))))
