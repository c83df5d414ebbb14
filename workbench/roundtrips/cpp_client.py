"""The way of a package through a program in C++: written, built, run and read."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.compiler.cpp_project.project import (
    INPUTS,
    Example,
    build,
    read_inputs,
    write_project,
)
from workbench.compiler.measuring.timing import LONGEST_S, WARM_CALLS
from workbench.compiler.package_calls.signature import build_outputs
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.shipping.shipped_values import unpack
from workbench.roundtrips.run_loader import REPEATS, flatten_plain

_PROGRAM = "latency"
_RESULTS = "results.pt"
_WEIGHTS = "weights.pt"


def run_client(order: Mapping[str, Any], outputs: Path) -> dict[str, Any]:
    """Build the client of a package, run it in a process of its own; see `run_loader`.

    Building is no part of its times. Raises `WorkbenchError` where it cannot be built, or fails.
    """
    file = Path(order["file"])
    manifest, model = _packed(file, order["model"])
    parcel = unpack(Path(order["inputs"]))
    inputs = read_inputs(model, parcel["args"], parcel["kwargs"])
    folder = outputs.parent / "project"
    write_project(folder, file, manifest, model, Example(inputs, ()))
    numbers = [str(REPEATS), str(WARM_CALLS), str(LONGEST_S)]
    words = [str(file), INPUTS, _RESULTS, *numbers]
    if not order["has_weights"]:
        original = unpack(Path(order["original"]))["call"]
        torch.save(dict(original.state_dict()), folder / _WEIGHTS)
        words.append(_WEIGHTS)
    answer = _run([str(build(folder, _PROGRAM)), *words], folder)
    results = folder / _RESULTS  # of our own program; lists of tensors and None
    returned, after = torch.load(results, weights_only=False)
    for before, now in zip(inputs, after, strict=True):
        if not torch.equal(before, now):  # it writes into this one
            before.copy_(now)
    leaves = flatten_plain(build_outputs(model)(list(returned)), (parcel["args"], parcel["kwargs"]))
    torch.save(leaves, outputs)
    return answer


def _packed(file: Path, name: str) -> tuple[PackageManifest, PackagedModel]:
    with open_any(file) as opened:
        manifest = None if opened.package is None else opened.package.manifest
    if manifest is None:
        raise UsageError(
            "The package holds no input contract: torch itself wrote it. Make it with wb.package."
        )
    model = manifest.model(name)
    if model.device.partition(":")[0] != "cpu":
        raise UsageError(
            f"Only CPU packages are timed in a C++ client, and this one is for {model.device}: "
            "its calls return before the device has finished."
        )
    if model.operators:
        raise UsageError(
            f"{model.name} uses the custom operators {', '.join(model.operators)}, so a C++ "
            "program has to be linked with their library: package.cpp_project(folder, "
            "libraries=[path])."
        )
    return manifest, model


def _run(command: Sequence[str], folder: Path) -> dict[str, Any]:
    """What the program says, as `run_loader` returns it."""
    began = time.perf_counter()  # the clock that the program reads too
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip() or f"it ended with {done.returncode}"
        raise WorkbenchError(f"The C++ program failed: {reason.removeprefix('error: ')}")
    answer = json.loads(done.stdout)
    moments = [began, *(answer[name] for name in ("started", "inputs", "loaded", "first_result"))]
    names = ("start", "inputs", "load", "first_call")
    stretches = list(zip(names, moments, moments[1:], strict=False))
    return {
        "stretches": stretches,
        "calls_s": answer["calls_s"],
        "peak_rss_bytes": answer["peak_rss_bytes"],
    }
