"""Verified bytes made into something callable: no compiler, no probing, no child process."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import io
import operator
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any, SupportsIndex

import workbench.load_steps as load_steps
from workbench.artifacts.archive.file_kinds import find_pickle_start
from workbench.artifacts.manifest.manifest import Build, BuiltFor
from workbench.compiler.aot_files.generated import (
    KernelRequest,
    PackedKernels,
    build_function,
    has_its_kernels,
    run_generated,
)
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.errors import ArtifactError
from workbench.settings import Settings


@contextmanager
def share_fake_mode(*, is_said: bool = True) -> Iterator[None]:
    """Read guards with one fake mode for all tensors.

    Torch 2.13 makes a mode for each tensor, and looks up the whole stack for each mode. It also
    puts guards into words with the lines of the program, unless nothing `is_said` of them. Both
    are a quarter of the time for a GPT-2 of six layers.
    """
    mode, kind = tp.FAKE_TENSOR_MODE.get()(), tp.FAKE_TENSOR.get()

    def read(_cls: type, meta: Any, device: Any, pytype: Any, keys: int, grad: Any) -> Any:
        key_set = type(tp.DISPATCH_KEYS.get()(meta)).from_raw_repr(keys)
        tensor = kind(mode, meta, device, pytype=pytype, dispatch_keys=key_set)
        tensor.grad = grad
        return tensor

    def without_lines(build: Callable[..., Any]) -> Callable[..., Any]:
        def built(manager: Any, guards: Any, *args: Any, **kwargs: Any) -> Any:
            for guard in guards:
                guard.user_stack = None
            return build(manager, guards, *args, **kwargs)

        return built

    with Patches() as patches:
        patches.wrap(tp.UNPICKLE_GUARDED_TENSOR, lambda _: read)
        if not is_said:
            patches.wrap(tp.BUILD_GUARDS, without_lines)
        yield


_CACHE_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
_CACHE_LOCK = threading.Lock()  # the variable belongs to the whole process
_DATA_PTR_VARIABLE = "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"


def deserialize(
    payload: bytes,
    libraries: Libraries,
    *,
    aliases: Mapping[str, str] | None = None,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
    check_release: bool = False,
) -> Any:
    """Rebuild the compiled function that `serialize` took apart.

    Executes code from the payload: call it with bytes that were verified.

    Parameters
    ----------
    payload
        What torch wrote.
    libraries
        Where the built C++ libraries are (their files may be removed afterwards), or what else
        makes the compiled graphs callable.
    aliases, f_globals
        Globals of the bytecode: places to import from, then objects that win over them.
    external_data
        The objects that were left out when saving, under the same names.
    check_release
        Let torch compare its own record of releases: for files without our manifest.
    """
    state = _read_payload(payload, dict(external_data or {}))
    scope = {name: resolve(place) for name, place in (aliases or {}).items()}
    scope.update(f_globals or {})
    by_torch, data = state["compiled_fn"]
    state["compiled_fn"] = _deserialize_callable(by_torch, data, libraries)
    if not libraries.guarded:
        state["guard_manager"] = object()
    artifacts = tp.AOT_COMPILE_ARTIFACTS.get()(**state)
    # reading back a guard on an imported module asks for a trace that is going on
    tracing = tp.TRACING.get()(tp.TRACING_CONTEXT.get()(None))
    fake_mode = share_fake_mode(is_said=libraries.started)
    with load_steps.step(load_steps.GUARDS), tracing, fake_mode:
        if check_release:
            return tp.AOT_COMPILED_FUNCTION.get()(artifacts, _extra_globals=scope)
        # our manifest has compared the releases; torch would also refuse another patch release
        artifacts.check_compatibility = lambda: None
        try:
            return tp.AOT_COMPILED_FUNCTION.get()(artifacts, _extra_globals=scope)
        finally:
            del artifacts.check_compatibility


@contextmanager
def ensure_writable_cache(folder: Path) -> Iterator[None]:
    """Let torch start where its cache folder cannot be made: importing it makes that folder.

    Only then is the folder another one while the block runs, for one thread at a time.
    """
    with _CACHE_LOCK:
        chosen = Settings.from_environment().inductor_cache
        if chosen is not None and not _can_be_made(Path(chosen)):
            os.environ[_CACHE_VARIABLE] = str(folder)
            try:
                yield
            finally:
                os.environ[_CACHE_VARIABLE] = chosen
            return
    yield


def _can_be_made(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _read_payload(payload: bytes, external_data: dict[str, Any]) -> dict[str, Any]:
    with load_steps.step(load_steps.IMPORTS):
        code = tp.SERIALIZED_CODE.get().to_code_object
        unpickler = tp.AOT_UNPICKLER.get()
    content = io.BytesIO(payload[find_pickle_start(payload) :])
    state = unpickler(external_data, content).load()
    env = state["runtime_env"]
    state["runtime_env"] = dataclasses.replace(env, bytecode=code(env.bytecode))
    state["original_code"] = code(state["original_code"])
    return dict(state)


@dataclasses.dataclass(frozen=True)
class KeptForSaving:
    """What a loaded function keeps for saving again, since its files are gone."""

    libraries: Mapping[str, bytes]
    build: Build | None
    built_for: BuiltFor | None = None


@dataclasses.dataclass(eq=False)
class Libraries:
    """Hands out the functions of built C++ libraries; when none are packed, torch compiles them.

    `guarded` says whether the guards are read too; what is never checked does without them. Not
    `started`, the graphs are read and not made callable.
    """

    files: Mapping[str, Path]
    build: Build | None
    packed: bool
    gpu: PackedKernels | None = None
    guarded: bool = True
    started: bool = True
    _contents: dict[str, bytes] = dataclasses.field(default_factory=dict)

    def kept(self) -> KeptForSaving:
        """What saving again needs."""
        return KeptForSaving(self._contents, self.build, self.gpu.built_for if self.gpu else None)

    def starter(self, part: Any) -> Callable[[Any, Any], Any]:
        """What torch calls to make a graph callable, without its caches and its compiler."""

        def post_compile(graph: Any, fx_config: Any) -> Any:
            if bundle := getattr(graph, "_triton_bundle", None):
                emitter = self.gpu.emit if self.gpu else tp.TRITON_BUNDLER.get().read_and_emit
                emitter(bundle)
            constants = tp.GRAPH_CONSTANTS.get()()
            module = run_generated(
                graph.source_code, graph.cache_key, self, constants.unwrap(graph), self.gpu
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

    def __call__(self, request: KernelRequest) -> Callable[..., Any]:
        """The function of one kernel."""
        file = self.files.get(request.key)
        if file is None and not self.packed:
            return build_function(request)  # type: ignore[no-any-return]
        if file is None:
            raise ArtifactError(
                "The artifact lacks a kernel, so Compiled.save did not write this file. "
                "Recompile it on this machine: wb.recompile(path, module=model)."
            )
        content = self._contents[request.key] = file.read_bytes()
        name = f"{request.key}.{request.entry}"
        with load_steps.step(load_steps.DLOPEN):
            return _started().function(content, file, name, request.entry)


class _Started:
    """The libraries of kernels that this process has started.

    Python never unloads an extension module. A server that loads a file again takes the functions
    that it has, else each load would leave five mappings of memory for each kernel.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._functions: dict[tuple[bytes, str], Callable[..., Any]] = {}

    def function(self, content: bytes, file: Path, name: str, entry: str) -> Callable[..., Any]:
        """The function in a file of this content."""
        key = hashlib.sha256(content).digest(), entry
        with self._lock:
            if key not in self._functions:
                self._functions[key] = _start_library(file, name, entry)
            return self._functions[key]


@cache
def _started() -> _Started:
    """Those of this process."""
    return _Started()


def _start_library(file: Path, name: str, entry: str) -> Callable[..., Any]:
    # every library reads this address when it starts; it is a constant of the process
    os.environ[_DATA_PTR_VARIABLE] = str(tp.DATA_PTR_OF_TENSOR.get())
    spec = importlib.util.spec_from_loader(name, ExtensionFileLoader(name, str(file)))
    if spec is None or spec.loader is None:
        raise ArtifactError(
            f"Python cannot load the kernel {file.name} of the artifact. Recompile it on this "
            "machine: wb.recompile(path)."
        )
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise ArtifactError(
            f"A kernel of the artifact cannot be loaded: {error}. If the temporary folder forbids "
            "execution, set TMPDIR to another one."
        ) from error
    function: Callable[..., Any] = getattr(module, entry)
    return function


def _deserialize_callable(
    by_torch: Callable[[bytes], Any], data: bytes, libraries: Libraries
) -> Any:
    bundled: Any = getattr(by_torch, "__self__", None)
    with tp.INDUCTOR_CONFIG.get().patch(enable_autograd_for_aot=True):
        is_bundled = bundled is not None and bundled is tp.BUNDLED_CALLABLE.find()
        if not is_bundled:
            return by_torch(data)
        if not libraries.started:
            return BundleUnpickler(io.BytesIO(data)).load()
        entry = BundleUnpickler(io.BytesIO(data)).entry()
        for part in (entry.compiled_fw, entry.compiled_bw):
            if getattr(getattr(part, "result", None), "source_code", None):
                part.post_compile = libraries.starter(part)
        entry.__deepcopy__ = lambda _memo: _ToSaveAgain(data)
        function = bundled(tp.DESERIALIZE_BUNDLE.get()(entry))
        if libraries.packed:
            function.kept = libraries.kept()
        return function


class BundleUnpickler(pickle.Unpickler):
    """Reads AOTAutograd's entry without importing what only compiling needs."""

    def find_class(self, module: str, name: str) -> Any:
        """The object of this name."""
        if f"{module}:{name}" == tp.SELECT_DECOMP_TABLE.target:
            return _decompositions
        return super().find_class(module, name)

    def entry(self) -> Any:
        """The entry; user Triton kernels that it needs are put into torch's side table.

        Raises `ArtifactError` where another kernel of this process has the number of one of them.
        """
        bundle = self.load()
        if not isinstance(bundle, tuple):
            return bundle
        entry, kernels, constants = bundle
        if (kernels or constants) and not has_its_kernels(entry):
            self._keep(kernels, constants)
        return entry

    def _keep(self, kernels: Mapping[int, tuple[str, str]], constants: Mapping[int, Any]) -> None:
        with tp.COMPILE_LOCK.get():
            table = tp.KERNEL_SIDE_TABLE.get()
            for index, place in kernels.items():
                kernel = tp.DESERIALIZE_TRITON_KERNEL.get()(place)
                if table.id_to_kernel.get(index, kernel) is not kernel:
                    raise ArtifactError(
                        f"The file needs the Triton kernel {place[1]} at index {index}, but this "
                        "process has a different kernel there. Load the file before compiling "
                        "anything."
                    )
                table.id_to_kernel[index] = kernel
                table.kernel_to_id[kernel] = index
            for index, arguments in constants.items():
                if table.constant_args.get(index, arguments) != arguments:
                    raise ArtifactError(
                        f"The file needs the constants of a Triton kernel at index {index}, but "
                        "this process has different ones there. Load the file before compiling "
                        "anything."
                    )
                table.constant_args[index] = arguments


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

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._entry)  # pickle compares it with what __reduce_ex__ names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self._entry.__reduce_ex__(protocol)


def _caller(graph: Any) -> Callable[[list[Any]], Any]:
    """Calls the graph without the bookkeeping of torch's caches, which a loaded one has not."""

    def run(inputs: list[Any]) -> Any:
        return graph.current_callable(inputs)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


# classes of `__main__`

_MAIN_LOCK = threading.RLock()  # `__main__` belongs to the whole process


@contextmanager
def place_classes_in_main(
    module: Any | None,
    f_globals: Mapping[str, Any] | None = None,
    stored: Iterable[type] = (),
) -> Iterator[None]:
    """Let `__main__.Model` in a pickle be found, wherever that class is defined here.

    The classes are those in the tree of `module` and those among `f_globals`. Those that were
    `stored` with a module hide a class of the same name that this program has: a script that is
    run again defines its classes anew, and guards ask for the class that the module has.
    """
    main = sys.modules["__main__"]
    parts = getattr(module, "modules", None)
    classes = {type(part).__qualname__: type(part) for part in parts()} if callable(parts) else {}
    classes |= {n: v for n, v in (f_globals or {}).items() if isinstance(v, type)}
    places: list[tuple[Any, str, type]] = [
        (main, name, kind) for name, kind in classes.items() if name not in vars(main)
    ]
    for kind in (kind for kind in stored if kind.__module__ == "__main__"):
        outer, _, name = kind.__qualname__.rpartition(".")
        with suppress(AttributeError):  # one that a function made has no place
            places.append((operator.attrgetter(outer)(main) if outer else main, name, kind))
    with _MAIN_LOCK, ExitStack() as stack:
        for holder, name, kind in places:
            if name.isidentifier():
                stack.enter_context(_attribute(holder, name, kind))
        yield


@contextmanager
def _attribute(holder: Any, name: str, value: Any) -> Iterator[None]:
    before = vars(holder).get(name, _attribute)
    setattr(holder, name, value)
    try:
        yield
    finally:
        if before is _attribute:
            delattr(holder, name)
        else:
            setattr(holder, name, before)
