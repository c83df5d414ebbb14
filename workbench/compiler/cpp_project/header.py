"""A package's contract as C++ data: the values of the template `contract.hpp`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import torch

from workbench.artifacts.manifest.package_manifest import MANIFEST, PackagedConstant, PackagedModel
from workbench.compiler.contract import dims
from workbench.compiler.contract.contract import Leaf
from workbench.compiler.cpp_project.arithmetic import in_cpp
from workbench.compiler.running.checking import (
    CallContract,
    is_contiguous,
    is_dynamic,
    order_of,
)
from workbench.compiler.running.relations import Relation
from workbench.errors import UsageError

DTYPES: Mapping[str, str] = {
    "float64": "at::kDouble",
    "float32": "at::kFloat",
    "float16": "at::kHalf",
    "bfloat16": "at::kBFloat16",
    "int64": "at::kLong",
    "int32": "at::kInt",
    "int16": "at::kShort",
    "int8": "at::kChar",
    "uint8": "at::kByte",
    "bool": "at::kBool",
    "complex64": "at::kComplexFloat",
    "complex128": "at::kComplexDouble",
    "uint16": "at::kUInt16",
    "uint32": "at::kUInt32",
    "uint64": "at::kUInt64",
    "float8_e4m3fn": "at::kFloat8_e4m3fn",
    "float8_e5m2": "at::kFloat8_e5m2",
    "float8_e4m3fnuz": "at::kFloat8_e4m3fnuz",
    "float8_e5m2fnuz": "at::kFloat8_e5m2fnuz",
}
DEVICES: Mapping[str, str] = {"cpu": "at::kCPU", "cuda": "at::kCUDA", "xpu": "at::kXPU"}


def contract_values(model: PackagedModel) -> dict[str, str]:
    """What fills the places of `contract.hpp`, except the names of the package and its namespace.

    Raises UsageError for a model whose inputs C++ code cannot hand over.
    """
    flags = model.isa.flags if model.isa else ()
    return {
        "model_literal": literal(model.name),
        "device": _named(DEVICES, model.device.partition(":")[0], "device"),
        "manifest": literal(MANIFEST),
        "library": literal(model.library),
        "weights_kind": f"Stored::k{model.weights.capitalize()}",
        "writes_buffers": str(any(c.mutated for c in model.constants)).lower(),
        "flag_count": str(len(flags)),
        "flags": ", ".join(map(literal, flags)),
        "inputs": "".join(map(_input, input_leaves(model))),
        "relations": "".join(map(relation_row, call_contract(model).relations)),
        "weights": "".join(map(_weight, model.constants)),
    }


def call_contract(model: PackagedModel) -> CallContract:
    """What a call has to be; raises UsageError where the package does not say it."""
    if not model.contract:
        raise UsageError(
            "The package holds no input contract: torch itself wrote it. Make it with wb.package."
        )
    return CallContract.of(model.name, model.contract, torch.device(model.device))


def input_leaves(model: PackagedModel) -> list[Leaf]:
    """The tensors that the library takes, in its order."""
    contract = call_contract(model)
    return [contract.leaves[place] for place in contract.tensors]


def literal(text: str) -> str:
    """A C++ string literal; JSON's escapes are C++'s for all characters of names."""
    return json.dumps(text, ensure_ascii=False)


def _named(table: Mapping[str, str], name: str, what: str) -> str:
    if name not in table:
        raise UsageError(f"No C++ project for {what} {name}: known are {', '.join(table)}.")
    return table[name]


def _row(*fields: str) -> str:
    return "    {" + ",\n     ".join(fields) + "},\n"


def _braced(values: Sequence[object]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _input(leaf: Leaf) -> str:
    order = order_of(leaf) if is_dynamic(leaf) or is_contiguous(leaf) else None
    exact = f".order = {{}}, .strides = {_braced(leaf.stride)}"
    layout = exact if order is None else f".order = {_braced(order)}"
    return _row(
        f".name = {literal(str(leaf.path))}",
        f".dtype = {_named(DTYPES, leaf.dtype, 'dtype')}",
        f".device = {_named(DEVICES, leaf.device, 'device')}",
        f".sizes = {_braced([_size(size) for size in leaf.shape])}",
        layout,
    )


def _size(size: dims.Size) -> str:
    if isinstance(size, int):
        return f"{{.fixed = {size}}}"
    parts = {
        "dim": "" if size.name is None else literal(size.name),
        "min": "" if size.min is None else str(size.min),
        "max": "" if size.max is None else str(size.max),
        "scale": "" if size.scale == 1 else str(size.scale),
        "offset": "" if size.offset == 0 else str(size.offset),
    }
    return _braced([f".{name} = {value}" for name, value in parts.items() if value])


def relation_row(relation: Relation) -> str:
    """One relation between dimensions; raises UsageError for what C++ code cannot check."""
    names, code = in_cpp(relation.source)
    return _row(
        f".text = {literal(relation.text)}",
        f".dims = {_braced([literal(name) for name in names])}",
        f".holds = [](const std::vector<std::int64_t>& v) {{ return {code}; }}",
    )


def _weight(constant: PackagedConstant) -> str:
    names = f".name = {literal(constant.name)}, .fqn = {literal(constant.fqn)}"
    aliases = f".aliases = {_braced([literal(name) for name in constant.aliases])}"
    place = f".member = {literal(constant.member or '')}, .offset = {constant.offset}"
    return _row(
        names,
        *([aliases] if constant.aliases else []),
        f".dtype = {_named(DTYPES, constant.dtype, 'dtype')}",
        f".shape = {_braced(constant.shape)}",
        f".stride = {_braced(constant.stride)}",
        *([place] if constant.member else []),
    )
