"""A check in one C++ call for plain signatures: it accepts only what torch's guards accept.

torch's guard manager takes 1.3 µs for two tensors, this 0.6 µs. What it does not accept is put to
the guard manager, which decides.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.contract.contract import CONSTANTS, Contract, Leaf
from workbench.compiler.contract.guard_policy import Decisions
from workbench.compiler.contract.paths import parse
from workbench.compiler.internals import torch_private as tp

_CALLER_STATE = ("GRAD_MODE", "DETERMINISTIC_ALGORITHMS", "TORCH_FUNCTION_STATE", "DEFAULT_DEVICE")
_BIGGEST = 1 << 26  # bytes; the check is built from a tensor of each size


def is_plain(decisions: Decisions, bound: Mapping[str, Any]) -> bool:
    """Whether tensors and constants, passed as they are, are all that the kept guards look at."""
    if tp.FUNCTION_MODES.get()() or tp.DEVICE_MODULE.get().CURRENT_DEVICE is not None:
        return False
    if not all(isinstance(v, torch.Tensor | bool | int | str | None) for v in bound.values()):
        return False
    for entry, kept in zip(decisions.entries, decisions.kept, strict=True):
        place = parse(entry.name)
        if not kept or entry.guard_type in _CALLER_STATE:
            continue
        if entry.guard_type == "SHAPE_ENV":
            continue
        own = place is not None and place[0] == "L" and place[1].root in bound
        own = own and place is not None and not place[1].steps
        if not own or entry.guard_type not in ("TENSOR_MATCH", "CONSTANT_MATCH", "EQUALS_MATCH"):
            return False
    return True


@dataclass(frozen=True)
class FastGuard:
    """The check as an expression over the parameters, with the names that it uses."""

    expression: str
    scope: Mapping[str, Any]


def fast_guard(
    signature: inspect.Signature, contract: Contract, constants: Mapping[str, Any]
) -> FastGuard | None:
    """The check for a plain signature, or None when it cannot be one expression.

    `constants` are the values of the parameters that are no tensors.
    """
    leaves = {leaf.path.root: leaf for leaf in contract.leaves or ()}
    if list(leaves) != list(signature.parameters):
        return None
    tensors = [leaf for leaf in leaves.values() if leaf.kind == "tensor"]
    if not tensors or not all(_is_simple(leaf) for leaf in tensors):
        return None
    guard = tp.TENSOR_GUARDS.get()(
        *[_like(leaf) for leaf in tensors],
        dynamic_dims_sizes=[list(leaf.sizes) for leaf in tensors],
        dynamic_dims_strides=[list(leaf.stride) for leaf in tensors],
    )
    scope: dict[str, Any] = {
        "tensors": guard.check,
        "modes": tp.FUNCTION_MODES.get(),
        "device": tp.DEVICE_MODULE.get(),
    }
    tests = [f"tensors({', '.join(str(leaf.path) for leaf in tensors)})"]
    for name, value in constants.items():
        scope[f"value_{name}"], scope[f"type_{name}"] = value, type(value)
        identity = value is None or isinstance(value, bool)
        same = f"{name} is value_{name}"
        tests.append(
            same if identity else f"type({name}) is type_{name} and {name} == value_{name}"
        )
    tests += ["modes() == 0", "device.CURRENT_DEVICE is None"]
    return FastGuard(" and ".join(tests), scope)


def _is_simple(leaf: Leaf) -> bool:
    static = all(isinstance(size, int) for size in leaf.shape)
    size = math.prod(leaf.sizes) * getattr(torch, leaf.dtype).itemsize
    plain = leaf.type == "Tensor" and leaf.device == "cpu" and not leaf.inference
    return static and plain and len(leaf.stride) == len(leaf.sizes) and size <= _BIGGEST


def _like(leaf: Leaf) -> torch.Tensor:
    value: torch.Tensor = leaf.like.empty()
    return value.requires_grad_(leaf.requires_grad)


def constants_of(contract: Contract, signature: inspect.Signature) -> dict[str, Any] | None:
    """The constants of a contract that were left at their defaults, or None when one was not."""
    found: dict[str, Any] = {}
    for leaf in contract.leaves or ():
        if leaf.kind == "tensor":
            continue
        parameter = signature.parameters.get(leaf.path.root)
        if parameter is None or not isinstance(parameter.default, CONSTANTS):
            return None
        if repr(parameter.default) != leaf.value:
            return None
        found[leaf.path.root] = parameter.default
    return found
