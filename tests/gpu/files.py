"""Files that were made without the device, on the device: `python -m tests.gpu.files`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import workbench as wb
from tests.gpu.figures import print_figure, print_rows, print_unchecked, run_steps
from tests.gpu.loading import Loaded
from tests.gpu.models import MODELS, Model
from tests.gpu.parts import ROOT
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import compile_for_gpu
from workbench.handles.devices.local_gpu import describe_local_gpu
from workbench.specs import Gpu

_LONGEST_S = 120
Compile = Callable[[Model], Any]


def for_virtual(gpu: Gpu, worker: CrossCompiler) -> Compile:
    """Compiles a model in a process that has no device."""

    def compile_(model: Model) -> Any:
        module, x = model.made()
        options = CompileOptions(target=gpu.name, grad=model.trains)
        return compile_for_gpu(CompileRequest(module, (x,), options=options), gpu, worker=worker)

    return compile_


def save_all(folder: Path, compile_: Compile, names: Sequence[str], machine: Any = None) -> None:
    """A file for each model, without weights where it is trained."""
    for name in names:
        compiled, weights = compile_(MODELS[name]), None if MODELS[name].trains else "inside"
        settings = {} if machine is None else {"machine": machine}
        compiled.save(folder / f"{name}.aot", weights=weights, **settings)


def loaded_elsewhere(folder: Path, device: str) -> list[Loaded]:
    """What a fresh process with empty caches says of the files."""
    variables = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "caches"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # a pool's compilations would not be counted
    }
    command = [sys.executable, "-m", "tests.gpu.loading", str(folder), device]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=_LONGEST_S
    )
    if done.returncode:
        raise RuntimeError(f"the loading process failed: {done.stderr.strip().splitlines()[-1:]}")
    rows = json.loads(done.stdout.splitlines()[-1])
    return [Loaded(**{**row, "compiled": tuple(row["compiled"])}) for row in rows]


def tell(rows: Sequence[Loaded], wanted: int) -> None:
    """Print how many files run as eager does, and what was compiled for them."""
    print_rows("loaded files", (vars(row) for row in rows))
    ran = [row for row in rows if not row.failure]
    name = "kernels compiled by Triton while files are loaded and called"
    if not ran:
        print_unchecked(name, f"no file could be loaded: {[row.failure for row in rows]}")
    else:
        kernels = [f"{row.model}: {', '.join(row.compiled)}" for row in ran if row.compiled]
        print_figure(
            name,
            sum(len(row.compiled) for row in ran),
            "kernels",
            reach=0,
            note="; ".join(kernels) or f"{len(ran)} files",
        )
    for kind, trains in (("inference", False), ("training", True)):
        agree = [row.model for row in ran if row.agrees and row.trains == trains]
        print_figure(
            f"files for {kind} that match eager",
            len(agree),
            "files",
            reach=sum(MODELS[row.model].trains == trains for row in rows),
            rule=">=",
            note=f"{', '.join(agree)} ({wanted} models in total)",
        )
    if ran:
        slowest = max(ran, key=lambda row: row.load_s)
        print_figure("longest time to load a file", slowest.load_s, "s", note=slowest.model)


def check_files(device: str, names: Sequence[str] = tuple(MODELS)) -> None:
    """Make the files in a process without the device, load them in another that has it."""
    gpu = describe_local_gpu()[0].spec
    worker = CrossCompiler(start_s=60, job_s=60)
    with TemporaryDirectory() as folder:
        try:
            save_all(Path(folder), for_virtual(gpu, worker), names, wb.machine())
        finally:
            worker.close()
        tell(loaded_elsewhere(Path(folder), device), len(names))


def main(device: str = "cuda") -> int:
    """Every model as a file."""
    return run_steps({"files": lambda: check_files(device)})


if __name__ == "__main__":
    sys.exit(main())
