"""What one call of an operator has to compute and to move, for each kernel that it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.analysis.library_kernels import memory_work, product_work
from workbench.analysis.library_kernels.inductor_work import estimate_inductor
from workbench.analysis.library_kernels.kernel_work import Work as Work
from workbench.analysis.library_kernels.kernel_work import unknown
from workbench.analysis.library_kernels.library_kernel import Kind, LibraryKernel
from workbench.analysis.library_kernels.operator_call import OperatorCall as OperatorCall
from workbench.analysis.library_kernels.product_work import fill_causal as fill_causal

_SUMS = frozenset(
    f"native_{norm}_norm{end}" for norm in ("batch", "group", "layer") for end in ("", "_backward")
)
"""Norms of torch's own: their helpers are kernels that read everything, and are counted.

Not so those that make scale and shift of each channel from its sums: `ComputeFusedParams`.
"""
_FILLED = frozenset(("fill_", "zero_", "zeros", "ones", "full"))
_KINDS: Mapping[Kind, str] = {
    "attention": "attention",
    "product": "mm addmm bmm baddbmm linear matmul mv dot convolution conv1d conv2d conv3d einsum",
    "collective": "allreduce allgather alltoall reducescatter broadcast",
    "reduction": "sum mean prod norm softmax amax amin argmax argmin var std topk sort cumsum "
    "logsumexp pool1d pool2d pool3d loss nll",
    "copy": "copy to clone cat stack fill zero contiguous index gather embedding",
    "elementwise": "add sub mul div neg abs exp log sqrt rsqrt pow where clamp gelu relu silu tanh "
    "sigmoid hardtanh dropout threshold sin cos foreach",
}
"""By what an operator does, words of which its name has one, parted by underscores."""
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
    if told.is_helper and (name not in _SUMS or "FusedParams" in told.name):
        return unknown(f"it prepares or finishes what another kernel of {name} computes")
    if told.family == "fill" and name not in _FILLED:
        return unknown(f"it clears memory for {name}")
    try:
        return _share(estimate(call, told), launches)
    except _IMPOSSIBLE:  # a trace comes from outside: its shapes need not be those of the operator
        return unknown(f"the inputs are none of {name}")


def read_operator_kind(name: str) -> Kind:
    """What an operator does, by its name alone: for the CPU, where no kernel has one."""
    words = set(OperatorCall(name).base_name.split("_"))
    return next((kind for kind, known in _KINDS.items() if words & {*known.split()}), "other")


def _share(work: Work, launches: int) -> Work:
    if launches <= 1:
        return work
    return replace(
        work,
        operations=_part(work.operations, launches),
        read_bytes=_part(work.read_bytes, launches),
        written_bytes=_part(work.written_bytes, launches),
        gathered_bytes=work.gathered_bytes // launches,
        reused_bytes=work.reused_bytes // launches,
        elements=_part(work.elements, launches),
        launches=launches,
        reason=work.reason or f"{launches} kernels share the work, taken as equal parts",
    )


def _part(amount: int | None, launches: int) -> int | None:
    return None if amount is None else amount // launches
