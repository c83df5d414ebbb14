"""A package's contract as C++ data: the values of templates such as `contract.hpp`."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence

import torch

from workbench.artifacts.manifest.package_manifest import (
    MANIFEST,
    PackagedConstant,
    PackagedModel,
    PackagedOutput,
)
from workbench.compiler.contract.contract import Leaf, is_contiguous, is_dynamic, order_of
from workbench.compiler.package_calls.call_check import CallContract
from workbench.compiler.sizes import dims
from workbench.compiler.sizes.dims import Relation
from workbench.device_kinds import ATEN
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
_INFIX: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "&&",
    ast.Or: "||",
}
_CALLS = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"}
_NAMED_CALLS = {"max": "std::max", "min": "std::min"}


def build_contract_values(model: PackagedModel) -> dict[str, str]:
    """What fills the places of the templates, except the names of the package and its namespace.

    Raises UsageError for a model whose inputs C++ code cannot hand over.
    """
    flags = model.isa.flags if model.isa else ()
    return {
        "model_literal": write_cpp_literal(model.name),
        "device": _named(ATEN, model.device.partition(":")[0], "device"),
        "manifest": write_cpp_literal(MANIFEST),
        "library": write_cpp_literal(model.library),
        "weights_kind": f"Stored::k{model.weights.capitalize()}",
        "writes_buffers": str(any(c.mutated for c in model.constants)).lower(),
        "flag_count": str(len(flags)),
        "flags": ", ".join(map(write_cpp_literal, flags)),
        "inputs": "".join(map(_input, list_input_leaves(model))),
        "relations": "".join(map(write_relation, call_contract(model).relations)),
        "weights": "".join(map(_weight, model.constants)),
        "outputs": "".join(map(_output, model.outputs)),
    }


def call_contract(model: PackagedModel) -> CallContract:
    """What a call has to be; raises UsageError where the package does not say it."""
    if not model.contract:
        raise UsageError(
            "The package holds no input contract: torch itself wrote it. Make it with wb.package."
        )
    return CallContract.of(model.name, model.contract, torch.device(model.device))


def list_input_leaves(model: PackagedModel) -> list[Leaf]:
    """The tensors that the library takes, in its order."""
    contract = call_contract(model)
    return [contract.leaves[place] for place in contract.tensors]


def write_cpp_literal(text: str) -> str:
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
        f".name = {write_cpp_literal(str(leaf.path))}",
        f".dtype = {_named(DTYPES, leaf.dtype, 'dtype')}",
        f".device = {_named(ATEN, leaf.device, 'device')}",
        f".sizes = {_braced([_size(size) for size in leaf.shape])}",
        layout,
    )


def _size(size: dims.Size) -> str:
    if isinstance(size, int):
        return f"{{.fixed = {size}}}"
    parts = {
        "dim": "" if size.name is None else write_cpp_literal(size.name),
        "min": "" if size.min is None else str(size.min),
        "max": "" if size.max is None else str(size.max),
        "scale": "" if size.scale == 1 else str(size.scale),
        "offset": "" if size.offset == 0 else str(size.offset),
    }
    return _braced([f".{name} = {value}" for name, value in parts.items() if value])


def write_relation(relation: Relation) -> str:
    """One relation between dimensions; raises UsageError for what C++ code cannot check."""
    names, code = write_condition(relation.source)
    return _row(
        f".text = {write_cpp_literal(relation.text)}",
        f".dims = {_braced([write_cpp_literal(name) for name in names])}",
        f".holds = [](const std::vector<std::int64_t>& v) {{ return {code}; }}",
    )


def _output(output: PackagedOutput) -> str:
    if output.type == "NoneType":
        return _row(".dtype = at::ScalarType::Undefined", ".shape = {}")
    sizes = [size if isinstance(size, int) else -1 for size in output.shape]
    return _row(f".dtype = {_named(DTYPES, output.dtype, 'dtype')}", f".shape = {_braced(sizes)}")


def _weight(constant: PackagedConstant) -> str:
    names = f".name = {write_cpp_literal(constant.name)}, .fqn = {write_cpp_literal(constant.fqn)}"
    aliases = f".aliases = {_braced([write_cpp_literal(name) for name in constant.aliases])}"
    place = f".member = {write_cpp_literal(constant.member or '')}, .offset = {constant.offset}"
    return _row(
        names,
        *([aliases] if constant.aliases else []),
        f".dtype = {_named(DTYPES, constant.dtype, 'dtype')}",
        f".shape = {_braced(constant.shape)}",
        f".stride = {_braced(constant.stride)}",
        *([place] if constant.member else []),
    )


# Python's arithmetic of whole numbers, as the relations of a contract use it


def write_condition(source: str) -> tuple[tuple[str, ...], str]:
    """The names in a condition, and the condition in C++ with `v[i]` for the i-th name.

    Raises UsageError for more than arithmetic and comparisons of whole numbers.
    """
    try:
        tree = ast.parse(source, mode="eval").body
        names = tuple(dict.fromkeys(_names(tree)))
        return names, _code(tree, names)
    except (SyntaxError, KeyError, TypeError) as error:
        raise UsageError(
            f"The package assumes {source}, which has no counterpart in C++ ({error}). Declare the "
            "dimensions so that the assumption is not needed, or fix their sizes."
        ) from error


def _names(tree: ast.expr) -> list[str]:
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [name for name in names if name not in _NAMED_CALLS]


def _code(node: ast.expr, names: tuple[str, ...]) -> str:
    match node:
        case ast.Constant(value=int() as value):
            return f"std::int64_t{{{value}}}"
        case ast.Name(id=name):
            return f"v[{names.index(name)}]"
        case ast.UnaryOp(op=ast.USub()):
            return f"-{_code(node.operand, names)}"
        case ast.UnaryOp(op=ast.Not()):
            return f"!{_code(node.operand, names)}"
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod() as operator):
            return _call(_CALLS[type(operator)], [node.left, node.right], names)
        case ast.BinOp():
            return _joined([node.left, node.right], _INFIX[type(node.op)], names)
        case ast.BoolOp():
            return _joined(node.values, _INFIX[type(node.op)], names)
        case ast.Compare():
            values = [node.left, *node.comparators]
            pairs = zip(values, node.ops, values[1:], strict=False)
            tests = [_joined([a, b], _INFIX[type(op)], names) for a, op, b in pairs]
            return tests[0] if len(tests) == 1 else f"({' && '.join(tests)})"
        case ast.Call(func=ast.Name(id=name)):
            return _call(_NAMED_CALLS[name], node.args, names)
        case _:
            raise TypeError(ast.unparse(node))


def _call(function: str, arguments: list[ast.expr], names: tuple[str, ...]) -> str:
    return f"{function}({', '.join(_code(argument, names) for argument in arguments)})"


def _joined(values: list[ast.expr], operator: str, names: tuple[str, ...]) -> str:
    return "(" + f" {operator} ".join(_code(value, names) for value in values) + ")"
