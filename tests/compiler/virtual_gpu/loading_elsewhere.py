"""A program for a fresh process that believes to have a GPU: loads a file and says what happened.

    python -m tests.compiler.virtual_gpu.loading_elsewhere PATH TARGET TORCH HOW

TORCH is the release that torch claims to be, HOW "ours" or "torch" for torch's own loader.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.settings import Settings


def main(path: str, target: str, release: str, how: str) -> dict[str, object]:
    native_hooks.load_before_torch(Settings.from_environment())
    import torch

    torch.__version__ = torch.version.__version__ = release
    if "+cu" in release:
        torch.version.cuda = "13.0"
    import triton

    from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu
    from workbench.specs import Catalogue
    from workbench.specs.device import Device

    compiled: list[str] = []
    triton.knobs.compilation.listener = lambda *, src, cache_hit, **_: (
        None if cache_hit else compiled.append(src.name)
    )
    gpu = Device(Catalogue.built_in()[target])
    with enter_virtual_gpu(gpu, lambda choice, position: float(position)):
        (_ours if how == "ours" else _torchs)(path, gpu.spec, release)
    cache = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    found = [file.read_bytes() for kind in ("*.cubin", "*.hsaco") for file in cache.rglob(kind)]
    from hashlib import sha256

    digests = sorted({sha256(content).hexdigest() for content in found})
    return {"compiled": compiled, "binaries": digests}


def _ours(path: str, spec: object, release: str) -> None:
    from workbench.artifacts.machine.machine_description import GpuFacts, describe_current_machine
    from workbench.compiler.aot_files.loaded_artifact import load_artifact
    from workbench.compiler.aot_files.writing.serialized import serialize
    from workbench.specs import Gpu

    assert isinstance(spec, Gpu)
    is_amd = spec.vendor == "amd"
    machine = replace(
        describe_current_machine(),
        torch=release,
        cuda=None if is_amd else "13.0",
        hip="7.0" if is_amd else None,
        gpus=(GpuFacts(spec.device_name, spec.arch),),
        gpu=True,
    )
    loaded = load_artifact(path, machine=machine, trust=True)
    assert callable(loaded.callable)
    assert loaded.manifest is not None
    assert (
        serialize(loaded.callable).built_for == loaded.manifest.built_for
    )  # saved again as it was


def _torchs(path: str, spec: object, release: str) -> None:
    """Torch's own loader on torch's own bytes, its comparison of systems included."""
    from torch._dynamo.aot_compile import AOTCompiledFunction

    from workbench.artifacts.archive import aot_container
    from workbench.artifacts.archive.file_kinds import open_file

    with open_file(path) as file:
        payload = aot_container.read_artifact(file).raw(aot_container.PAYLOAD)
    assert callable(AOTCompiledFunction.deserialize(payload))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
