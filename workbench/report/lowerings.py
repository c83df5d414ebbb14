"""The row type of what Inductor lowered each operator to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lowering:
    """One operator of a lowered graph, the function that lowered it, and what that made of it.

    `graph` is the lowered graph (`i0`), `node` the FX node. `lowering` is a function below
    `torch._inductor`, such as `kernel.mm.tuned_mm`; a lowering that a user registered has its whole
    name. `made` are the kinds of what it wrote, in their order: `pointwise`, `reduction`, `scan`,
    `sort`, `scatter`, `template`, `library call`, `template or library call` (the scheduler takes
    the faster one), `fallback` (eager's own operator), `user kernel`, `concatenation`,
    `control flow`, `view`, or `its input` where it made nothing new. What an operator only had
    written to memory for it counts for the operator that computes it.
    """

    graph: str
    node: str | None
    operator: str  # the operator, with its overload
    lowering: str | None
    made: tuple[str, ...]
