"""What one call of an operator has to compute and to move, for each kernel that it starts."""

from __future__ import annotations

from dataclasses import replace

from workbench.analysis.library_kernels import memory_work, product_work
from workbench.analysis.library_kernels.inductor_work import estimate_inductor
from workbench.analysis.library_kernels.kernel_work import Work as Work
from workbench.analysis.library_kernels.kernel_work import unknown
from workbench.analysis.library_kernels.library_kernel import Kind, LibraryKernel
from workbench.analysis.library_kernels.operator_call import OperatorCall as OperatorCall

_SUMS = frozenset(
    f"native_{norm}_norm{end}" for norm in ("batch", "group", "layer") for end in ("", "_backward")
)
"""Norms of torch's own: their helpers are kernels that read everything, and are counted."""
_FILLED = frozenset(("fill_", "zero_", "zeros", "ones", "full"))
_IMPOSSIBLE = (ValueError, IndexError, TypeError, ArithmeticError)
_OF_PRODUCTS: frozenset[Kind] = frozenset(("product", "attention", "other"))


def estimate_work(
    call: OperatorCall, kernel: LibraryKernel | None = None, *, launches: int = 1
) -> Work:
    """The work of a kernel that a call started, or of the whole call where none is given.

    `launches` is how many kernels of the call share its work, helpers not counted: each is given
    an equal part. What is not known is None in the answer, with the reason; nothing is raised.
    """
    told = kernel or LibraryKernel("", "other")
    if told.library == "Inductor" or call.name.startswith("triton_"):
        return estimate_inductor(call, told)
    name = call.base_name
    estimate = product_work.ESTIMATORS.get(name)
    if estimate is not None and told.kind not in _OF_PRODUCTS:
        return unknown(f"it prepares or finishes what another kernel of {name} computes")
    estimate = estimate or memory_work.ESTIMATORS.get(name)
    if estimate is None:
        return unknown(f"what {call.name} moves and computes is not known")
    if told.is_helper and name not in _SUMS:
        return unknown(f"it prepares or finishes what another kernel of {name} computes")
    if told.family == "fill" and name not in _FILLED:
        return unknown(f"it clears memory for {name}")
    try:
        return _share(estimate(call, told), launches)
    except _IMPOSSIBLE:  # a trace comes from outside: its shapes need not be those of the operator
        return unknown(f"the inputs are none of {name}")


def _share(work: Work, launches: int) -> Work:
    if launches <= 1:
        return work
    return replace(
        work,
        operations=_part(work.operations, launches),
        read_bytes=_part(work.read_bytes, launches),
        written_bytes=_part(work.written_bytes, launches),
        gathered_bytes=work.gathered_bytes // launches,
        elements=_part(work.elements, launches),
        launches=launches,
        reason=work.reason or f"{launches} kernels share the work, taken as equal parts",
    )


def _part(amount: int | None, launches: int) -> int | None:
    return None if amount is None else amount // launches
