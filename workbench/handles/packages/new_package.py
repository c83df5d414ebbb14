"""From requests to a package: compiled here or for a virtual GPU, written, opened."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from workbench.compiler.packaging.inductor_library import build
from workbench.compiler.packaging.package_request import ModelRequest, request_as_variant
from workbench.compiler.packaging.writing import write_package, write_variant
from workbench.compiler.request.compile_request import CompileOptions
from workbench.errors import UsageError
from workbench.handles.load_package import load_package
from workbench.handles.package import Package
from workbench.tasks.progress import ProgressCallback

HOST = "host"


def make_package(
    requests: Sequence[ModelRequest],
    path: str | PathLike[str],
    *,
    variant: str | None,
    target: str,
    progress: ProgressCallback | None,
) -> Package:
    """Write a package, or a variant into one, and open it; see `workbench.package`."""
    compile_library = build
    if target != HOST:
        from workbench.compiler.virtual_gpu.packaged import for_gpu

        gpu = CompileOptions(target=target).gpu
        if gpu is None or len(requests) != 1:
            raise UsageError(
                f"target is {target!r}: a package takes 'host', which is where the model's tensors "
                "are, or for one model the name of a GPU in wb.targets()."
            )
        request, compile_library = for_gpu(requests[0], gpu, progress)
        requests = (request,)
    if variant is None:
        manifest = write_package(requests, path, progress=progress, build=compile_library)
    else:
        requests = (request_as_variant(requests, variant),)
        manifest = write_variant(requests[0], path, progress=progress, build=compile_library)
    made = load_package(path, trust=manifest.digest, is_elsewhere=target != HOST)
    made.originals.update({request.name: request.original for request in requests})
    return made
