"""Inductor without a device: kernels are compiled and never loaded, nothing is timed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import match_rblock_rule
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.machine_code.code_readers import read_amd_usage
from workbench.compiler.machine_code.cubin_tools import read_cubin_usage
from workbench.compiler.machine_code.device import Device
from workbench.compiler.virtual_gpu.device.early_kernels import EarlyKernels
from workbench.compiler.virtual_gpu.device.padding import deciding, has_known_question


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
        kernel.n_regs = _registers(kernel, gpu)
    try:
        tuner._dynamic_scale_rblock()
    finally:
        for kernel in kernels:
            vars(kernel).pop("n_regs", None)  # the driver of a real device sets it


def _registers(kernel: Any, gpu: Device) -> int | None:
    if gpu.kind.binary != "cubin":
        registers: int | None = read_amd_usage(_part(kernel, "amdgcn").decode())["registers"]
        return registers
    usage, _ = read_cubin_usage(_part(kernel, "cubin"))
    return None if usage is None else usage.registers


def _part(kernel: Any, stage: str) -> bytes:
    """What one stage made of a kernel; Inductor's own launcher keeps only where the files are."""
    asm = getattr(kernel, "asm", None)
    if asm is None:
        return Path(kernel.cubin_path).with_suffix(f".{stage}").read_bytes()
    return asm[stage] if isinstance(asm[stage], bytes) else str(asm[stage]).encode()


Rank = Callable[[Any, int], float]
"""A choice of the autotuner and its position → the time in ms that a model gives it."""

OPTIONS = {
    "compile_threads": 1,  # Inductor's own workers would look for a device
    "benchmark_epilogue_fusion": False,  # would time kernels
    "autotune_in_subproc": False,  # would start processes that look for a device
}


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
    known = {name: value for name, value in options.items() if hasattr(config, name)}
    process_patches.enter_context(config.patch(known))
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
        return lambda wanted: {choice: rank(choice, n) for n, choice in enumerate(wanted)}

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
        kept = node.kwargs
        node.kwargs = {**kept, "device": torch.device("cpu")}
        try:
            return deduce(self, node)
        finally:
            node.kwargs = kept

    return deduce_value
