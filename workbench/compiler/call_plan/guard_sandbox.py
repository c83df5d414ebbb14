"""Trying other inputs against the real guards of a compiled function, without running it."""

from __future__ import annotations

import copy
import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch

from workbench.compiler.call_plan.plan import CallPlan
from workbench.compiler.calls.paths import Path, parts
from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.contract.examples import DTYPES, Description, make_tensor_like, make_value
from workbench.compiler.guards.guard_words import in_words, shown
from workbench.compiler.sizes.dims import NOT_SO, broken
from workbench.errors import UsageError
from workbench.live_only import LivePart

NOT_FROM_FILE = (
    "The file does not describe the containers of the inputs. Recompile the call here to try other "
    "inputs."
)


@dataclass(frozen=True)
class GuardAnswer:
    """What a call with these inputs would meet; `checked` counts torch's guards that were tried.

    `failed` says in a sentence what does not fit, `guard` is the source of torch's guard where one
    of them failed.
    """

    ok: bool
    failed: str | None
    guard: str | None
    checked: int


class Example:
    """The example call with a place in the stead of every tensor: it keeps no input alive.

    `hold` is called once for each tensor, with its path.
    """

    def __init__(
        self,
        bound: Mapping[str, Any],
        receiver: str | None,
        hold: Callable[[torch.Tensor, Path], object] | None = None,
    ):
        self._receiver = receiver
        places: dict[int, _Place] = {}  # one tensor at two places stays one

        def emptied(value: Any, path: Path) -> Any:
            if isinstance(value, torch.Tensor):
                if id(value) not in places and hold is not None:
                    hold(value, path)
                return places.setdefault(id(value), _Place(path))
            return _mapped(value, path, emptied)

        self._kept = {
            name: emptied(value, Path(name)) for name, value in bound.items() if name != receiver
        }

    def bound(self, owner: Any, make: Callable[[Path], Any]) -> dict[str, Any]:
        """The arguments by name, with a tensor from `make` at every place."""
        tensors: dict[_Place, Any] = {}

        def fill(value: Any, path: Path) -> Any:
            if not isinstance(value, _Place):
                return _mapped(value, path, fill)
            if value not in tensors:
                tensors[value] = make(value.path)
            return tensors[value]

        filled = {name: fill(value, Path(name)) for name, value in self._kept.items()}
        return filled if self._receiver is None else {self._receiver: owner, **filled}


@dataclass(frozen=True)
class _Place:
    path: Path


def _mapped(value: Any, path: Path, change: Callable[[Any, Path], Any]) -> Any:
    """A container of the same kind with changed parts; anything else as it is."""
    inner = parts(value, path)
    if inner is None:
        return value
    changed = {key: change(part, place) for key, (part, place) in inner.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*changed.values())
    if isinstance(value, list | tuple):
        return type(value)(changed.values()) if type(value) in (list, tuple) else value
    if isinstance(value, types.MappingProxyType):
        return types.MappingProxyType(changed)
    new: Any = copy.copy(value)
    for key, part in changed.items():
        if part is not inner[key][0] and isinstance(value, Mapping):
            new[key] = part
        elif part is not inner[key][0]:
            object.__setattr__(new, key, part)
    return new


@dataclass(eq=False, repr=False)
class GuardSandbox(LivePart):
    """The inputs of a compiled call as descriptions that can be edited, and the guards to try.

    Called with the front end's question it gives the front end's answer.
    """

    artifacts: Any
    plan: CallPlan
    example: Example | None
    dtypes: ClassVar[Sequence[str]] = DTYPES

    @property
    def inputs(self) -> tuple[Description, ...]:
        """The tensors of the example call."""
        return tuple(_description(leaf) for leaf in self._tensors.values())

    @cached_property
    def _tensors(self) -> dict[str, Leaf]:
        receiver = self.plan.contract.receiver
        leaves = self.plan.contract.leaves or ()
        return {
            _source(leaf.path): leaf
            for leaf in leaves
            if leaf.kind == "tensor" and leaf.path.root != receiver
        }

    @cached_property
    def why_not(self) -> str | None:
        """Why no inputs can be tried, or None."""
        if self.plan.contract.leaves is None:
            return "A file written by torch does not describe its inputs."
        if not self._tensors:
            return "The call has no tensor among its inputs."
        odd = [leaf for leaf in self._tensors.values() if leaf.type not in ("Tensor", "Parameter")]
        if odd:
            return f"{odd[0].path} is a {odd[0].type}, which cannot be created from a description."
        if self.example is None and not self._answer({}).ok:
            return NOT_FROM_FILE
        return None

    def check(self, inputs: Sequence[Mapping[str, Any]] = ()) -> GuardAnswer:
        """Whether a call with these inputs would be accepted; inputs left out stay as they are.

        Each is a mapping with `path` and any of `shape`, `stride`, `dtype`, `device`. Raises
        `UsageError` for an input that no tensor can be, and where nothing can be tried.
        """
        if self.why_not is not None:
            raise UsageError(self.why_not)
        descriptions: dict[str, Description] = {}
        for data in inputs:
            leaf = self._tensors.get(str(data.get("path")))
            if leaf is None:
                names = ", ".join(self._tensors)
                raise UsageError(f"{data.get('path')!r} is not an input: expected one of {names}.")
            descriptions[str(leaf.path)] = Description.read(data, _description(leaf))
        return self._answer(descriptions)

    def refused_now(self) -> tuple[list[str], Mapping[str, Any]]:
        """What torch's guards say of the example call, and its arguments by name."""
        bound = self._bound({})
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.plan.enters_no_grad):
            answer = self.artifacts.guard_manager.check_verbose(bound)
        return ([] if answer.result else list(answer.verbose_code_parts)), bound

    def __call__(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to the front end's question, as JSON-ready data."""
        return dataclasses.asdict(self.check(question["inputs"]))

    def _answer(self, descriptions: Mapping[str, Description]) -> GuardAnswer:
        bound = self._bound(descriptions)
        grad = torch.is_grad_enabled() and not self.plan.enters_no_grad
        with torch.set_grad_enabled(grad):
            return self._checked(bound)

    def _checked(self, bound: Mapping[str, Any]) -> GuardAnswer:
        """The checks in the order of a real call."""
        plan = self.plan
        state = plan.state
        if state is not None and not state.holds():
            return GuardAnswer(False, state.mismatches()[0], None, 0)
        answer = self.artifacts.guard_manager.check_verbose(bound)
        count = int(answer.num_guards_executed)
        if not answer.result:
            parts = broken(list(in_words(map(str, answer.verbose_code_parts), bound)), bound)
            guard = parts[0].partition(NOT_SO)[0] if parts else None
            problems = plan.mismatches(bound) or [shown(part) for part in parts]
            return GuardAnswer(False, problems[0] if problems else None, guard, count)
        for check in plan.checks():
            if not check(bound):
                problems = plan.mismatches(bound)
                return GuardAnswer(False, problems[0] if problems else "it differs", None, count)
        return GuardAnswer(True, None, None, count)

    def _bound(self, descriptions: Mapping[str, Description]) -> dict[str, Any]:
        leaves = {str(leaf.path): leaf for leaf in self._tensors.values()}

        def make(path: Path) -> torch.Tensor:
            leaf = leaves[str(path)]
            return make_tensor_like(leaf, descriptions.get(str(path)) or _description(leaf))

        owner = self.plan.receiver[0] if self.plan.receiver else None
        example = self.example or _from_leaves(self.plan.contract)
        return {**example.bound(owner, make), **self._closure}

    @property
    def held(self) -> dict[str, Any]:
        """By name what a call reads besides its arguments: the receiver and the closure."""
        if not self.plan.receiver:
            return self._closure
        return {**self._closure, str(self.plan.contract.receiver): self.plan.receiver[0]}

    @property
    def _closure(self) -> dict[str, Any]:
        env = self.artifacts.runtime_env
        names = env.bytecode.co_freevars if env.closure else ()
        cells = zip(names, env.closure or (), strict=True)
        return {name: cell.cell_contents for name, cell in cells}


def _source(path: Path) -> str:
    return f"L[{path.root!r}]{path.tail}"


def _description(leaf: Leaf) -> Description:
    return Description(_source(leaf.path), leaf.sizes, leaf.stride, leaf.dtype, leaf.device)


def _from_leaves(contract: Contract) -> Example:
    """The call as a file describes it: arguments that are tensors or constants."""
    bound: dict[str, Any] = {}
    for leaf in contract.leaves or ():
        if leaf.path.root == contract.receiver or leaf.path.steps:
            continue
        if leaf.kind == "tensor":
            bound[leaf.path.root] = torch.empty(0)
        elif leaf.kind == "constant":
            bound[leaf.path.root] = make_value(leaf)
    return Example(
        {contract.receiver: None, **bound} if contract.receiver else bound, contract.receiver
    )
