"""Everything a compiled function is checked with and called with, except its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.compiler.contract.contract import Contract, listing
from workbench.compiler.contract.size_guards import broken
from workbench.compiler.contract.specialized_values import SpecializedValues
from workbench.compiler.internals.torch_state import GlobalState
from workbench.errors import ContractError


@dataclass(frozen=True)
class CallPlan:
    """How a compiled function is called and what a call has to fulfil.

    `enters_no_grad` says that it was compiled with grad=False; `live_globals` maps each global
    that the compiled code reads to the scope that holds its current value. `plain` says that
    a fast guard may run before torch's guards. `closure` are the names that a call has besides
    its arguments.
    """

    contract: Contract
    specialized: SpecializedValues
    state: GlobalState | None
    receiver: tuple[Any, ...] = ()
    enters_no_grad: bool = False
    live_globals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    function_module: str = ""
    kind: str = "function"
    guarded: frozenset[str] = frozenset()
    plain: bool = False
    dropped: tuple[Mapping[str, str], ...] = ()
    reference: str | None = None
    closure: frozenset[str] = frozenset()

    def checks(self) -> tuple[Callable[[Mapping[str, Any]], bool], ...]:
        """The fast checks that torch's guards do not make."""
        found = (self.contract.relations(), self.specialized.checker())
        return tuple(check for check in found if check is not None)

    def mismatches(self, bound: Mapping[str, Any]) -> list[str]:
        """A sentence for everything in which a call differs from what was compiled."""
        specialized = self.specialized.mismatches(bound)
        named = {problem.partition(":")[0] for problem in specialized}
        inputs = self.contract.mismatches(
            {name: value for name, value in bound.items() if name not in self.closure}
        )
        return [
            *(self.state.mismatches() if self.state is not None else ()),
            *specialized,
            *[problem for problem in inputs if problem.partition(":")[0] not in named],
        ]

    def refuse(self, name: str, bound: Mapping[str, Any], guard_reasons: list[str]) -> None:
        """Raise `ContractError` listing each difference, or else what torch's guards say."""
        problems = self.mismatches(bound) or broken(list(map(readable, guard_reasons)), bound)
        raise ContractError(
            f"This call does not fit what {name} was compiled for:\n"
            + listing(
                problems or ["a check failed that passes now: state changed in another thread"]
            )
            + "\nPass inputs that fit, or compile again for these."
        )

    def unreachable(self) -> Iterator[str]:
        """The specialized globals that cannot be compared in this process."""
        reachable = set(map(id, self.specialized.reachable))
        for specialized in self.specialized.values:
            if id(specialized) not in reachable:
                yield specialized.name


def readable(reason: str) -> str:
    """A guard's verbose text without torch's own source location."""
    return reason.split("  # ")[0].strip()
