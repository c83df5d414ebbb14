"""The environment variables of the workers for virtual GPUs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from workbench.settings import Settings


def worker_variables() -> dict[str, str]:
    """The environment of the worker: our import path, caches of its own, no other device.

    What was compiled for a virtual GPU must not answer for a real one of the same name.
    """
    settings = Settings.from_environment()
    hidden = {"TRITON_INTERPRET", "TRITON_CACHE_DIR", "TORCHINDUCTOR_FORCE_DISABLE_CACHES"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    base = Path(settings.inductor_cache or settings.cache_folder) / "virtual_gpu" / "inductor"
    return kept | {
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "TORCHINDUCTOR_CACHE_DIR": str(base),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of processes that look for a device
        "CUDA_VISIBLE_DEVICES": "",
        "HIP_VISIBLE_DEVICES": "",
    }
