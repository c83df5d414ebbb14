"""Compiles a call of a hand-written kernel for any GPU, in the worker."""

from __future__ import annotations

import os
import pickle
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from workbench.compiler.internals.triton_functions import is_library
from workbench.compiler.kernels.kernel_variants import OwnSource
from workbench.compiler.machine_code.code_readers import CompiledConfig, code_of
from workbench.errors import UsageError
from workbench.specs.device import Device

_ERRORS = 2  # the descriptor: MLIR does not write through Python
_MLIR_ERROR = re.compile(r"^\S.*?: error: (.+)(?:\n[ \t]+(\S.*)\n[ \t]*\^)?", re.MULTILINE)
_NOT_PARSED = "error encountered during parsing"


class NotParsed(UsageError):
    """Code of Gluon that MLIR refuses, which writes the reason into the process's own output."""


def compile_own(name: str, source: OwnSource, choice: str, device: Device) -> CompiledConfig:
    """The code of a call for a GPU; raises what Triton's compiler raises.

    Triton's own binder specializes the arguments, so that the code is that of the call.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    from triton.compiler.compiler import compile as compile_source
    from triton.runtime.jit import create_function_from_signature

    function = read_function(source.function)
    arguments, constants = pickle.loads(source.values)
    target = GPUTarget(device.backend, device.arch, device.spec.warp_size)
    backend = make_backend(target)
    bind = create_function_from_signature(function.signature, function.params, backend)
    given = {**arguments, **constants, **source.options}
    given.setdefault("debug", bool(function.debug))
    given["instrumentation_mode"] = ""
    bound, specialization, others = bind(**given)
    options, signature, constant_values, attributes = function._pack_args(
        backend, given, bound, specialization, others
    )
    kind: Any = ASTSource
    if function.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource

        kind = GluonASTSource
    made = kind(function, signature, constant_values, attributes)
    # Triton's cache knows code by its text and first line: what another file, or another cell of a
    # notebook, had compiled would name lines of that one
    own = f"{made.hash()}-{PurePath(function.fn.__code__.co_filename).name}"
    made.hash = lambda: own
    try:
        kernel = compile_source(made, target=target, options=options.__dict__)
    except RuntimeError as error:  # what is wrong with the IR stands in the worker's own output
        if function.is_gluon() and str(error) == _NOT_PARSED:
            raise NotParsed(
                "its Gluon code is not valid there; a warp has "
                f"{device.spec.warp_size} threads on this GPU, which layouts have to fill"
            ) from None
        raise
    texts, binary = code_of(kernel)
    return CompiledConfig(
        kernel=name,
        file=function.fn.__code__.co_filename,
        source="".join(function.raw_src),
        choice=choice,
        warps=int(kernel.metadata.num_warps),
        stages=int(kernel.metadata.num_stages),
        dynamic_shared=int(kernel.metadata.shared),
        texts=texts,
        binary=binary,
        lines_before=function.starting_line_number - 1,
    )


@lru_cache(maxsize=64)
def read_function(data: bytes) -> Any:
    """The function that was sent; the same one for its other configurations."""
    return pickle.loads(data)


@dataclass
class CompilerOutput:
    """What Triton's compiler writes into this process's own output, where MLIR names errors.

    Of builds side by side it is not known whose it is: ask where one runs alone.
    """

    start: int

    @classmethod
    def here(cls) -> CompilerOutput:
        """What is written from now on."""
        return cls(os.fstat(_ERRORS).st_size)

    def find_error(self) -> str:
        """The first error, "in `x = a + b`, …", or "" where none was written."""
        kind = os.fstat(_ERRORS)
        if not stat.S_ISREG(kind.st_mode):  # a terminal or a pipe cannot be read again
            return ""
        said = os.pread(_ERRORS, kind.st_size - self.start, self.start).decode(errors="replace")
        found = _MLIR_ERROR.search(said)
        if found is None:
            return ""
        where = f"in `{found[2].strip()}`, " if found[2] else ""
        return f"{where}{found[1].strip().rstrip('.')}"


def find_line(error: BaseException) -> str:
    """The user's statement where Triton's front end stopped: "in `x = tl.dot(a, b)`, "; or ""."""
    found = ""
    while error is not None:
        line = getattr(getattr(error, "node", None), "lineno", None)
        text = getattr(error, "src", None)
        if isinstance(line, int) and isinstance(text, str) and not is_library(text):
            lines = text.splitlines()
            said = lines[line - 1].strip() if line <= len(lines) else ""
            found = f"in `{said}`, " if said and not said.startswith("def ") else found
        error = error.__cause__  # type: ignore[assignment]
    return found
