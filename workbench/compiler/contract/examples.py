"""Example inputs made from an input contract, so that a file can be compiled again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.export import Dim

from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.contract.dims import Dynamic
from workbench.compiler.contract.paths import Key, Path
from workbench.errors import ArtifactError


def inputs_of(contract: Contract, device: str | None = None) -> dict[str, Any]:
    """Inputs by parameter name: random floats, zeros for everything else, constants as recorded.

    Tensors are where they were, or all on `device`.

    Raises `ArtifactError` when a leaf is an object that cannot be made from its description.
    """
    leaves = [leaf for leaf in contract.leaves or () if leaf.path.root != contract.receiver]
    return _tree((leaf.path, _value(leaf, device)) for leaf in leaves)


def _value(leaf: Leaf, device: str | None) -> Any:
    if leaf.kind == "tensor":
        value = leaf.like.empty(device)
        value = value.normal_() if value.is_floating_point() else value.zero_()
        return value.requires_grad_(leaf.requires_grad)
    if leaf.kind == "constant":
        if leaf.type == "dtype":
            return getattr(torch, leaf.value.removeprefix("torch."))
        if leaf.type == "device":
            return torch.device(leaf.value.split("'")[1])
        return ast.literal_eval(leaf.value)
    raise ArtifactError(
        f"{leaf.path} is a {leaf.type}, which cannot be made from its description. Compile again "
        "yourself: aot_compile(function, args)."
    )


def dynamic_shapes_of(contract: Contract) -> dict[str, Any] | None:
    """The `dynamic_shapes` that declare the contract's dimensions again, or None."""
    dims: dict[str, Any] = {}
    found = []
    for leaf in contract.leaves or ():
        declared = {
            index: _dim(size, dims)
            for index, size in enumerate(leaf.shape)
            if isinstance(size, Dynamic)
        }
        if declared:
            found.append((leaf.path, declared))
    return _tree(found) if found else None


def _dim(size: Dynamic, dims: dict[str, Any]) -> Any:
    if size.name is None:
        return Dim.AUTO
    if size.name not in dims:
        dims[size.name] = Dim(size.name, min=size.min, max=size.max)
    dim = dims[size.name]
    scaled = dim if size.scale == 1 else size.scale * dim
    return scaled + size.offset if size.offset else scaled


def _tree(leaves: Iterable[tuple[Path, Any]]) -> dict[str, Any]:
    """Nested dicts and lists with each value at its path."""
    root: dict[Key, Any] = {}
    for path, value in leaves:
        place = root
        keys: list[Key] = [path.root]
        for kind, key in path.steps:
            if kind == "attr":
                raise ArtifactError(
                    f"{path} lies in an object, which cannot be made from its description. Compile "
                    "again yourself: aot_compile(function, args)."
                )
            keys.append(key)
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value
    return {str(name): _with_lists(value) for name, value in root.items()}


def _with_lists(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    inner = {key: _with_lists(part) for key, part in value.items()}
    if (
        inner
        and all(isinstance(key, int) for key in inner)
        and sorted(inner) == list(range(len(inner)))
    ):
        return [inner[key] for key in sorted(inner)]
    return inner
