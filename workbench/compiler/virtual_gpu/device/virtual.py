"""A virtual GPU: torch's and Triton's real compilers run for it.

Kernels are compiled and never loaded; nothing is timed.
"""

from __future__ import annotations

import ast
import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import find_hint_symbols, match_rblock_rule
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.machine_code.code_readers import read_usage
from workbench.compiler.process_groups.cluster import find_cluster
from workbench.compiler.recording.runtime_estimators import answer_timings
from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.compiler.virtual_gpu.device.fake_cuda_api import drive, patch_cuda_api
from workbench.compiler.virtual_gpu.device.padding import deciding
from workbench.compiler.virtual_gpu.device.template_model import build_ranking
from workbench.errors import TorchNameMissing
from workbench.specs import Gpu
from workbench.specs.device import Device

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_CUDA, _META = 1, 14  # c10/core/DeviceType.h
_SLOTS = 21
_TRITON_FOLDER = "TRITON_CACHE_DIR"
Rank = Callable[[Any, int], float]
"""A choice of the autotuner and its position → the time in ms that a model gives it."""
OPTIONS = {
    "compile_threads": 1,  # Inductor's own workers would look for a device
    "benchmark_epilogue_fusion": False,  # would time kernels
    "autotune_in_subproc": False,  # would start processes that look for a device
}
_NEEDED = (tp.SHOULD_PAD, tp.PADDED_LENGTH, tp.PAD_ALIGNMENT, tp.PAD_IS_FREE, tp.IS_COMPUTE_BOUND)


def _guard_with_nothing(process_patches: ProcessPatches) -> None:
    """Guard the device by the hooks' own guard where they are loaded, else by that of meta.

    Indexing, modules made on the device and autograd ask for the C++ guard, which a build without
    CUDA lacks. That of meta is enough for everything but autograd, which needs the hooks.
    """
    slots = _slots()
    process_patches.callback(slots.__setitem__, _CUDA, slots[_CUDA])
    own = native_hooks.guard()
    slots[_CUDA] = slots[_META] if own is None else own


def _keep_constants(process_patches: ProcessPatches) -> None:
    """Have constants that a function makes on the device lie on the CPU while it is captured.

    Torch computes those of one element or none, as `torch.tensor(1.0, device="cuda")`, at once,
    and Inductor makes the zero that a product with 0 becomes.
    """
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    process_patches.callback(library._destroy)

    def empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> torch.Tensor:
        return torch.empty_strided(size, stride, dtype=dtype)

    def empty(size: Any, *, dtype: Any = None, **_: Any) -> torch.Tensor:
        return torch.empty(size, dtype=dtype)

    library.impl("empty_strided", empty_strided, "CUDA")
    library.impl("empty.memory_format", empty, "CUDA")


def _slots() -> ctypes.Array[ctypes.c_void_p]:
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        return (ctypes.c_void_p * _SLOTS).in_dll(ctypes.CDLL(str(library)), _REGISTRY)
    except (OSError, ValueError) as error:
        raise TorchNameMissing(
            f"torch {torch.__version__} has no c10::impl::device_guard_impl_registry, which a "
            "virtual GPU needs. Use torch 2.11 to 2.15, which were tested, or report an issue."
        ) from error


@contextmanager
def enter_virtual_gpu(
    gpu: Device, rank: Rank | None = None, count: int = 1
) -> Iterator[EarlyKernels]:
    """Make this process believe that its only CUDA devices are `count` of `gpu`, until it is left.

    Everything can be compiled for it and nothing can run on it. It holds for the whole process
    and all its threads: enter it in a worker, not beside a user's work. Templates are chosen by
    `rank`, else by a model. What it gives compiles kernels in threads of its own.
    """
    with ProcessPatches() as process_patches:
        _forget()
        process_patches.callback(_forget)
        patch_cuda_api(gpu, process_patches, count)
        drive(gpu, process_patches)
        early = compile_offline(process_patches, gpu, rank or build_ranking(gpu.spec))
        _guard_with_nothing(process_patches)
        _keep_constants(process_patches)
        schedule = tp.SCHEDULE_OVERLAP.get() if tp.ESTIMATE_NODE.find() and find_cluster() else None
        if schedule is not None:  # torch 2.11 asks in another form
            process_patches.name(tp.SCHEDULE_OVERLAP, _scheduling(schedule, gpu.spec))
        # attention kernels are chosen by the device: the hooks know how, torch for the CPU does not
        capability = gpu.spec.major * 10 + gpu.spec.minor
        if native_hooks.choose_attention(capability, has_aotriton=bool(gpu.kind.attention)):
            process_patches.callback(partial(native_hooks.choose_attention, 0, has_aotriton=False))
        process_patches.callback(partial(_name_cache_folder, os.environ.get(_TRITON_FOLDER)))
        yield early


def _forget() -> None:
    """Empty every cache of answers about the device."""
    for row in tp.DEVICE_CACHES:
        clear = getattr(row.find(), "cache_clear", None)
        if clear is not None:
            clear()


def _name_cache_folder(folder: str | None) -> None:
    """As it was before Inductor's first Triton kernel, which names one for all that follow."""
    os.environ.pop(_TRITON_FOLDER, None)
    if folder is not None:
        os.environ[_TRITON_FOLDER] = folder


def has_known_question() -> bool:
    """Whether this torch asks in the form that is known here."""
    return all(row.find() is not None for row in _NEEDED) and find_hint_symbols() is not None


def has_known_rule() -> bool:
    """Whether this torch has the rule in the form that is known here."""
    return tp.SCALE_RBLOCK.find() is not None


def add_dynamic_rblock(tuner: Any, gpu: Device) -> None:
    """Have Inductor compile what its rule adds to a looped reduction that registers limit.

    Call it once for each tuner, after it compiled. Inductor applies the rule to the registers that
    the driver names once a kernel is loaded; they are in the machine code too.
    """
    if not has_known_rule() or not match_rblock_rule(tuner):
        return
    kernels = [result.kernel for result in tuner.compile_results]
    for kernel in kernels:
        kernel.n_regs = read_usage(kernel, gpu).get("registers")
    try:
        tuner._dynamic_scale_rblock()
    finally:
        for kernel in kernels:
            vars(kernel).pop("n_regs", None)  # the driver of a real device sets it


def compile_offline(process_patches: ProcessPatches, gpu: Device, rank: Rank) -> EarlyKernels:
    """Have Inductor compile every kernel for `gpu` and choose templates by `rank`.

    Returns what starts to compile the kernels while the program is still being generated.
    """
    early = EarlyKernels(lambda tuner: tuner.precompile())
    process_patches.name(tp.AUTOTUNER_PRECOMPILE, _precompiling(gpu, early))
    process_patches.name(tp.MAKE_LAUNCHERS, lambda self: None)
    process_patches.name(tp.MAKE_BENCHMARK_FN, classmethod(_ranking(rank)))
    process_patches.name(tp.AUTOTUNE_LOOKUP, _rank_anew)
    process_patches.name(tp.TEMPLATE_PRECOMPILE, lambda self: None)
    process_patches.name(tp.SAME_CONSTANT, _same_constant(tp.SAME_CONSTANT.get()))
    process_patches.name(tp.UNIFORM_VALUE, _on_cpu(tp.UNIFORM_VALUE.get()))
    options = dict(OPTIONS)
    if has_known_question():
        process_patches.name(tp.SHOULD_PAD, deciding(gpu.spec))
    else:
        options["shape_padding"] = False  # would allocate and time matrices
    config = tp.INDUCTOR_CONFIG.get()
    present = {name: value for name, value in options.items() if hasattr(config, name)}
    process_patches.enter_context(config.patch(present))
    early.install(process_patches)
    return early


def _same_constant(inner: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Tell constants apart by identity where they have no data.

    Inductor merges those at one address, and all fakes are at none.
    """
    fake = tp.FAKE_TENSOR.get()

    def is_same(a: Any, b: Any) -> bool:
        return a is b if isinstance(a, fake) or isinstance(b, fake) else inner(a, b)

    return is_same


def _precompiling(gpu: Device, early: EarlyKernels) -> Callable[..., None]:
    def precompile(
        self: Any,
        warm_cache_only: bool = False,
        reload_kernel: Callable[[], Any] | None = None,
        static_triton_bundle_key: str | None = None,
    ) -> None:
        """`CachingAutotuner.precompile` up to where it would load the kernel on the device."""
        if reload_kernel is not None:
            self._reload_kernel = reload_kernel
        if threading.get_ident() in early.threads or not early.finished(self):
            is_new = not self.compile_results
            self._precompile_worker()
            if is_new:
                add_dynamic_rblock(self, gpu)  # before it is packed: nothing is added at load
        if static_triton_bundle_key is not None and self.is_statically_launchable():
            tp.TRITON_BUNDLER.get().put_static_autotuner(static_triton_bundle_key, self)

    return precompile


def _ranking(rank: Rank) -> Callable[..., Any]:
    def make_benchmark_fn(cls: Any, choices: Sequence[Any], *_: Any, **__: Any) -> Any:
        return lambda ranked: {choice: rank(choice, n) for n, choice in enumerate(ranked)}

    return make_benchmark_fn


def _rank_anew(
    self: Any,
    choices: Any,
    op: str,
    inputs: str,
    benchmark: Callable[[Any], dict[Any, float]] | None,
    *_: Any,
    **__: Any,
) -> dict[Any, float]:
    """Neither read nor write the cache on disk: a real device would take its times for its own."""
    return {} if benchmark is None else benchmark(choices)


def _scheduling(schedule: Callable[..., Any], gpu: Gpu) -> Callable[..., Any]:
    """Order collectives by modelled times, where torch would take those of the device.

    It times products, and collectives where that is asked for. What it reckons by a formula of its
    own, it does as on a device that is there.
    """

    def scheduled(module: Any, *args: Any, **kwargs: Any) -> Any:
        estimators = {"compute_estimator": "benchmark", "collective_estimator": "analytical"}
        estimators = {name: kwargs.get(name, default) for name, default in estimators.items()}
        timed = [name for name, way in estimators.items() if way == "benchmark"]
        cluster = find_cluster()
        if timed and cluster is not None and not tp.INDUCTOR_CONFIG.get().deterministic:
            kwargs |= dict.fromkeys(timed, "analytical")
            kwargs["custom_runtime_estimation"] = answer_timings(
                gpu,
                cluster,
                of_compute="compute_estimator" in timed,
                of_collectives="collective_estimator" in timed,
                given=kwargs.get("custom_runtime_estimation"),
            )
        return schedule(module, *args, **kwargs)

    return scheduled


def _on_cpu(deduce: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Constant folding that computes on the CPU, as upstream means to do itself.

    The folder runs operators of one element on the device of the node.
    """
    device_put = torch.ops.prims.device_put.default

    def deduce_value(self: Any, node: Any) -> Any:
        if node.target is device_put:
            return self.env[node.args[0]]
        if node.op != "call_function" or "device" not in node.kwargs:
            return deduce(self, node)
        arguments = node.kwargs
        node.kwargs = {**arguments, "device": torch.device("cpu")}
        try:
            return deduce(self, node)
        finally:
            node.kwargs = arguments

    return deduce_value


_MOST_THREADS = 4  # what is Python in a compilation takes turns
Compile = Callable[[Any], None]
"""Compiles the configurations of a tuner of Inductor, which keeps them."""


class EarlyKernels:
    """Starts to compile each kernel when its source is known, in threads.

    Inductor would compile them one after the other when it loads the program; MLIR, LLVM and the
    assembler do not hold Python's lock. Results are the same: each kernel is compiled on its own,
    and the tuner that is compiled is the one that the program finds.
    """

    def __init__(self, compile: Compile):
        self._compile = compile
        self._started: dict[int, tuple[Any, Future[None]]] = {}
        self._pool, self.threads = _started(min(_MOST_THREADS, os.cpu_count() or 1))

    def install(self, process_patches: ProcessPatches) -> None:
        """Watch the definitions of kernels until the patches are undone."""
        inner = tp.DEFINE_KERNEL.get()

        def define_kernel(wrapper: Any, name: str, body: str, *args: Any, **kwargs: Any) -> Any:
            self._start(body)
            return inner(wrapper, name, body, *args, **kwargs)

        process_patches.name(tp.DEFINE_KERNEL, define_kernel)
        process_patches.callback(self._pool.shutdown, wait=True, cancel_futures=True)

    def finished(self, tuner: Any) -> bool:
        """Wait for a tuner that was started; False for one that was not.

        Raises what compiling it raised.
        """
        _, future = self._started.pop(id(tuner), (None, None))
        if future is None:
            return False
        future.result()
        return True

    def _start(self, body: str) -> None:
        named = _triton_source(body)
        if named is None or _names_libdevice():
            return
        tp.SET_PTXAS_PATH.get()()  # as Inductor does before a kernel
        name, source = named
        tuner = getattr(tp.PY_CODE_CACHE.get().load(source), name)
        if tuner.compile_results or id(tuner) in self._started:
            return
        task = self._pool.submit(copy_context().run, self._compile, tuner)
        self._started[id(tuner)] = tuner, task


def _started(count: int) -> tuple[ThreadPoolExecutor, frozenset[int]]:
    """A pool all of whose threads run, with their identifiers."""
    identifiers: set[int] = set()
    meeting = threading.Barrier(count)

    def arrive() -> None:
        identifiers.add(threading.get_ident())
        meeting.wait()

    pool = ThreadPoolExecutor(count, initializer=arrive)
    for started in [pool.submit(int) for _ in range(count)]:
        started.result()
    return pool, frozenset(identifiers)


def _triton_source(body: str) -> tuple[str, str] | None:
    """Name and source in the definition of a Triton kernel; None for one in another language."""
    if not body.lstrip().startswith("async_compile.triton("):
        return None
    call = ast.parse(body.strip(), mode="eval").body
    values = [a.value for a in getattr(call, "args", ()) if isinstance(a, ast.Constant)]
    match values:
        case [str(name), str(source)]:
            return name, source
    return None


def _names_libdevice() -> bool:
    """Whether Inductor chooses another mathematical library just before it compiles a kernel."""
    config = tp.INDUCTOR_CONFIG.get()
    eager = getattr(config, "eager_numerics", None)
    return bool(config.emulate_precision_casts or getattr(eager, "use_pytorch_libdevice", False))
