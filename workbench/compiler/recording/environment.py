"""Where a compilation runs: versions, processor, threads, the environment variables that matter."""

from __future__ import annotations

import contextlib
import os
import platform
from importlib import metadata

from workbench import __version__
from workbench.compiler.internals import torch_private as tp
from workbench.report import Environment

_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "CC",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "TORCHDYNAMO_DISABLE",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "TORCHINDUCTOR_CPP_WRAPPER",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    "TORCHINDUCTOR_FREEZING",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_COMPILE_DISABLE",
    "TRITON_INTERPRET",
)
"""The environment variables that a report may hold; no other is ever recorded."""


def environment() -> Environment:
    """The record of this process; starts no compiler and probes nothing."""
    import torch

    isa = tp.CPU_CAPABILITY.find()  # what the processor offers; what kernels use is in their source
    return Environment(
        workbench=__version__,
        python=platform.python_version(),
        torch=torch.__version__,
        triton=_version("triton"),
        platform=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
        isa="" if isa is None else str(isa()),
        cores=os.cpu_count() or 0,
        threads=torch.get_num_threads(),
        variables=tuple((k, os.environ[k]) for k in _VARIABLES if k in os.environ),
    )


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
