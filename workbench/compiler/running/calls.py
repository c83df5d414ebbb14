"""The call of one model: arguments → leaves → check → library → outputs, as one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from workbench.compiler.running.checking import CallContract
from workbench.compiler.running.fast_contract_check import FastContractCheck, fast_contract_check
from workbench.compiler.running.signature import CallSignature
from workbench.errors import ContractError

Run = Callable[[list[Any]], Any]


def build_call(
    signature: CallSignature, contract: CallContract | None, run: Run, *, check: bool
) -> Callable[..., Any]:
    """The function that a model is called by; `run` takes the tensors and gives the result.

    Without a contract (a package of torch) only the number of tensors and their nesting are
    checked.
    """
    if contract is None:
        return _foreign(signature, run)
    examine = _examiner(contract, check)
    if signature.is_plain:
        return _plain(signature, contract, examine, run, check=check)

    def call(*args: Any, **kwargs: Any) -> Any:
        return run(examine(signature.leaves(args, kwargs)))

    return call


def _foreign(signature: CallSignature, run: Run) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves = signature.leaves(args, kwargs)
        return run([leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])

    return call


def _test(contract: CallContract, check: bool) -> FastContractCheck:
    """The test that stands before the library: the contract, or only that they are tensors."""
    if check:
        return fast_contract_check(contract)
    tests = [f"isinstance(_wb_v{place}, _wb_tensor)" for place in contract.tensors]
    return FastContractCheck(" and ".join(tests) or "True", {"_wb_tensor": torch.Tensor})


def _examiner(contract: CallContract, check: bool) -> Callable[[Sequence[Any]], list[Any]]:
    """What makes the tensors of the library from the leaves."""
    places = contract.tensors
    test = _test(contract, check)
    examine = contract.examine if check else partial(_only_tensors, contract)
    scope: dict[str, Any] = {"_wb_examine": examine, "_wb_places": places, **test.scope}
    names = "".join(f"_wb_v{index}, " for index in range(len(contract.leaves)))
    tensors = ", ".join(f"_wb_v{index}" for index in places)
    unpacked = f"    {names[:-1]} = leaves" if names else "    pass"
    source = f"""
def examined(leaves):
{unpacked}
    if {test.expression}:
        return [{tensors}]
    found = _wb_examine(leaves)
    return [found[place] for place in _wb_places]
"""
    examined: Callable[[Sequence[Any]], list[Any]] = _compiled(source, scope, "examined")
    return examined


def _only_tensors(contract: CallContract, leaves: Sequence[Any]) -> Sequence[Any]:
    """Raise `ContractError` for what is no tensor at all: it would end the process."""
    for place in contract.tensors:
        if not isinstance(leaves[place], torch.Tensor):
            raise ContractError(
                f"{contract.model}: {contract.leaves[place].path} has to be a tensor, got "
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
    given = signature.given()
    scope: dict[str, Any] = {
        "_wb_run": run,
        "_wb_examine": examine,
        "_wb_same": signature.check_default,
    }
    names = {name: f"_wb_v{index}" for index, name in enumerate(given)}
    parameters = signature.signature.parameters
    rest = [name for name in parameters if name not in names]
    for index, name in enumerate(rest):
        names[name] = f"_wb_o{index}"
    lines = [f"def call({_declared(parameters.values(), scope)}):"]
    lines += [f"    {names[name]} = {name}" for name in parameters]
    for name in rest:
        lines.append(f"    if {names[name]} is not _wb_default_{name}:")
        lines.append(f"        _wb_same({name!r}, {names[name]})")
    leaves = ", ".join(names[name] for name in given)
    test = _test(contract, check)
    scope.update(test.scope)
    tensors = ", ".join(f"_wb_v{place}" for place in contract.tensors)
    lines += [f"    if {test.expression}:", f"        return _wb_run([{tensors}])"]
    lines.append(f"    return _wb_run(_wb_examine([{leaves}]))")
    call: Callable[..., Any] = _compiled("\n".join(lines), scope, "call")
    call.__qualname__ = call.__name__ = signature.model
    return call


def _declared(parameters: Any, scope: dict[str, Any]) -> str:
    """The parameters as source; defaults stand in the scope."""
    shown: list[str] = []
    last: Any = None
    for parameter in parameters:
        kind = parameter.kind
        if last is inspect.Parameter.POSITIONAL_ONLY and kind is not last:
            shown.append("/")
        if kind is inspect.Parameter.KEYWORD_ONLY and kind is not last:
            shown.append("*")
        text = parameter.name
        if parameter.default is not inspect.Parameter.empty:
            scope[f"_wb_default_{parameter.name}"] = parameter.default
            text += f"=_wb_default_{parameter.name}"
        shown.append(text)
        last = kind
    return ", ".join([*shown, *(["/"] if last is inspect.Parameter.POSITIONAL_ONLY else [])])


def _compiled(source: str, scope: dict[str, Any], name: str) -> Any:
    exec(compile(source, "<call of a package>", "exec"), scope)
    return scope[name]
