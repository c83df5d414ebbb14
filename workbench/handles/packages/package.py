"""A package in this process: called like the model that was compiled, from several threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.handles.packages.open_package import OpenPackage

if TYPE_CHECKING:  # imported when needed: a package starts in milliseconds
    from workbench.analysis.memory.memory import Memory
    from workbench.compiler.comparison.output_comparison import Verification
    from workbench.compiler.packaging.package_request import ModelRequest
    from workbench.tasks.progress_events import ProgressCallback

NO_KERNEL_TIMES = (
    "The kernels of a package are inside its library and cannot be timed one by one. Time whole "
    "calls with wb.roundtrip(package, args), or each kernel of the model with "
    "wb.profile(wb.aot_compile(model, args), args)."
)


class Package(OpenPackage):
    """Call the models of a `.pt2` file; `package` and `load` return this.

    A package with one model is called like that model; with several, call `package[name]`. If they
    are variants of one model, the first in `variants` that accepts the inputs runs. Every call is
    checked against the input contract, and its outputs do not require grad. As a context manager,
    it closes the package at the end. `originals` has the models that it was created from in this
    process, by name.

    Examples
    --------
    >>> digest = wb.package(f, (x,), path="f.pt2").digest
    >>> with wb.load("f.pt2", num_runners=2, trust=digest) as package:
    ...     torch.equal(package(x), f(x))
    True
    """

    @checked
    def verify(self, /, *args: Any, **kwargs: Any) -> Verification:
        """Compare with eager on these inputs; shorthand for `workbench.verify`."""
        from workbench.handles.packages.comparisons import verify_package

        return verify_package(self, args, kwargs)

    @checked
    def memory(self, model: str | None = None) -> Memory:
        """Count the live memory of a call at each step, and break down its peak; nothing runs.

        `model` selects one of several models. `.measure(*args)` of the result compares with the
        allocations of a call on the CPU. Raises `ArtifactError` if the file has no report.
        """
        from workbench.handles.packages.comparisons import read_package_memory

        return read_package_memory(self, model)

    @checked
    def profile(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `UsageError`: kernels inside a library cannot be timed one by one."""
        raise UsageError(NO_KERNEL_TIMES)

    @classmethod
    @checked
    def bucketed(
        cls,
        model: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        *,
        path: str | PathLike[str],
        dynamic_shapes: Any,
        sizes: Mapping[str, Sequence[int]],
        pad: Any = 0,
        split: str | None = None,
        harmless: bool = False,
        options: Mapping[str, Any] | None = None,
        mode: str | None = None,
        weights: str = "inside",
        capture: str = "full",
        progress: ProgressCallback | None = None,
    ) -> Package:
        """Compile a model for several fixed sizes of a dimension into one file, as one callable.

        A request runs in the smallest compiled size that holds it. Its inputs are padded at the end
        of each such dimension, and its outputs are cut to the request's own size. This requires
        that padding does not change the remaining results. Before anything is compiled, this is
        tested with the eager model, for the smallest request of each size. `load` returns the same
        callable.

        Parameters
        ----------
        model, args, kwargs, path
            As in `package`.
        dynamic_shapes
            As in `package`. Dims named in `sizes` are fixed to these sizes, others stay dynamic.
        sizes
            The sizes to compile by the name of a Dim, such as {"batch": [1, 4, 16]}. For several
            Dims, every combination is compiled.
        pad
            The padding value: a number, "repeat" for the last entry, or a mapping from an input,
            such as "x" or "batch['ids']", to one of these.
        split
            The Dim along which a request beyond the largest size is split into several calls, whose
            outputs are joined. Without it, such a request raises `ContractError`.
        harmless
            Assume without a test that padding (and splitting) changes nothing.
        options, mode, weights, capture, progress
            As in `package`. With weights "inside" or "beside", the file holds one copy for each
            size.

        Raises
        ------
        UsageError
            Padding changes the results, an output's size does not follow from the dimensions, or
            the request is invalid.
        CaptureError, ArtifactError
            As `package`.
        """
        from workbench.compiler.packaging.package_request import Buckets, ModelRequest
        from workbench.compiler.packaging.writing import write_bucketed
        from workbench.handles.packages.package_parts import open_package_parts

        request = ModelRequest(
            model,
            args,
            kwargs or {},
            dynamic_shapes=dynamic_shapes,
            options=options or {},
            mode=mode,
            weights=weights,
            capture=capture,
        )
        manifest = write_bucketed(request, path, Buckets(sizes, pad, split, harmless), progress)
        with open_package_parts(path, manifest.digest) as parts:
            package = cls(parts)
        package.originals.update(dict.fromkeys(package.names, model))
        return package

    @checked
    def cpp_project(
        self,
        folder: str | PathLike[str],
        args: tuple[Any, ...] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        libraries: Sequence[str | PathLike[str]] = (),
        overwrite: bool = False,
    ) -> Path:
        """Write a small CMake project that runs one model of the package from C++, without Python.

        The project contains a thread-safe client with the package's input check, an example, a
        benchmark, a small HTTP service, and a README with build instructions.

        Parameters
        ----------
        folder
            A new or empty folder.
        args, kwargs
            The inputs of the example, whose outputs are computed here. By default, tensors that fit
            the contract: random values, and zeros for integers.
        model
            The name of the model, if the package holds several.
        libraries
            Shared libraries that register the custom operators of the model; they are linked.
        overwrite
            Whether the files of an earlier project in the folder may be replaced.

        Raises
        ------
        UsageError
            The folder is not empty, the package has no contract (torch itself wrote it), or it
            calls a custom operator and no library is given.
        ContractError
            `args` do not fit the contract.
        """
        from workbench.compiler.cpp_project.project import project_of

        loaded = self[self.manifest.model(model).name]
        example = None if args is None else (args, kwargs or {})
        return project_of(
            folder,
            Path(self.path),
            self.manifest,
            loaded,
            example,
            libraries=libraries,
            overwrite=overwrite,
        )

    @checked
    def model_folder(
        self,
        folder: str | PathLike[str],
        server: str,
        *,
        name: str | None = None,
        model: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write a folder from which a model server serves one model in Python.

        It has a copy of the package, a configuration from its contract, and code that loads and
        calls it. Comments in the code name the server's requirements. Inputs are checked; the
        server returns a mismatch as an error with the workbench's message.

        Parameters
        ----------
        folder
            The parent of the model's folder: for Triton the model repository.
        server
            "triton" (Triton Inference Server, Python backend) or "torchserve" (TorchServe; the
            folder's README says how torch-model-archiver packs it).
        name
            The name of the model in the server. Default: the file's name.
        model
            The name of the model in the package, if the package holds several.
        overwrite
            Whether the files of an earlier folder of this name may be replaced.

        Raises
        ------
        UsageError
            The folder already exists, the package has no weights or no contract, or the server does
            not support a dtype.
        """
        from workbench.compiler.model_servers.folders import write_model_folder

        packed = self.manifest.model(model)
        return write_model_folder(
            folder, Path(self.path), self.manifest.digest, packed, server, name, overwrite=overwrite
        )


def make_package(
    requests: Sequence[ModelRequest],
    path: str | PathLike[str],
    *,
    variant: str | None,
    target: str,
    progress: ProgressCallback | None,
) -> Package:
    """Write a package, or a variant into one, and open it; see `workbench.package`."""
    from workbench.compiler.packaging.inductor_library import build
    from workbench.compiler.packaging.package_request import request_as_variant
    from workbench.compiler.packaging.writing import write_package, write_variant
    from workbench.compiler.request.compile_request import CompileOptions
    from workbench.handles.packages.package_parts import open_package_parts

    compile_library = build
    if target != "host":
        from workbench.compiler.virtual_gpu.packaged import for_gpu

        gpu = CompileOptions(target=target).gpu
        if gpu is None or len(requests) != 1:
            raise UsageError(
                f"target is {target!r}: a package takes 'host' (the device of the model's tensors) "
                "or, for one model, the name of a GPU in wb.targets()."
            )
        request, compile_library = for_gpu(requests[0], gpu, progress)
        requests = (request,)
    if variant is None:
        manifest = write_package(requests, path, progress=progress, build=compile_library)
    else:
        requests = (request_as_variant(requests, variant),)
        manifest = write_variant(requests[0], path, progress=progress, build=compile_library)
    with open_package_parts(path, manifest.digest, is_elsewhere=target != "host") as parts:
        package = Package(parts)
    package.originals.update({request.name: request.original for request in requests})
    return package
