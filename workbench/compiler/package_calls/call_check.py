"""The check of a call of a packaged model: a quick test, and words for what does not fit.

What the fast check does not accept is looked at slowly, which finds what is wrong, or that the
difference does not matter (a parameter in place of a tensor, a gradient that nobody asks for, the
stride of a dimension of size 1).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.calls.call_path import (
    FastCheck,
    write_function,
)
from workbench.compiler.contract.contract import (
    Contract,
    Leaf,
    Sizes,
    Terms,
    build_fast_check,
    list_problems,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.surroundings import find_recorders
from workbench.compiler.package_calls.signature import CallSignature
from workbench.compiler.sizes.dims import Dynamic
from workbench.errors import ArtifactError, ContractError
from workbench.typed_data import read_row

if TYPE_CHECKING:  # imported for contracts that have such: a package starts in milliseconds
    from workbench.compiler.contract.shared_memory import SharedMemory
    from workbench.compiler.sizes.dims import Relation

Run = Callable[[list[Any]], Any]
_FILE = "<call of a package>"


@dataclass(frozen=True)
class CallContract:
    """What every leaf of a call to one model has to be, on one device."""

    model: str
    leaves: tuple[Leaf, ...]
    terms: Terms

    @classmethod
    def of(cls, model: str, data: Mapping[str, Any], device: torch.device) -> CallContract:
        """Read the contract of a manifest; raises `ArtifactError`."""
        try:
            leaves = read_row(Contract, data).leaves or ()
        except ValueError as error:
            raise ArtifactError(
                f"The inputs of {model} in the manifest are damaged ({error}). Get the file again."
            ) from error
        names = [
            size.name
            for leaf in leaves
            for size in leaf.shape
            if isinstance(size, Dynamic) and size.name is not None
        ]
        relations, memory = _relations(data, names), _shared_memory(data)
        return cls(model, leaves, Terms(False, device, relations, memory))

    @property
    def tensors(self) -> tuple[int, ...]:
        """The places of the leaves that the library takes."""
        return tuple(i for i, leaf in enumerate(self.leaves) if leaf.kind == "tensor")

    def examine(self, values: Sequence[Any]) -> list[Any]:
        """The leaves as the library can take them; raises `ContractError` naming each bad one."""
        if problems := self._mismatches(values):
            raise ContractError(
                f"{self.model} was called with inputs that do not fit what was compiled:\n"
                + list_problems(problems)
            )
        return [v.detach() if isinstance(v, torch.Tensor) else v for v in values]

    def _mismatches(self, values: Sequence[Any]) -> list[str]:
        """A sentence for everything that does not fit; what is between leaves where each does."""
        problems: list[str] = list(find_recorders(self.model, values))
        sizes: Sizes = {}
        for leaf, value in zip(self.leaves, values, strict=True):
            problems.extend(self.terms.explain_misfits(leaf, value, sizes))
        problems = problems or list(self.terms.explain_relations(sizes))
        if problems or self.terms.memory is None:
            return problems
        return list(self.terms.memory.mismatches([values[place] for place in self.tensors]))


def _relations(data: Mapping[str, Any], names: Sequence[str]) -> tuple[Relation, ...]:
    if not data.get("guards"):
        return ()
    from workbench.compiler.sizes.dims import read_relations

    return read_relations(data["guards"], names)


def _shared_memory(data: Mapping[str, Any]) -> SharedMemory | None:
    if not data.get("memory"):
        return None
    from workbench.compiler.contract.shared_memory import SharedMemory

    return SharedMemory.from_json(data["memory"])


# the call: arguments → leaves → check → library → outputs


def build_call(
    signature: CallSignature, contract: CallContract | None, run: Run, *, check: bool
) -> Callable[..., Any]:
    """The function that a model is called by; `run` takes the tensors and gives the result.

    Without a contract (a package of torch) only the number of tensors and their nesting are
    checked.
    """
    if contract is None:
        return lambda *args, **kwargs: run(
            [leaf for leaf in signature.leaves(args, kwargs) if isinstance(leaf, torch.Tensor)]
        )
    examine = _examiner(contract, check)
    if signature.is_plain:
        return _plain(signature, contract, examine, run, check=check)

    def call(*args: Any, **kwargs: Any) -> Any:
        return run(examine(signature.leaves(args, kwargs)))

    return call


def _test(contract: CallContract, check: bool) -> FastCheck:
    """The test that stands before the library: the contract, or only that they are tensors."""
    if check:
        named = {f"_wb_v{index}": leaf for index, leaf in enumerate(contract.leaves)}
        return build_fast_check(named, tp.DISPATCH_MODE_COUNT.get(), contract.terms)
    tests = [f"isinstance(_wb_v{place}, _wb_tensor)" for place in contract.tensors]
    return FastCheck(" and ".join(tests) or "True", {"_wb_tensor": torch.Tensor})


def _examiner(contract: CallContract, check: bool) -> Callable[[Sequence[Any]], list[Any]]:
    """What makes the tensors of the library from the leaves."""
    places = contract.tensors
    test = _test(contract, check)
    examine = contract.examine if check else partial(_only_tensors, contract)
    scope: dict[str, Any] = {"_wb_examine": examine, "_wb_places": places, **test.scope}
    names = "".join(f"_wb_v{index}, " for index in range(len(contract.leaves)))
    tensors = ", ".join(f"_wb_v{index}" for index in places)
    lines = [f"{names[:-1]} = leaves"] if names else []
    lines += test.lines(f"return [{tensors}]")
    lines += ["found = _wb_examine(leaves)", "return [found[place] for place in _wb_places]"]
    leaves = inspect.Parameter("leaves", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return write_function([leaves], lines, scope, _FILE)


def _only_tensors(contract: CallContract, leaves: Sequence[Any]) -> Sequence[Any]:
    """Raise `ContractError` for what is no tensor at all: it would end the process."""
    for place in contract.tensors:
        if not isinstance(leaves[place], torch.Tensor):
            raise ContractError(
                f"{contract.model}: {contract.leaves[place].path} must be a tensor, got "
                f"{type(leaves[place]).__name__}"
            )
    return leaves


def _plain(
    signature: CallSignature,
    contract: CallContract,
    examine: Callable[[Sequence[Any]], list[Any]],
    run: Run,
    *,
    check: bool,
) -> Callable[..., Any]:
    """A function with the parameters themselves, where every leaf is one of them."""
    assert signature.signature is not None
    leaf_names = signature.given()
    parameters = signature.signature.parameters
    scope: dict[str, Any] = {
        "_wb_run": run,
        "_wb_examine": examine,
        "_wb_same": signature.check_default,
    }
    names = {name: f"_wb_v{index}" for index, name in enumerate(leaf_names)}
    rest = [name for name in parameters if name not in names]
    for index, name in enumerate(rest):
        names[name] = f"_wb_o{index}"
    lines = [f"{names[name]} = {name}" for name in parameters]
    for name in rest:
        lines.append(f"if {names[name]} is not _wb_default_{name}:")
        lines.append(f"    _wb_same({name!r}, {names[name]})")
    leaves = ", ".join(names[name] for name in leaf_names)
    test = _test(contract, check)
    scope.update(test.scope)
    tensors = ", ".join(f"_wb_v{place}" for place in contract.tensors)
    lines += test.lines(f"return _wb_run([{tensors}])")
    lines.append(f"return _wb_run(_wb_examine([{leaves}]))")
    call = write_function([*parameters.values()], lines, scope, _FILE)
    call.__qualname__ = call.__name__ = signature.model
    return call
