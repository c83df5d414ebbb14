"""Verified bytes made into something callable: no compiler, no probing, no child process."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ExtensionFileLoader
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex

from workbench.artifacts import container
from workbench.artifacts.manifest import Manifest
from workbench.artifacts.preflight import best_build, check_fits, current_machine
from workbench.artifacts.trust import TrustStore, check_trust
from workbench.compiler import torch_private as tp
from workbench.compiler.generated import KernelRequest, run_generated
from workbench.compiler.payload import resolve_place
from workbench.errors import ArtifactError
from workbench.report import Report
from workbench.report.storage import from_bytes

_DATA_PTR_VARIABLE = "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"


def thaw(
    payload: bytes,
    kernels: Mapping[str, Path],
    *,
    aliases: Mapping[str, str] | None = None,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
) -> Any:
    """Rebuild the compiled function that `freeze` took apart.

    Executes code from the payload: call it with bytes that were verified.

    Parameters
    ----------
    payload
        What torch wrote.
    kernels
        The file of each built C++ library by its key; they may be removed afterwards.
    aliases, f_globals
        Globals of the bytecode: places to import from, then objects that win over them.
    external_data
        The objects that were left out when saving, under the same names.
    """
    state = _read_payload(payload, dict(external_data or {}))
    scope = {name: resolve_place(place) for name, place in (aliases or {}).items()}
    scope.update(f_globals or {})
    state["compiled_fn"] = _thaw_callable(*state["compiled_fn"], _Libraries(kernels))
    artifacts = tp.AOT_COMPILE_ARTIFACTS.get()(**state)
    # our manifest has compared the versions; torch would also refuse another patch release
    artifacts.check_compatibility = lambda: None
    try:
        return tp.AOT_COMPILED_FUNCTION.get()(artifacts, _extra_globals=scope)
    finally:
        del artifacts.check_compatibility


def _read_payload(payload: bytes, external_data: dict[str, Any]) -> dict[str, Any]:
    code = tp.SERIALIZED_CODE.get().to_code_object
    state = tp.AOT_UNPICKLER.get()(external_data, io.BytesIO(payload)).load()
    env = state["runtime_env"]
    state["runtime_env"] = dataclasses.replace(env, bytecode=code(env.bytecode))
    state["original_code"] = code(state["original_code"])
    return dict(state)


class _Libraries:
    """Hands out the functions of built C++ libraries."""

    def __init__(self, files: Mapping[str, Path]):
        self._files = files

    def __call__(self, request: KernelRequest) -> Callable[..., Any]:
        file = self._files.get(request.key)
        if file is None:
            raise ArtifactError(
                "The artifact lacks one of its kernels, so it was not written by Compiled.save. "
                "Make it again on this machine: wb.recompile(path, module=model)."
            )
        # every library reads this address when it starts; it is a constant of the process
        os.environ[_DATA_PTR_VARIABLE] = str(tp.DATA_PTR_OF_TENSOR.get())
        name = f"{request.key}.{request.entry}"
        spec = importlib.util.spec_from_loader(name, ExtensionFileLoader(name, str(file)))
        if spec is None or spec.loader is None:
            raise ArtifactError(f"The kernel {file.name} cannot be loaded.")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function: Callable[..., Any] = getattr(module, request.entry)
        return function


def _thaw_callable(deserialize: Callable[[bytes], Any], data: bytes, libraries: _Libraries) -> Any:
    bundled = tp.BUNDLED_CALLABLE.find()
    with tp.INDUCTOR_CONFIG.get().patch(enable_autograd_for_aot=True):
        if bundled is None or getattr(deserialize, "__self__", None) is not bundled:
            return deserialize(data)
        entry = _BundleUnpickler(io.BytesIO(data)).entry()
        for part in (entry.compiled_fw, entry.compiled_bw):
            if getattr(getattr(part, "result", None), "source_code", None):
                part.post_compile = _starter(part, libraries)
        entry.__deepcopy__ = lambda _memo: _ToSaveAgain(data)
        return bundled(tp.DESERIALIZE_BUNDLE.get()(entry))


class _BundleUnpickler(pickle.Unpickler):
    """Reads AOTAutograd's entry without importing what only compiling needs."""

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}:{name}" == tp.SELECT_DECOMP_TABLE.target:
            return _decompositions
        return super().find_class(module, name)

    def entry(self) -> Any:
        """The entry; user Triton kernels are put into torch's side table."""
        bundle = self.load()
        if not isinstance(bundle, tuple):
            return bundle
        entry, kernels, constants = bundle
        if kernels or constants:
            table = tp.KERNEL_SIDE_TABLE.get()
            for index, place in kernels.items():
                kernel = tp.DESERIALIZE_TRITON_KERNEL.get()(place)
                table.id_to_kernel[index] = kernel
                table.kernel_to_id[kernel] = index
            table.constant_args.update(constants)
        return entry


def _decompositions(*args: Any, **kwargs: Any) -> Any:
    return tp.SELECT_DECOMP_TABLE.get()(*args, **kwargs)


class _ToSaveAgain:
    """The entry as it was stored, read when somebody saves the loaded function."""

    def __init__(self, data: bytes):
        self._data = data

    @cached_property
    def _entry(self) -> Any:
        bundle = pickle.loads(self._data)
        return bundle[0] if isinstance(bundle, tuple) else bundle

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._entry, name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self._entry.__reduce_ex__(protocol)


def _starter(part: Any, libraries: _Libraries) -> Callable[[Any, Any], Any]:
    """What torch calls to make a compiled graph callable, without its caches and its compiler."""

    def post_compile(graph: Any, fx_config: Any) -> Any:
        if bundle := getattr(graph, "_triton_bundle", None):
            tp.TRITON_BUNDLER.get().read_and_emit(bundle)
        constants = tp.GRAPH_CONSTANTS.get()()
        module = run_generated(
            graph.source_code, graph.cache_key, libraries, constants.unwrap(graph)
        )
        graph.current_callable = module.call
        graph.recursively_apply_fns = getattr(module, "recursively_apply_fns", None)
        graph.compiled_fn_runner = getattr(module, "runner", None)
        graph.compile_region_name = fx_config.get("compile_region_name")
        graph.post_compile(part.example_inputs, constants, fx_config)
        policy = getattr(tp.INDUCTOR_CONFIG.get(), "cudagraph_policy", None)
        started = _caller(graph) if policy is None else policy.wrap_output(graph)
        if hasattr(part, "backward_state_indices"):
            return tp.DISABLE.get()(started, reason="do not trace generated backwards pass")
        return started

    return post_compile


def _caller(graph: Any) -> Callable[[list[Any]], Any]:
    """Calls the graph without the bookkeeping of torch's caches, which a loaded one has not."""

    def run(inputs: list[Any]) -> Any:
        return graph.current_callable(inputs)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True)
class LoadedArtifact:
    """What a file gave: the compiled function, its manifest and its record."""

    callable: Any
    manifest: Manifest
    report: Report | None
    module: Any | None


def load_artifact(
    path: str | PathLike[str],
    *,
    module: Any | None = None,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
    trust: bool | str = False,
    store: TrustStore | None = None,
) -> LoadedArtifact:
    """Check, verify and thaw an `.aot` file; nothing of it runs before it is trusted.

    Raises `ArtifactError` when it is damaged or does not fit this machine, `TrustError` when
    nobody vouches for it.
    """
    name = os.fspath(path)
    with container.open_file(path) as file, container.private_folder() as folder:
        opened = container.read_artifact(file)
        manifest = opened.manifest
        machine = current_machine()
        check_fits(name, manifest, machine)
        check_trust(
            name,
            manifest.digest,
            trust=trust,
            store=store or TrustStore.of_user(),
            manifest=manifest,
        )
        files = opened.unpack(folder, _needed_members(manifest, machine.cpu_flags))
        kernels = {f.stem: f for n, f in files.items() if n.startswith("kernels/")}
        function = thaw(
            files[container.PAYLOAD].read_bytes(),
            kernels,
            aliases=manifest.aliases,
            external_data=external_data,
            f_globals=f_globals,
        )
        report = files.get(container.REPORT)
        record = from_bytes(report.read_bytes()) if report else None
    return LoadedArtifact(function, manifest, record, module)


def _needed_members(manifest: Manifest, flags: frozenset[str]) -> list[str]:
    build = best_build(manifest.builds, flags)
    prefix = f"kernels/{build.name}/" if build else "kernels//"
    return [
        name
        for name in manifest.members
        if name in (container.PAYLOAD, container.REPORT, container.SKELETON)
        or name.startswith(prefix)
    ]
