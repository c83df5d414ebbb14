"""Compiles Triton kernels in threads while Inductor still generates the program that has them."""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches

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
    known: set[int] = set()
    meeting = threading.Barrier(count)

    def arrive() -> None:
        known.add(threading.get_ident())
        meeting.wait()

    pool = ThreadPoolExecutor(count, initializer=arrive)
    for started in [pool.submit(int) for _ in range(count)]:
        started.result()
    return pool, frozenset(known)


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
