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
    """A callable `.pt2` package, as returned by `package` and `load`.

    Call a package with one model like that model. If it has several models, call `package[name]`.
    If these are variants of one model, the first in `variants` that accepts the inputs runs. Every
    call is checked against the input contract, and outputs do not require grad. A `with` block
    closes the package on exit. `originals` maps names to the models that the package was created
    from in this process.

    Examples
    --------
    >>> digest = wb.package(f, (x,), path="f.pt2").digest
    >>> with wb.load("f.pt2", num_runners=2, trust=digest) as package:
    ...     torch.equal(package(x), f(x))
    True
    """

    @checked
    def verify(self, /, *args: Any, **kwargs: Any) -> Verification:
        """Compare the outputs with eager on these inputs; shorthand for `workbench.verify`."""
        from workbench.handles.packages.comparisons import verify_package

        return verify_package(self, args, kwargs)

    @checked
    def memory(self, model: str | None = None) -> Memory:
        """Count the live memory at each step of a call, without running it, and analyse the peak.

        `model` selects one of several models. On the result, `.measure(*args)` compares the count
        with the actual allocations of a call on the CPU. Raises `ArtifactError` if the file has no
        report.
        """
        from workbench.handles.packages.comparisons import read_package_memory

        return read_package_memory(self, model)

    @checked
    def profile(self, /, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `UsageError`: the kernels in a compiled library cannot be timed separately."""
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
        """Compile a model for several fixed sizes of a dimension, into one file and one callable.

        Each call runs at the smallest compiled size that fits. Inputs are padded at the end of each
        bucketed dimension, and outputs are cut back to the original size. Padding must not change
        the other results. This is tested in eager before compilation, with the smallest request for
        each size. `load` returns the same callable.

        Parameters
        ----------
        model, args, kwargs, path
            See `package`.
        dynamic_shapes
            See `package`. The Dims named in `sizes` are fixed to these sizes; the others stay
            dynamic.
        sizes
            A mapping from the name of a Dim to the sizes to compile, such as {"batch": [1, 4, 16]}.
            For several Dims, every combination is compiled.
        pad
            The padding value: a number, "repeat" to repeat the last entry, or a mapping from
            inputs, such as "x" or "batch['ids']", to one of these.
        split
            The Dim along which requests above the largest size are split into several calls. Their
            outputs are concatenated. If None, such requests raise `ContractError`.
        harmless
            Skip the test, and assume that padding and splitting do not change the results.
        options, mode, weights, capture, progress
            See `package`. With weights "inside" or "beside", the file holds a copy for each size.

        Raises
        ------
        UsageError
            Padding changes the results, an output size cannot be derived from the Dims, or an
            argument is invalid.
        CaptureError, ArtifactError
            See `package`.
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
        """Write a small CMake project that runs one model of the package in C++ without Python.

        The project contains a thread-safe client with the package's input checks, an example, a
        benchmark, a small HTTP server, and a README with build instructions.

        Parameters
        ----------
        folder
            The output folder, which must be new or empty.
        args, kwargs
            Inputs for the example. The expected outputs are computed in this process. Defaults to
            tensors that fit the contract: random floating-point values, and zeros for integers.
        model
            The name of the model, if the package holds several.
        libraries
            Shared libraries to link, which register the model's custom operators.
        overwrite
            Whether to replace the files of an existing project in the folder.

        Raises
        ------
        UsageError
            The folder is not empty, the package has no contract because torch wrote it, or it calls
            a custom operator and `libraries` is empty.
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
        """Write a folder from which a model server can serve one model in Python.

        The folder contains a copy of the package, a configuration derived from its contract, and
        code that loads and calls it. Comments in the code list the server's requirements. Inputs
        are checked, and the server responds to a mismatch with the workbench's error message.

        Parameters
        ----------
        folder
            The parent folder. For Triton, this is the model repository.
        server
            "triton" for Triton Inference Server with its Python backend, or "torchserve" for
            TorchServe. For TorchServe, the folder's README has the torch-model-archiver command.
        name
            The model name on the server. Defaults to the file name.
        model
            The name of the model in the package, if it holds several.
        overwrite
            Whether to replace the files of an existing folder with this name.

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
    """Write a package, or add a variant to one, and open it; see `workbench.package`."""
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
