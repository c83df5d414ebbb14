"""Everything a compiled function is checked with and called with, except its code.

As the JSON of a manifest too, so that a loaded file checks what the original checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.compiler.call_plan.live_guards import LiveGuards
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.captured_code.inlined_code import InlinedCode
from workbench.compiler.captured_code.specialized_values import SpecializedValues, from_json
from workbench.compiler.contract.contract import Contract, list_problems
from workbench.compiler.contract.shared_memory import SharedMemory
from workbench.compiler.guards.guard_words import explain_other_kind, in_words, shown, unreadable
from workbench.compiler.guards.inlined_places import called
from workbench.compiler.internals.surroundings import surroundings
from workbench.compiler.internals.tensor_kind import explain_kinds
from workbench.compiler.internals.torch_state import GlobalState
from workbench.compiler.request.compile_request import GUARD_POLICIES
from workbench.compiler.sizes.dims import broken
from workbench.errors import ArtifactError, ContractError
from workbench.live_only import LivePart

if TYPE_CHECKING:
    from workbench.report import Request


@dataclass(frozen=True)
class CallPlan(LivePart):
    """How a compiled function is called and what a call has to fulfil.

    `enters_no_grad` says that it was compiled with grad=False; `live_globals` maps each global
    that the compiled code reads to the scope that holds its current value. `plain` says that
    a fast guard may run before torch's guards. `closure` are the names that a call has besides
    its arguments. `memory` is there for code that writes into its arguments. `live` is there in the
    process that compiled, where torch's guards compare the specialized values, too. `aliased` are
    pairs of names behind which one object has to be, `read_as_inputs` those of a global and of an
    input, which no file compares.
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
    inlined: InlinedCode = field(default_factory=InlinedCode)
    memory: SharedMemory | None = None
    live: LiveGuards | None = None
    aliased: tuple[tuple[str, str], ...] = ()
    read_as_inputs: tuple[tuple[str, str], ...] = ()

    def checks(self) -> tuple[Callable[[Mapping[str, Any]], bool], ...]:
        """The fast checks that torch's guards do not make."""
        specialized = self.specialized.checker(here=self.live is not None)
        candidates = (self.contract.relations(), specialized, self._memory_checker())
        own = () if self.live is None else self.live.checks()
        return (*(check for check in candidates if check is not None), *own)

    @property
    def apart(self) -> Callable[[Mapping[str, Any]], bool] | None:
        """Torch's check of what is no input, where there is any."""
        tree = self.live.apart if self.live is not None else None
        return tree.check if tree is not None else None

    def _memory_checker(self) -> Callable[[Mapping[str, Any]], bool] | None:
        if self.memory is None:
            return None
        memory, arguments = self.memory, self.contract.arguments()
        return lambda bound: memory.holds([leaf.path.get(bound) for leaf in arguments])

    def _shared(self, bound: Mapping[str, Any]) -> Iterator[str]:
        """A sentence for each two inputs that share memory and must not, or the other way round."""
        if self.memory is not None:
            tensors = [leaf.path.get(bound) for leaf in self.contract.arguments()]
            yield from self.memory.mismatches(tensors)

    def mismatches(self, bound: Mapping[str, Any]) -> list[str]:
        """A sentence for everything in which a call differs from what was compiled."""
        specialized = self.specialized.mismatches(bound)
        named = {problem.partition(":")[0] for problem in specialized}
        inputs = self.contract.mismatches(
            {name: value for name, value in bound.items() if name not in self.closure}
        )
        reasons = [
            *self.inlined.mismatches(),
            *(self.live.mismatches() if self.live is not None else ()),
            *(self.state.mismatches() if self.state is not None else ()),
            *specialized,
            *[problem for problem in inputs if problem.partition(":")[0] not in named],
        ]
        return reasons or list(self._shared(bound))  # memory is looked at where everything is there

    def refuse(
        self,
        name: str,
        bound: Mapping[str, Any],
        guard_reasons: list[str],
        cure: str | None = None,
    ) -> None:
        """Raise `ContractError` listing each difference, or else what torch's guards say.

        `cure` is what to do where that is known.
        """
        inputs = [pair for root in bound for pair in leaves(bound[root], Path(root))]
        around = list(surroundings(name, (value for _, value in inputs)))
        if around:  # whatever else differs is a matter of it
            raise ContractError("\n".join(f"{one}." for one in around))
        problems = (
            self.mismatches(bound)
            or list(explain_kinds(inputs))
            or self._broken(guard_reasons, bound)
        )
        raise self.misfit(name, problems, cure)

    def _broken(self, reasons: list[str], bound: Mapping[str, Any]) -> list[str]:
        """What torch's guards say, in words and in the names of the parameters."""
        scope = self.live.scope if self.live is not None else {}
        words = list(in_words(self._of_kinds(reasons, bound), bound, scope))
        return [shown(one) for one in broken(words, bound)]

    def _of_kinds(self, reasons: list[str], bound: Mapping[str, Any]) -> list[str]:
        scope = self.live.scope if self.live is not None else {}
        return [explain_other_kind(reason, bound, scope) for reason in reasons]

    def unreadable(self, places: Iterable[str], bound: Mapping[str, Any]) -> list[str]:
        """A sentence for each place with a tensor at which torch's guards cannot look."""
        return unreadable(places, bound, self.live.scope if self.live is not None else {})

    @staticmethod
    def misfit(name: str, problems: list[str], cure: str | None = None) -> ContractError:
        """The error for a call of `name` with these problems."""
        return ContractError(
            f"This call does not fit what {name} was compiled for:\n"
            + list_problems(
                problems or ["a check failed that passes now: another thread changed the state"]
            )
            + f"\n{cure or 'Pass inputs that fit, or compile again for these.'}"
        )

    def frozen(self) -> Iterator[tuple[str, str]]:
        """Of a loaded file what it goes on with, whatever there is now: its place and its value."""
        if self.live is None:
            rows = (row for row in self.dropped if row.get("frozen"))
            yield from ((str(row.get("place")), str(row["frozen"])) for row in rows)

    def unreachable(self) -> Iterator[tuple[str, str]]:
        """The specialized globals that cannot be compared in this process, and what they were."""
        reachable = set(map(id, self.specialized.reachable))
        reachable -= set(map(id, self.specialized.not_there))
        for value in self.specialized.values:
            if id(value) not in reachable:
                yield value.name, value.was()

    def to_json(self, request: Request) -> dict[str, Any]:
        """Everything of a plan but its specialized values and the receiver itself."""
        owner = type(self.receiver[0]) if self.receiver else None
        return {
            "name": request.name,
            "request": {  # what has to be asked again to get the same compilation
                "backend": request.backend,
                "mode": None,
                "options": [list(option) for option in request.options],
                "grad": request.grad if not self.enters_no_grad else False,
                "target": request.target,
                "guards": request.guards if request.guards in GUARD_POLICIES else "portable",
                "capture": request.capture,
                **({"fusion": request.fusion} if request.fusion else {}),
            },
            "kind": self.kind,
            "inputs": self.contract.to_json(),
            "state": self.state.snapshot if self.state is not None else None,
            "enters_no_grad": self.enters_no_grad,
            "live_globals": sorted(self.live_globals),
            "function_module": self.function_module,
            "receiver": f"{owner.__module__}.{owner.__qualname__}" if owner else None,
            "reference": self.reference,
            "guarded": sorted(self.guarded),
            "plain": self.plain,
            "code": self.inlined.to_json(),
            "excepted": None if self.inlined.excepted is None else sorted(self.inlined.excepted),
            "memory": self.memory.to_json() if self.memory is not None else None,
        }

    def specialized_to_json(self, without: Sequence[str]) -> list[dict[str, Any]]:
        """The specialized values that can be compared in another process."""
        return [
            value.to_json()
            for value in self.specialized.values
            if value.known and not (value.owner is None and value.path.root in without)
        ]

    @classmethod
    def from_json(
        cls,
        data: Mapping[str, Any],
        rows: Sequence[Mapping[str, Any]],
        *,
        receiver: Any | None,
        f_globals: Mapping[str, Any] | None,
        handed_over: Mapping[str, Any] | None = None,
        dropped: Sequence[Any] = (),
    ) -> CallPlan:
        """Rebuild a plan in this process; raises `ArtifactError` when the receiver is not given.

        The names in `handed_over` are the caller's objects, not those of a global of that name.
        """
        if data["receiver"] is not None and receiver is None:
            raise ArtifactError(
                f"{data['name']} is called on a {data['receiver']}, whose weights are not in the "
                "file. Pass it: load(path, module=model)."
            )
        owner, handed = data["function_module"], handed_over or {}
        module = sys.modules.get(owner)
        scope: Mapping[str, Any] = (
            f_globals if f_globals is not None else vars(module) if module else {}
        )
        return cls(
            contract=Contract.from_json(data["inputs"]),
            specialized=SpecializedValues.in_scopes(
                tuple(
                    one
                    for one in from_json(rows)
                    if not one.guarded or _is_in(scope, one.path.root, handed)
                ),
                owner,
                scope,
            ),
            state=GlobalState(data["state"]) if data["state"] is not None else None,
            receiver=() if data["receiver"] is None else (receiver,),
            enters_no_grad=data["enters_no_grad"],
            live_globals={
                name: scope for name in data["live_globals"] if name in scope and name not in handed
            },
            function_module=owner,
            kind=data["kind"],
            reference=data["reference"],
            guarded=frozenset(data["guarded"]),
            plain=data["plain"],
            dropped=tuple(row for row in dropped if isinstance(row, dict)),
            memory=SharedMemory.from_json(data["memory"]) if data.get("memory") else None,
            inlined=InlinedCode.from_json(
                data.get("code", ()), [*called(receiver, None)], data.get("excepted")
            ),
        )


def _is_in(scope: Mapping[str, Any], name: str, handed_over: Mapping[str, Any]) -> bool:
    """Whether a global is what the code reads: not where another object was handed over for it."""
    return name not in handed_over or scope.get(name) is handed_over[name]
