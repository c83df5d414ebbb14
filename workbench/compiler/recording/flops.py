"""Operations of scheduler nodes, a multiply-add counted as two.

Products, convolutions and attention count by torch's own formulas (`torch.utils.flop_counter`), of
causal attention only the pairs that are not masked. A generated loop counts one operation for each
element and arithmetic function of its body, `exp` as `add`, comparisons and selections included;
loads, stores, casts and index arithmetic are none. With dynamic shapes sizes are those of the
example inputs.
"""

from __future__ import annotations

from math import prod
from typing import Any

from workbench.compiler.internals import torch_private as tp

_NO_WORK = frozenset(
    (
        *("load", "store", "store_reduction", "output", "masked", "identity", "placeholder"),
        *("constant", "index_expr", "indirect_indexing", "check_bounds", "load_seed"),
        *("to_dtype", "to_dtype_bitcast", "device_assert_async", "partial_accumulate"),
    )
)
_NOTHING_TO_DO = ("NopKernelSchedulerNode", "MultiOutput", "MultiOutputLayout")


def operations(node: Any) -> int | None:
    """The operations of one scheduler node that is not fused; None where they are not known."""
    kinds = {type(node).__name__, type(node.node).__name__}
    if kinds.intersection(_NOTHING_TO_DO):
        return 0
    body = getattr(node, "_body", None)
    if body is not None:
        counted = {name: n for name, n in body.op_counts.items() if name not in _NO_WORK}
        count = sum(counted.values()) + counted.get("fma", 0)
        return evaluate_count(count * prod(size for part in body.sizes for size in part))
    if node.node is None:
        return None
    return _of_library_call(node.node)


def _of_library_call(ir_node: Any) -> int | None:
    """What torch's formula says of the one FX node behind it that has a formula."""
    formulas = tp.FLOP_FORMULAS.find() or {}
    # origins are those of its inputs too: of a convolution whose result a product reads as a view
    exact = ir_node.get_origin_node() if not hasattr(ir_node, "data") else None
    origins = [exact] if _key(exact) in formulas else ir_node.get_origins()
    nodes = [node for node in origins if _key(node) in formulas]
    if len(nodes) != 1 or _is_sparse(nodes[0]):
        return None
    flops = count_formula_flops(nodes[0])
    return None if flops is None else evaluate_count(flops)


def count_formula_flops(node: Any) -> Any:
    """What torch's formula says of one FX node, with sizes as they are; None without one."""
    formulas = tp.FLOP_FORMULAS.find() or {}
    if _key(node) not in formulas:
        return None
    args = [_value(arg) for arg in node.args]
    kwargs = {key: _value(arg) for key, arg in node.kwargs.items()}
    try:
        flops = formulas[_key(node)](*args, **kwargs, out_val=node.meta.get("val"))
    except AssertionError:  # torch 2.11's of attention, where keys have fewer heads than queries
        return None
    part, whole = _unmasked(node, args, kwargs)
    return flops * part // whole


def _key(node: Any) -> Any:
    """What formulas are registered for: an operator, or an operator of higher order itself."""
    target = getattr(node, "target", None)
    key = getattr(target, "overloadpacket", target)
    return None if isinstance(key, str) else key


def _value(arg: Any) -> Any:
    if isinstance(arg, tuple | list):
        return type(arg)(_value(part) for part in arg)
    return arg.meta.get("val") if hasattr(arg, "meta") else arg


def _is_sparse(node: Any) -> bool:
    """Whether a mask leaves out blocks of flex attention: which, its data say."""
    if not str(node.target).startswith("flex_attention"):
        return False
    masks = [arg for arg in node.args if isinstance(arg, tuple) and len(arg) > 2]
    counts = [_value(part) for mask in masks for part in mask if hasattr(part, "meta")]
    return any(count is not None and count.numel() != 1 for count in counts[:1])


def _unmasked(node: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Pairs of query and key that causal attention computes, and all pairs; 1 of 1 elsewhere."""
    schema = getattr(node.target, "_schema", None)
    if "attention" not in str(node.target) or schema is None:
        return 1, 1
    arguments = dict(zip((arg.name for arg in schema.arguments), args, strict=False)) | kwargs
    if not arguments.get("is_causal"):
        return 1, 1
    queries, keys = arguments["query"].shape[-2], arguments["key"].shape[-2]
    both = queries if queries <= keys else keys
    return both * (both + 1) // 2 + (queries - both) * keys, queries * keys


def evaluate_count(value: Any) -> int | None:
    """A count as a number, with the sizes of the example inputs; None where data decide them."""
    expression = value.node.expr if hasattr(value, "node") else value
    if isinstance(expression, int):
        return expression
    sizes = tp.VIRTUALIZED.get().graph.sizevars
    hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint
    count = int(hint(expression, fallback=-1))
    return count if count >= 0 else None
