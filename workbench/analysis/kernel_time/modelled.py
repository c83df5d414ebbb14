"""The time of one call of a kernel as a model gives it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelTime:
    """A modelled time of one call, in µs; nothing was run.

    `us` is None where no model knows the kernel. `bound_us` is the least that the call can take by
    its bytes and operations, None where neither is known. `error` is relative: four of five kernels
    that the fit had not seen lay within it; None where it was not measured. `kind` is whose error
    it is: "product", "convolution", "attention" or "mover". `because` says what the time rests on,
    or what takes the longest of it, or why there is none.
    """

    us: float | None
    bound_us: float | None = None
    error: float | None = None
    because: str = ""
    kind: str = ""
